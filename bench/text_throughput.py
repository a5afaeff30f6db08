#!/usr/bin/env python3
"""How fast texts become rows of weights, beside scikit-learn and, where it is installed, PECOS.

    PYTHONPATH=build/python bench/text_throughput.py DATA [--repeat 3] [--abstracts]

DATA is the folder of the data sets. Each line is one vectorizer on one set, in a process of its
own: fit_transform() on the training texts and transform() on the held-out ones, as megabytes of
text per CPU second (the best of the repetitions), the peak of memory in addition to the texts, the
terms, and the size of the pickled vectorizer. PECOS cuts words at blanks, so that it does nearly
the same work, not the same.
"""

import argparse
import gzip
import json
import multiprocessing
import pickle
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORDS = r"(?u)\b\w+\b"
Texts = list[str]


def ours(**options: Any) -> Any:
    from margrove import TextFeatures

    plain: dict[str, Any] = {
        "word_ngrams": "1", "char_ngrams": "none", "min_ngram_frequency": 1,
    }  # fmt: skip
    return TextFeatures(**(plain | options))


def theirs(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, **options)


class Pecos:
    def __init__(self, **options: Any) -> None:
        from pecos.utils.featurization.text.vectorizers import Tfidf

        self.kind = Tfidf
        self.options = {"smooth_idf": True, "sublinear_tf": True} | options

    def fit_transform(self, texts: Texts) -> Any:
        self.model = self.kind.train(texts, self.options)
        return self.transform(texts)

    def transform(self, texts: Texts) -> Any:
        return self.model.predict(texts, threads=1)


CHOICES: dict[str, dict[str, Callable[[], Any]]] = {
    "words": {
        "margrove": ours,
        "scikit-learn": lambda: theirs(token_pattern=WORDS),
        "PECOS": lambda: Pecos(analyzer="word", ngram_range=[1, 1]),
    },
    "one or two words": {
        "margrove": lambda: ours(word_ngrams="1-2"),
        "scikit-learn": lambda: theirs(token_pattern=WORDS, ngram_range=(1, 2)),
        "PECOS": lambda: Pecos(analyzer="word", ngram_range=[1, 2]),
    },
    "4 characters": {
        "margrove": lambda: ours(word_ngrams="none", char_ngrams="4"),
        "scikit-learn": lambda: theirs(analyzer="char_wb", ngram_range=(4, 4)),
        "PECOS": lambda: Pecos(analyzer="char_wb", ngram_range=[4, 4]),
    },
    "3 to 5 characters": {
        "margrove": lambda: ours(word_ngrams="none", char_ngrams="3-5"),
        "scikit-learn": lambda: theirs(analyzer="char_wb", ngram_range=(3, 5)),
        "PECOS": lambda: Pecos(analyzer="char_wb", ngram_range=[3, 5]),
    },
}


def tibkat(data: Path, name: str, *, is_long: bool) -> Texts:
    with gzip.open(data / "tibkat" / name, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [f"{r['title']} {r['abstract'] if is_long else ''}" for r in records]


def megabytes(texts: Texts) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measure(terms: str, name: str, train: Texts, test: Texts, repeat: int, results: Any) -> None:
    try:
        before = peak_megabytes()
        fit, apply, size, count = [], [], 0, 0
        for _ in range(repeat):
            vectorizer = CHOICES[terms][name]()
            begin = time.process_time()
            X = vectorizer.fit_transform(train)
            middle = time.process_time()
            vectorizer.transform(test)
            fit.append(middle - begin)
            apply.append(time.process_time() - middle)
            count = X.shape[1]
        peak = peak_megabytes() - before
        size = len(pickle.dumps(vectorizer)) if name != "PECOS" else 0
        results.put((megabytes(train) / min(fit), megabytes(test) / min(apply), peak, size, count))
    except ImportError as error:
        results.put(str(error))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--abstracts", action="store_true", help="titles with abstracts, too")
    given = parser.parse_args()
    context = multiprocessing.get_context("fork")
    for is_long in (False, True) if given.abstracts else (False,):
        train, test = (
            tibkat(given.data, part, is_long=is_long)[:most]
            for part, most in (("train.jsonl.gz", 40_000), ("dev.jsonl.gz", 10_000))
        )
        kind = "titles and abstracts" if is_long else "titles"
        print(f"tibkat, {len(train)} {kind}, {megabytes(train):.1f} MB")
        for terms, vectorizers in CHOICES.items():
            for name in vectorizers:
                results = context.Queue()
                arguments = (terms, name, train, test, given.repeat, results)
                process = context.Process(target=measure, args=arguments)
                process.start()
                told = results.get()
                process.join()
                if isinstance(told, str):
                    print(f"  {terms}, {name}: not measured, {told}")
                    continue
                fit, apply, peak, size, count = told
                print(f"  {terms}, {name}: fit_transform {fit:.1f} MB/s, transform {apply:.1f}, "
                      f"{peak:.0f} MB, {count} terms, pickled {size / 1e6:.1f} MB",
                      flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
