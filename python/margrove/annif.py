"""The backend `margrove` of Annif: `pip install margrove[annif]`.

Annif's table of backends has no entries from other packages, but Annif imports the module of the
settings that the environment variable ANNIF_CONFIG names. `ANNIF_CONFIG=margrove.annif.Config`
imports this one, which adds the backend to the table and gives the settings of Annif itself. Where
a project has settings of its own, their module does `import margrove.annif`.

A project's data are a model of texts, `margrove.model`, which the program reads, too. Its labels
are the URIs of subjects.
"""

import difflib
import inspect
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

try:
    import annif
except ImportError as error:
    raise ImportError("margrove.annif needs the package annif: pip install margrove[annif]") from (
        error
    )
from annif import default_config
from annif.backend import hyperopt
from annif.eval import EvaluationBatch
from annif.exception import (
    ConfigurationException,
    NotInitializedException,
    NotSupportedException,
    OperationFailedException,
)
from annif.suggestion import SubjectSuggestion, SuggestionBatch
from annif.util import atomic_save

from margrove import _core
from margrove._options import option_text, option_value
from margrove.classifiers import Classifier, load
from margrove.hierarchy import Hierarchy
from margrove.text import TextFeatures

__all__ = ["Config", "MargroveBackend", "MargroveOptimizer"]

# Keys of a project that are Annif's; `limit` is the number of suggestions.
_OF_ANNIF = {"name", "language", "backend", "vocab", "analyzer", "transform", "access"}
_OF_ANNIF |= {"allow_learn", "limit"}

# Parameters of all estimators that a project may have beside the options of its method, and the
# defaults here. Scores of Annif are in [0, 1], which needs the calibration.
_OF_RUNS: dict[str, Any] = {
    "calibration": 0.2,
    "scale": "auto",
    "threads": 1,
    "time_limit_seconds": None,
    "memory_limit": None,
}
# Methods with a score of its own for every subject: top-down search visits a part of them only, and
# the estimates of kernel-ridge are those of a subject or one below it.
_METHODS = {
    method: made
    for method, made in Classifier._of_method.items()
    if made._several_labels and method not in ("structured", "top-down-svm", "kernel-ridge")
}
# Annif chooses subjects by their scores alone, so that no decision is tuned by further training.
_DECIDED_BY_ZERO = {
    method
    for method, _, _, options in _core.methods()
    for name, _, _, choices, _ in options
    if name == "decision" and "zero" in choices.split(" | ")
}
_TERMS = {
    name: parameter.default
    for name, parameter in inspect.signature(TextFeatures.__init__).parameters.items()
    if name != "self"
}

# What hyperopt chooses among; other options keep the project's values.
_C_RANGE = (0.01, 100.0)
_TERMS_TRIED = {"word_ngrams": ["1", "1-2"], "char_ngrams": ["none", "4", "3-5"]}
_TRIAL_FOLDS = 4  # one of them is held out

# As Annif chooses where ANNIF_CONFIG is not set.
_is_command = os.environ.get("FLASK_RUN_FROM_CLI") == "true"
Config: Any = default_config.Config if _is_command else default_config.ProductionConfig


