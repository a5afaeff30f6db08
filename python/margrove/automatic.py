"""The estimator that chooses its method and options on the training rows."""

import warnings
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from margrove import _core
from margrove._arrays import csr_of
from margrove._base import Classifier
from margrove._label_names import names_to_match, with_unseen
from margrove._progress import Progress, receiver
from margrove._trainer import require_no_shards
from margrove._types import Edges
from margrove.hierarchy import Hierarchy
from margrove.text import TextFeatures

__all__ = ["AutoClassifier"]

Self = TypeVar("Self", bound="AutoClassifier")


class AutoClassifier(Classifier):
    """Chooses among the methods, with or without a hierarchy, by held-out rows.

    A few methods with a few options are trained on a part of the rows, the simple ones first, and
    measured on the others: as `margrove auto` does. Of those within one standard error of the best
    the simplest is trained on all rows. Rows may have several labels.

    Parameters
    ----------
    metric : str, default ""
        metric to choose by, such as accuracy, macro_f1, hierarchical_f1, au_prc, f_max or
        ndcg_at_5: any of `margrove evaluate` that needs no calibrated probabilities; "": accuracy,
        or micro_f1 where a row has several labels or none
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text, numeric, categorical, vector_columns, vector_share, path, separator, text_features
        columns of X, a frame, with features and labels, as in the other estimators
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, of the candidates that
        can learn it
    random_state : int, RandomState instance or None, default 0
        seed of the split of the rows and of training; None: another one in each fit
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it unless the time limit
        ends the search
    time_limit_seconds : float | None, default 600.0
        time for the search and the training on all rows, with a UserWarning if it ends the search;
        None: no limit
    time : str, default "wall"
        what the seconds of the limit are: wall, or cpu: of the processor, of all threads together,
        so that a busy machine chooses the same as an idle one
    memory_limit : float | None, default None
        leave out what would take more than this many GB (10^9 bytes) by its estimate; None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords

    Attributes
    ----------
    candidates_ : list of dict
        one per candidate, the chosen one first: method, options, verdict (chosen, tied: within one
        standard error of the best, worse, dropped: in an earlier stage, cut: not finished in its
        share of the time, not_tried, failed), rows (of its best trial), score,
        difference (from the best one on as many rows), standard_error (of the difference, paired),
        trials, seconds, note
    left_out_ : list of tuple
        (candidate, reason) of those that the data or the memory do not allow
    reason_ : str
        why the first one is chosen
    metric_ : str
        the metric
    terms_ : list of dict
        where a search chose the terms of texts, one per kind of terms: word_ngrams, char_ngrams,
        score on held-out rows, chosen
    """

    _several_labels = True
    _searches_terms = True
    _may_match_names = True
    calibration = 0.0

    candidates_: list[dict[str, Any]]
    left_out_: list[tuple[str, str]]
    reason_: str
    metric_: str

    def __init__(
        self,
        *,
        metric: str = "",
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        unlabelled: str = "auto",
        random_state: Any = 0,
        scale: str = "auto",
        threads: int = 1,
        time_limit_seconds: float | None = 600.0,
        time: str = "wall",
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.metric = metric
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.scale = scale
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.time = time
        self.memory_limit = memory_limit
        self.progress = progress

    def fit(self: Self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Chooses and trains on rows X and the labels of each.

        Raises ValueError for wrong data or options, TimeoutError where the time limit ends the
        search before any candidate is measured.
        """
        require_no_shards("AutoClassifier, which tries many methods,")
        targets, X = self._check(X, y)
        targets = targets.meant(self.unlabelled)
        if X.shape[0] == 1:
            raise ValueError("AutoClassifier: X has 1 sample, but must have at least 2")
        targets, hierarchy = targets.in_hierarchy(self.hierarchy)
        names = targets.path_form.names if targets.path_form is not None else {}
        source = self.__dict__.pop("_source_rows", None)
        with receiver(self.progress) as callback:
            model, table = _core.choose(
                _core.Rows(csr_of(X)) if source is None else source.rows(),
                labels=targets.to_core(),
                names=[str(label) for label in targets.classes],
                hierarchy=self._graph(hierarchy, []),
                node_names=[str(names.get(n, n)) for n in hierarchy.nodes]
                if names and hierarchy
                else [],
                other_names=names_to_match(self, hierarchy),
                metric=self.metric,
                seed=self._seed(),
                scale=self.scale,
                threads=self.threads,
                time_limit_seconds=self._seconds_left(),
                time=self.time,
                memory_limit=self.memory_limit,
                callback=callback,
                unlabelled=self.unlabelled,
                **({} if source is None else source.term_arguments()),
            )
        self.candidates_ = table["candidates"]
        self.left_out_ = table["left_out"]
        self.reason_ = table["reason"]
        self.metric_ = table["metric"]
        classes = with_unseen(model, targets, hierarchy)
        self._adopt(model, targets.form, classes, hierarchy, targets.path_form)
        if table["stop"] == "time_limit":
            warnings.warn(
                "the time limit ended the search early: with more time the choice may differ",
                UserWarning,
                stacklevel=2,
            )
        self._warn()
        return self

    def _measuring(self) -> tuple[str, dict[str, str], str]:
        return "", {}, self.metric

    def _graph(self, hierarchy: Hierarchy | None, names: list[str]) -> Edges | None:
        return None if hierarchy is None else hierarchy.to_core()

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
