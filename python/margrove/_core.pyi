"""The extension module: python/bindings.cpp."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from margrove._types import Csr, Edges, Sets

__version__: str

class ModelFileError(ValueError): ...

class SlopeBounds:
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def lower_strict(self) -> bool: ...
    @property
    def upper_strict(self) -> bool: ...
    @property
    def floor(self) -> float: ...
    def contain(self, h: float, g: float) -> bool: ...

def stop_words_of(language: str) -> list[str]: ...
def text_options() -> list[tuple[str, str, str, str, str]]: ...

# See TextArgument in text_argument.hpp.
_Texts = Sequence[str] | Sequence[tuple[Any, ...]]
# Text, numeric and categorical columns, the label, levels of paths, path, separator, vectors.
_Selection = tuple[list[str], list[str], list[str], str, list[str], str, str, list[str]]

class Records:
    def __init__(
        self,
        documents: _Texts,
        numeric: NDArray[np.float32],
        categorical: Sequence[Sequence[str | None]],
        vectors: NDArray[np.float32],
        vector_widths: Sequence[int],
    ) -> None: ...

class FittedRecords:
    @staticmethod
    def fit_and_apply(
        records: Records,
        selection: _Selection,
        text_options: Sequence[tuple[str, str]],
        stop_words: Sequence[str],
    ) -> tuple[FittedRecords, Csr]: ...
    @staticmethod
    def of_kernel_model(
        model: Model, name: str, records: Records, selection: _Selection
    ) -> tuple[FittedRecords, Csr]: ...
    @property
    def num_rows_without_terms(self) -> int: ...

def expand_columns(
    selection: _Selection, columns: Sequence[str]
) -> tuple[list[str], list[str], list[str], list[str]]: ...
def split_path(id: str, separator: str) -> list[str]: ...

class FittedText:
    @staticmethod
    def fit(
        documents: _Texts, options: Sequence[tuple[str, str]], stop_words: Sequence[str]
    ) -> FittedText: ...
    @staticmethod
    def fit_and_apply(
        documents: _Texts, options: Sequence[tuple[str, str]], stop_words: Sequence[str]
    ) -> tuple[FittedText, Csr]: ...
    def apply(self, documents: _Texts) -> Csr: ...
    @property
    def vocabulary(self) -> list[str]: ...
    @property
    def num_rows_without_terms(self) -> int: ...
    def __init__(self, state: bytes) -> None: ...
    def __reduce__(self) -> tuple[type, tuple[bytes]]: ...
    def __setstate__(self, state: bytes) -> None: ...

class Model:
    @staticmethod
    def load(path: str) -> Model: ...
    def save(self, path: str) -> None: ...
    def __init__(self, state: bytes) -> None: ...
    def __reduce__(self) -> tuple[type, tuple[bytes]]: ...
    def __setstate__(self, state: bytes) -> None: ...
    @property
    def has_state(self) -> bool: ...
    @property
    def method(self) -> str: ...
    @property
    def options(self) -> dict[str, str]: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def alternatives(self) -> list[tuple[str, int]]: ...
    @property
    def has_hierarchy(self) -> bool: ...
    @property
    def edges(self) -> NDArray[np.uint32]: ...
    @property
    def training_rows(self) -> NDArray[np.uint32]: ...
    @property
    def report(self) -> dict[str, Any]: ...
    @property
    def facts(self) -> list[tuple[str, str]]: ...
    @property
    def num_features(self) -> int: ...
    @property
    def preprocessing(self) -> str: ...
    @property
    def record_selection(self) -> _Selection | None: ...
    @property
    def vector_share(self) -> float | None: ...
    @property
    def kernel_features(self) -> tuple[str, float] | None: ...
    @property
    def has_learned_kernel(self) -> bool: ...
    @property
    def keeps_rows(self) -> bool: ...
    @property
    def kernel_support(self) -> Csr: ...
    @property
    def vocabulary(self) -> list[str]: ...
    def preprocess(self, rows: Records | Csr | _Texts, kernel_features: bool = ...) -> Csr: ...
    def feature_name(self, feature: int) -> str: ...
    @property
    def is_of_files(self) -> bool: ...
    @property
    def gives_one_label(self) -> bool: ...
    @property
    def token_keys(self) -> list[str] | None: ...
    def explain_sentence(
        self, sentence: Sequence[Sequence[str]], num_others: int
    ) -> list[
        tuple[
            str,
            tuple[int, str, float],
            str,
            float | None,
            bool,
            list[tuple[int, str, float]],
            list[tuple[str, float]],
        ]
    ]: ...
    def predict_sentences(
        self, sentences: Sequence[Sequence[Sequence[str]]], threads: int
    ) -> list[list[list[str]]]: ...
    def evaluate_sentences(
        self, sentences: Sequence[Sequence[Sequence[str]]], threads: int
    ) -> tuple[dict[str, float], list[str]]: ...
    @property
    def calibration(self) -> tuple[float, int, float, float, float] | None: ...
    @property
    def answerable(self) -> NDArray[np.uint8]: ...
    @property
    def levels(
        self,
    ) -> tuple[
        NDArray[np.float64], NDArray[np.float64], NDArray[np.uint8], NDArray[np.float64]
    ]: ...
    @property
    def linear_parts(
        self,
    ) -> tuple[
        Csr | NDArray[np.float32],
        float,
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.uint32],
        bool,
    ]: ...
    def export_liblinear(self, path: str) -> None: ...
    def compressed(self, keep: float, precision: str) -> Model: ...
    def calibrate(
        self, X: Csr, labels: Sets, row_weights: NDArray[np.float64] | None, threads: int
    ) -> None: ...
    def probabilities(self, X: Csr, of_nodes: bool, threads: int) -> NDArray[np.float64]: ...
    def kernel_values(
        self, X: Csr, others: Csr, memory_limit: float | None, threads: int
    ) -> NDArray[np.float32]: ...
    def confident(self, X: Csr, min_confidence: float, threads: int) -> NDArray[np.uint32]: ...
    def lowest_confident(self, X: Csr, min_confidence: float, threads: int) -> Sets: ...
    @property
    def gives_probabilities(self) -> bool: ...
    def report_page(
        self,
        X: Csr,
        labels: Sets,
        classes: list[str],
        title: str,
        num_examples: int,
        feature_names: list[str],
        texts: list[str],
        other: Model | None,
        other_name: str,
        other_X: Csr,
        threads: int,
    ) -> str: ...
    def predict(self, X: Csr, threads: int) -> Sets: ...
    def scores(self, X: Csr, threads: int) -> NDArray[np.float32]: ...
    def top(
        self, X: Csr, k: int, threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]: ...
    def explain(
        self, X: Csr, row: int, label: str, num_features: int
    ) -> tuple[
        str,
        float,
        list[tuple[str, bool, float, list[tuple[int, float, float, float, float]]]],
        list[tuple[str, float, list[tuple[str, float, float]]]],
    ]: ...
    @property
    def views(self) -> list[tuple[str, int, int]]: ...
    @property
    def network(self) -> tuple[list[str], str, str, dict[str, float]]: ...

class ShardedTraining:
    def __init__(self, folder: str) -> None: ...
    @property
    def num_shards(self) -> int: ...
    def state(self, shard: int) -> str: ...
    def summary(self, shard: int) -> dict[str, Any]: ...
    def train(self, shard: int, threads: int, callback: Callable[..., object] | None) -> None: ...
    def merge(self, threads: int) -> Model: ...

def methods_in_shards() -> str: ...
def methods() -> list[tuple[str, str, bool, list[tuple[str, str, str, str, str]]]]: ...
def output_types() -> list[tuple[str, str, str, str, list[str]]]: ...
def check_hierarchy(
    hierarchy: tuple[list[str], NDArray[np.uint32], list[tuple[str, int]]],
) -> None: ...
def read_annotations(
    path: str, evidence: list[str], aspects: str
) -> tuple[dict[str, list[str]], list[str]]: ...
def read_hierarchy(
    path: str, part_of: bool, language: str = ...
) -> tuple[list[str], NDArray[np.uint32], list[tuple[str, int]], list[str], list[str]]: ...
def train_sentences(
    method: str,
    options: Mapping[str, str],
    sentences: Sequence[Sequence[Sequence[str]]],
    threads: int,
    time_limit_seconds: float | None,
    memory_limit: float | None,
    callback: Callable[..., object] | None,
    start_weights: Model | None,
    token_keys: Sequence[str] | None,
) -> Model: ...

# The columns of a token that is a dict of features.
def token_of(features: Mapping[str, str | float], keys: Sequence[str], /) -> list[str]: ...
def plan_shards(
    folder: str,
    num_shards: int,
    method: str,
    options: Mapping[str, str],
    X: Csr,
    labels: Sets,
    names: Sequence[str],
    hierarchy: Edges | None,
    row_weights: NDArray[np.float64] | None,
    memory_limit: float | None,
    views: Sequence[tuple[str, int, int]],
    scale: str,
    records: FittedRecords | None = None,
    node_names: Sequence[str] = (),
    unlabelled: str = ...,
    other_names: Sequence[str] = (),
    kernel_features: str = ...,
    kernel_gamma: float = ...,
    kernel_model: Model | None = ...,
    kernel_model_name: str = ...,
) -> None: ...
def import_liblinear(path: str) -> Model: ...
def check_rows(X: Csr) -> None: ...
def merge_equal_rows(
    X: Csr, labels: Sets, row_weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.uint32], NDArray[np.float64]] | None: ...
def weigh_by_class(
    labels: Sets,
    num_classes: int,
    class_weights: NDArray[np.float64] | None,
    row_weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]: ...
def set_metrics(truth: Sets, predicted: Sets, hierarchy: Edges) -> dict[str, float]: ...
def bootstrap_interval(
    metric: str,
    truth: Sets,
    predicted: Sets,
    hierarchy: Edges,
    num_resamples: int,
    level: float,
    seed: int,
) -> tuple[float, float]: ...
def ranking_metrics(
    truth: Sets,
    scores: NDArray[np.float64],
    ks: Sequence[int],
    training_rows: NDArray[np.uint32] | None,
    num_training_rows: int,
) -> dict[str, float]: ...
def node_score_metrics(
    truth: Sets, scores: NDArray[np.float64], hierarchy: Edges, ignored: Sequence[int]
) -> dict[str, float]: ...
def expected_calibration_error(
    truth: Sets, predicted: Sets, confidences: NDArray[np.float64], num_bins: int
) -> float: ...
def risk_coverage(
    truth: Sets, predicted: Sets, confidences: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]: ...

class Rows:
    @overload
    def __init__(self, records: Records, selection: _Selection) -> None: ...
    @overload
    def __init__(self, X: Csr) -> None: ...
    @overload
    def __init__(self, documents: _Texts) -> None: ...

def choose(
    rows: Rows,
    labels: Sets,
    names: Sequence[str],
    hierarchy: Edges | None,
    metric: str,
    seed: int,
    scale: str,
    threads: int,
    time_limit_seconds: float | None,
    memory_limit: float | None,
    callback: Callable[..., object] | None,
    text_options: Sequence[tuple[str, str]] = (),
    stop_words: Sequence[str] = (),
    node_names: Sequence[str] = (),
    other_names: Sequence[str] = (),
    unlabelled: str = ...,
    time: str = ...,
) -> tuple[Model, dict[str, Any]]: ...
def search_terms(
    rows: Rows,
    labels: Sets,
    names: Sequence[str],
    hierarchy: Edges | None,
    method: str,
    options: Mapping[str, str],
    metric: str,
    row_weights: NDArray[np.float64] | None,
    scale: str,
    threads: int,
    time_limit_seconds: float | None,
    callback: Callable[..., object] | None,
    text_options: Sequence[tuple[str, str]],
    stop_words: Sequence[str],
    unlabelled: str,
    time: str,
) -> tuple[list[tuple[str, str]], list[tuple[str, str, float, bool]], float]: ...
def searches_by_default(text_options: Sequence[tuple[str, str]], num_texts: int) -> bool: ...
def train(
    method: str,
    options: Mapping[str, str],
    X: Csr,
    labels: Sets,
    names: Sequence[str],
    hierarchy: Edges | None,
    row_weights: NDArray[np.float64] | None,
    threads: int,
    time_limit_seconds: float | None,
    memory_limit: float | None,
    calibration: float,
    callback: Callable[..., object] | None,
    views: Sequence[tuple[str, int, int]] = ...,
    start: Model | None = ...,
    keep_state: bool = ...,
    expect_all: bool = ...,
    scale: str = ...,
    records: FittedRecords | None = None,
    texts: FittedText | None = None,
    node_names: Sequence[str] = (),
    start_weights: Model | None = ...,
    unlabelled: str = ...,
    other_names: Sequence[str] = (),
    kernel_features: str = ...,
    kernel_gamma: float = ...,
    kernel_model: Model | None = ...,
    kernel_model_name: str = ...,
) -> Model: ...

class Surrogate:
    def __init__(self, argument: object) -> None: ...

_LossSettings = tuple[str, int, object, str, int, float, float, int, int]
_Losses = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], NDArray[np.int64] | None]
_ScoreBlock = tuple[NDArray[Any], NDArray[Any]]

def check_loss_settings(settings: _LossSettings) -> None: ...
def chain_losses(
    settings: _LossSettings,
    losses: _Losses,
    lengths: NDArray[np.int64] | None,
    outside_tag: int,
    emissions: _ScoreBlock,
    transitions: _ScoreBlock,
    start: _ScoreBlock | None,
    end: _ScoreBlock | None,
) -> None: ...
def tree_losses(
    settings: _LossSettings,
    losses: _Losses,
    lengths: NDArray[np.int64] | None,
    projective: bool,
    arcs: _ScoreBlock,
) -> None: ...
def choice_losses(
    settings: _LossSettings, losses: _Losses, num_chosen: int, labels: _ScoreBlock
) -> None: ...
def field_losses(
    settings: _LossSettings, losses: _Losses, labels: _ScoreBlock, pairs: _ScoreBlock
) -> None: ...
def path_losses(
    settings: _LossSettings,
    losses: _Losses,
    nodes: _ScoreBlock,
    edges: NDArray[np.uint32],
    loss: str,
    with_inner: bool,
    costs: NDArray[np.float64] | None,
) -> None: ...
def label_set_losses(
    settings: _LossSettings,
    losses: _Losses,
    nodes: _ScoreBlock,
    edges: NDArray[np.uint32],
    counts_nodes: bool,
) -> None: ...
def structured_options() -> list[tuple[str, str, str, str, str]]: ...
def train_structured(
    model: object,
    X: list[Any],
    y: list[Any],
    surrogate: object,
    options: Mapping[str, str],
    read_feature: Callable[[Any, int], Any],
    are_equal: Callable[[Any, Any], bool],
    threads: int,
    time_limit_seconds: float | None,
    callback: Callable[..., object] | None,
    start: NDArray[np.float32] | None = ...,
) -> tuple[NDArray[np.float32], dict[str, Any]]: ...
