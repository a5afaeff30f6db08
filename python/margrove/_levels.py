"""The weights of the levels of a hierarchy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from margrove._base import Classifier


class Leveled(Classifier):
    """Attributes after `fit` beside those of all estimators, in an order from the roots down:

    `level_weights_` (what the scores of each level are multiplied by), `level_offsets_` (added to
    them) and `level_is_joint_` (whether the classifiers of the level were trained jointly; None if
    the model does not say so). `stack_weights_` has the weights of the methods of `stack`.
    """

    @property
    def level_weights_(self) -> NDArray[np.float64]:
        """What the scores of each level are multiplied by, from the roots down."""
        return self._levels()[0]

    @property
    def level_offsets_(self) -> NDArray[np.float64]:
        """What is added to the scores of each level, from the roots down."""
        return self._levels()[1]

    @property
    def level_is_joint_(self) -> NDArray[np.bool_] | None:
        """Whether the classifiers of each level were trained jointly; None: not known."""
        joint = self._levels()[2]
        return joint.astype(bool) if joint.size else None

    @property
    def stack_weights_(self) -> NDArray[np.float64]:
        """What the scores of each method of `stack` are multiplied by; empty: there are none."""
        return self._levels()[3]

    def _levels(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
        check_is_fitted(self)
        return self.model_.levels
