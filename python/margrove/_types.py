"""The arrays that the extension takes and returns."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# (columns, row pointers, column of each value, values)
Csr: TypeAlias = tuple[int, NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]
# (row pointers, labels)
Sets: TypeAlias = tuple[NDArray[np.int64], NDArray[np.uint32]]
# (names of the nodes, one row (parent, child) per edge, alternative ids with their nodes)
Edges: TypeAlias = tuple[list[str], NDArray[np.uint32], list[tuple[str, int]]]
# Options of terms as text, and the stop words.
TermOptions: TypeAlias = tuple[list[tuple[str, str]], list[str]]
