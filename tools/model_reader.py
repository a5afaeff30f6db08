"""Models as NumPy arrays, read by nothing of Margrove's (docs/model_format.md)."""

import itertools
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DTYPES = {"U8": "u1", "U32": "<u4", "I32": "<i4", "U64": "<u8", "I64": "<i8", "F32": "<f4"}
DTYPES["F64"] = "<f8"


@dataclass(frozen=True)
class Model:
    metadata: dict[str, str]
    tensors: dict[str, NDArray[Any]]

    @staticmethod
    def read(path: Path) -> "Model":
        content = path.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        metadata = header.pop("__metadata__")
        tensors = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            data = content[8 + length + begin : 8 + length + end]
            tensors[name] = np.frombuffer(data, DTYPES[entry["dtype"]]).reshape(entry["shape"])
        return Model(metadata, tensors)

    def option(self, name: str, default: str = "") -> str:
        return self.metadata.get(f"option.{name}", default)

    def number(self, name: str) -> float:
        return float(self.metadata[name])

    def texts(self, name: str) -> list[str]:
        offsets = self.tensors[f"{name}.offsets"].astype(int)
        data = self.tensors[f"{name}.bytes"].tobytes()
        return [data[a:b].decode() for a, b in itertools.pairwise(offsets)]

    def weights(self, prefix: str) -> NDArray[np.float64]:
        """features (and the intercept) x nodes."""
        if f"{prefix}.weights.dense" in self.tensors:
            return self.tensors[f"{prefix}.weights.dense"].astype(float)
        pointers = self.tensors[f"{prefix}.weights.row_pointers"]
        columns = self.tensors[f"{prefix}.weights.columns"]
        values = self.tensors[f"{prefix}.weights.values"]
        num_nodes = len(self.tensors[f"{prefix}.label_of_node"])
        W = np.zeros((len(pointers) - 1, num_nodes))
        for row in range(len(pointers) - 1):
            at = slice(int(pointers[row]), int(pointers[row + 1]))
            W[row, columns[at]] = values[at]
        return W