class MargroveBackend(hyperopt.AnnifHyperoptBackend):
    """A project's model is an estimator of texts whose labels are the subjects of documents.

    Keys of the project: `method` (flat-svm by default), the options of the method, those of
    `TextFeatures`, `calibration` (0.2 by default), `scale`, `threads` (of suggestions; training
    has those of `annif train --jobs`), `time_limit_seconds`, `memory_limit`, and `hierarchy`: a
    file, `none`, or by default `vocabulary`, the one that Annif keeps. Texts are compared with the
    names in it (`match_names`) unless the project says otherwise. With `min_confidence` inner
    subjects are suggested, too: those with at least this probability, which is that of a subject at
    the inner one or below it, and no narrower one with as much.
    """

    name = "margrove"
    MODEL_FILE = "margrove.model"
    DEFAULT_PARAMETERS: ClassVar[dict[str, Any]] = {
        "limit": 100,
        "method": "flat-svm",
        "hierarchy": "vocabulary",
        "min_confidence": None,
    }

    _model: Any = None
    _subject_of_class: NDArray[np.int64]
    _inner: dict[Any, tuple[int, int]]  # of the model _inner_of
    _inner_of: Any = None

    def initialize(self, parallel: bool = False) -> None:
        """Loads the model. Raises NotInitializedException without one that gives probabilities."""
        if self._model is not None:
            return
        path = os.path.join(self.datadir, self.MODEL_FILE)
        if not os.path.exists(path):
            raise NotInitializedException(f"model {path} not found", backend_id=self.backend_id)
        try:
            model = load(path)
        except _core.ModelFileError as error:
            raise NotInitializedException(str(error), backend_id=self.backend_id) from error
        if not hasattr(model, "predict_proba"):
            raise NotInitializedException(
                f"model {path} gives no probabilities: train it with calibration",
                backend_id=self.backend_id,
            )
        self._adopt(model)

    def _adopt(self, model: Any) -> None:
        self._subject_of_class = self._subjects_of(model.classes_)
        self._model = model

    def _subjects_of(self, uris: NDArray[Any]) -> NDArray[np.int64]:
        """Annif's numbers, -1 for URIs that the vocabulary lacks or leaves out."""
        by_uri = self.project.subjects.by_uri
        found = [by_uri(str(uri), warnings=False) for uri in uris.tolist()]
        return np.array([-1 if number is None else number for number in found], dtype=np.int64)

    # Training -------------------------------------------------------------------------------------

    def _train(self, corpus: Any, params: Mapping[str, Any], jobs: int = 0) -> None:
        if corpus == "cached":
            raise NotSupportedException(
                "the documents of an earlier training are not kept", backend_id=self.backend_id
            )
        estimator = self.estimator(params)
        texts, subjects = self.rows_of(corpus)
        estimator.set_params(threads=jobs)
        self.info(f"training {estimator._method} on {len(texts)} documents")
        self.fit(estimator, texts, subjects)
        atomic_save(estimator, self.datadir, self.MODEL_FILE)
        self._adopt(estimator)

    def rows_of(self, corpus: Any) -> tuple[list[str], list[set[str]]]:
        """The texts of a corpus and the URIs of their subjects. What a document without subjects
        is about is unknown, so that it is left out."""
        texts, subjects = [], []
        for document in corpus.documents:
            if document.subject_set:
                texts.append(document.text)
                subjects.append({self.project.subjects[k].uri for k in document.subject_set})
        if not texts:
            raise NotSupportedException(
                "no document of the corpus has a subject of the vocabulary",
                backend_id=self.backend_id,
            )
        return texts, subjects

    def estimator(self, params: Mapping[str, Any]) -> Classifier:
        """The estimator that a project's parameters describe. Raises ConfigurationException for
        unknown ones, wrong values, and methods that would give no probabilities."""
        method = str(params["method"])
        if method not in _METHODS:
            raise self._misconfigured(
                f"method is {method!r}, but must be one of {', '.join(_METHODS)}"
            )
        self._least_confidence(params)
        options, terms = self._options(method, params)
        hierarchy = self._hierarchy(str(params["hierarchy"]))
        made = _METHODS[method]
        if hierarchy is not None and any(hierarchy.names) and "match_names" in made._defaults():
            options.setdefault("match_names", True)
        estimator = made(**options, hierarchy=hierarchy, text_features=TextFeatures(**terms))
        if not hasattr(estimator, "predict_proba"):
            raise self._misconfigured(f"calibration is 0, but must be > 0 for method={method}")
        return estimator

    def _options(
        self, method: str, params: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Those of the estimator and of its terms."""
        defaults = _METHODS[method]._defaults() | _OF_RUNS
        known = {name.rstrip("_"): name for name in (*defaults, *_TERMS)}
        options: dict[str, Any] = dict(_OF_RUNS)
        if method in _DECIDED_BY_ZERO:
            options["decision"] = "zero"
        terms: dict[str, Any] = {}
        for key, value in params.items():
            if key in _OF_ANNIF or key in self.DEFAULT_PARAMETERS:
                continue
            if key not in known:
                raise self._misconfigured(_unknown(key, method, known))
            name = known[key]
            if name in _TERMS:
                terms[name] = self._value(key, value, _TERMS[name])
            else:
                options[name] = self._value(key, value, defaults[name])
        return options, terms

    def _value(self, key: str, value: Any, default: Any) -> Any:
        """A value of a project, a text where its file has the form of INI."""
        text = option_text(value).strip()
        if isinstance(default, bool):
            if text.lower() not in ("true", "false"):
                raise self._misconfigured(f"{key} is {text!r}, but must be true or false")
            return text.lower() == "true"
        if key == "stop_words":
            words = [word.strip() for word in text.split(",")]
            return words if len(words) > 1 else text or None
        kind = "a number" if isinstance(default, float) or key in _OF_RUNS else "a whole number"
        try:
            if key in ("time_limit_seconds", "memory_limit"):
                return float(text) if text else None
            return option_value(text, default)
        except ValueError as error:
            raise self._misconfigured(f"{key} is {text!r}, but must be {kind}") from error

    def _least_confidence(self, params: Mapping[str, Any]) -> float | None:
        """min_confidence; None where it is not given, so that no inner subject is suggested."""
        given = params.get("min_confidence")
        if given is None or given == "":
            return None
        least: float = self._value("min_confidence", given, 0.5)
        if not 0 <= least <= 1:
            raise self._misconfigured(f"min_confidence is {given}, but must be in [0, 1]")
        return least

    def _hierarchy(self, given: str) -> Hierarchy | None:
        """The hierarchy with its names in the language of the vocabulary; None without one."""
        if given == "none":
            return None
        path = given
        if given == "vocabulary":
            # Annif writes this file from the vocabulary that it loads, whatever the form.
            vocabulary = self.project.vocab
            path = os.path.join(vocabulary.datadir, vocabulary.INDEX_FILENAME_TTL)
            if not os.path.exists(path):
                return None
        with self._reported():
            return Hierarchy.read(path, language=self.project.vocab_lang)

    def fit(self, estimator: Classifier, texts: list[str], subjects: list[set[str]]) -> None:
        """Trains, with the errors of Annif and with warnings in its log."""
        with self._reported():
            estimator.fit(texts, subjects)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                yield
            except ValueError as error:
                raise self._misconfigured(str(error)) from error
            except (MemoryError, OSError) as error:  # a TimeoutError is an OSError
                raise OperationFailedException(str(error), backend_id=self.backend_id) from error
        for each in caught:
            self.warning(str(each.message))

    def _misconfigured(self, message: str) -> Exception:
        error: Exception = ConfigurationException(message, backend_id=self.backend_id)
        return error

    # Suggestions ----------------------------------------------------------------------------------

    def _suggest_batch(self, documents: Sequence[Any], params: Mapping[str, Any]) -> Any:
        threads = self._value("threads", params.get("threads", 1), 1)
        self._model.set_params(threads=threads)
        texts = [document.text for document in documents]
        return self.suggestions(
            self._model,
            self._subject_of_class,
            texts,
            int(params["limit"]),
            self._least_confidence(params),
        )

    def suggestions(
        self,
        model: Any,
        subject_of_class: NDArray[np.int64],
        texts: Sequence[str],
        limit: int,
        least: float | None = None,
    ) -> Any:
        """The `limit` most probable subjects of each text, none for one that is blank. `least` is
        min_confidence."""
        known = np.flatnonzero(subject_of_class >= 0)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        read = [texts[row] for row in filled]
        results: list[list[Any]] = [[] for _ in texts]
        probabilities = model.predict_proba(read) if filled else ()
        inner = [{}] * len(read) if least is None else self._inner_subjects(model, read, least)
        for row, of_classes, of_inner in zip(filled, probabilities, inner, strict=True):
            scores = of_classes[known]
            best = np.argsort(-scores, kind="stable")[:limit]
            found = {int(subject_of_class[known[k]]): float(scores[k]) for k in best} | of_inner
            ranked = sorted(found.items(), key=lambda each: -each[1])[:limit]
            results[row] = [SubjectSuggestion(*each) for each in ranked]
        return SuggestionBatch.from_sequence(results, self.project.subjects)

    def _inner_subjects(
        self, model: Any, texts: Sequence[str], least: float
    ) -> list[dict[int, float]]:
        """Of each text, the inner subjects with at least this probability that have no child with
        as much."""
        if not texts or model.hierarchy_ is None:
            return [{} for _ in texts]
        inner = self._inner_nodes(model)
        lowest = model.predict(texts, stop="inner", min_confidence=least)
        if not isinstance(lowest, list):  # one for each text
            lowest = [{node} - {None} for node in lowest.tolist()]
        found = []
        for chosen, of_nodes in zip(lowest, model.predict_node_proba(texts), strict=True):
            numbers = sorted(inner[node] for node in chosen if node in inner)
            found.append({subject: float(of_nodes[k]) for k, subject in numbers})
        return found

    def _inner_nodes(self, model: Any) -> dict[Any, tuple[int, int]]:
        """The place in `nodes_` and Annif's number of each inner node that is a subject. Found once
        for a model, as vocabularies have tens of thousands."""
        if self._inner_of is not model:
            parents = {parent for parent, _ in model.hierarchy_.edges}
            nodes = model.nodes_.tolist()
            places = [k for k, node in enumerate(nodes) if node in parents]
            subjects = self._subjects_of(model.nodes_[places]).tolist()
            self._inner = {
                nodes[k]: (k, subject)
                for k, subject in zip(places, subjects, strict=True)
                if subject >= 0
            }
            self._inner_of = model
        return self._inner

    def get_hp_optimizer(self, corpus: Any, metric: str) -> "MargroveOptimizer":
        """What `annif hyperopt` runs."""
        return MargroveOptimizer(self, corpus, metric, _Objective)


def _unknown(key: str, method: str, known: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(key.replace("-", "_"), known, n=1)
    advice = f"; did you mean {near[0]}?" if near else ""
    return f"{key} is no parameter of the backend with method={method}{advice}"


class _Objective(hyperopt.HPObjective):
    """Trains with the parameters of a trial and measures the suggestions for held-out documents."""

    @classmethod
    def objective(cls, trial: Any, args: Mapping[str, Any]) -> float:
        backend = args["backend"]
        tried = {
            name: trial.suggest_categorical(name, values) for name, values in _TERMS_TRIED.items()
        }
        tried["C"] = f"{trial.suggest_float('C', *_C_RANGE, log=True):.4g}"
        estimator = backend.estimator(backend.params | tried).set_params(threads=args["threads"])
        backend.fit(estimator, *args["train"])
        texts, subjects = args["test"]
        batch = EvaluationBatch(backend.project.subjects)
        suggested = backend.suggestions(
            estimator, backend._subjects_of(estimator.classes_), texts, int(backend.params["limit"])
        )
        numbers = [[backend.project.subjects.by_uri(uri) for uri in uris] for uris in subjects]
        batch.evaluate_many(suggested, numbers)
        result: float = batch.results(metrics=[args["metric"]])[args["metric"]]
        return result


class MargroveOptimizer(hyperopt.HyperparameterOptimizer):
    """Chooses C and the lengths of n-grams: every fourth of the documents given is held out, and
    each trial trains on the others."""

    def _prepare(self, n_jobs: int = 1) -> dict[str, Any]:
        backend = self._backend
        corpus = backend.project.transform.transform_corpus(self._corpus)
        texts, subjects = backend.rows_of(corpus)
        if len(texts) < _TRIAL_FOLDS:
            raise NotSupportedException(
                f"{len(texts)} documents have subjects, but {_TRIAL_FOLDS} are needed",
                backend_id=backend.backend_id,
            )
        train = [row for row in range(len(texts)) if (row + 1) % _TRIAL_FOLDS]
        test = range(_TRIAL_FOLDS - 1, len(texts), _TRIAL_FOLDS)
        return {
            "backend": backend,
            "metric": self._metric,
            "threads": 0 if n_jobs == 1 else 1,
            "train": ([texts[row] for row in train], [subjects[row] for row in train]),
            "test": ([texts[row] for row in test], [subjects[row] for row in test]),
        }

    def _normalize(self, hps: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: f"{value:.4g}" if isinstance(value, float) else value
            for name, value in hps.items()
        }

    def _postprocess(self, study: Any) -> Any:
        best = self._normalize(study.best_params)
        lines = [f"{name}={value}" for name, value in best.items()]
        return hyperopt.HPRecommendation(lines=lines, score=study.best_value)


annif.backend._backend_fns[MargroveBackend.name] = lambda: MargroveBackend
