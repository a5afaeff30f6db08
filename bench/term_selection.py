#!/usr/bin/env python3
"""Fewer terms: those of most rows beside those of the highest chi-squared, and hashes with signs.

    PYTHONPATH=build/python bench/term_selection.py DATA [clinc150] [tibkat-en]

DATA is the folder of the data sets. Each line is one FlatSVC with its defaults on the columns that
are left of the default terms, and its accuracy on held-out rows. Chi-squared is that of
scikit-learn: of each column and label, summed over the labels, on the training rows. Hashes are
those of scikit-learn's HashingVectorizer on the same terms, weighed by tf-idf, with
alternate_sign=True or False.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from margrove import FlatSVC, TextFeatures
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.feature_selection import chi2
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from text_features import lines_beside, tibkat_rows

COUNTS = [5_000, 20_000, 50_000]
HASHES = [2**14, 2**16]


class Terms:
    """The terms of a text as the analyzer of a vectorizer of scikit-learn."""

    def __init__(self, features: TextFeatures) -> None:
        self.names = features.get_feature_names_out()
        self.features = features

    def __call__(self, text: str) -> list[str]:
        return [self.names[j] for j in self.features.transform([text]).indices]


def accuracy(X: Any, y: Any, X_test: Any, y_test: Any) -> float:
    return float(np.mean(np.asarray(FlatSVC().fit(X, y).predict(X_test)) == np.asarray(y_test)))


def compare(train: list[tuple[str, str]], test: list[tuple[str, str]]) -> None:
    (y, texts), (y_test, test_texts) = (zip(*rows, strict=True) for rows in (train, test))
    features = TextFeatures()
    X = features.fit_transform(texts)
    X_test = features.transform(test_texts)

    def say(name: str, X: Any, X_test: Any) -> None:
        print(f"  {name}: {X.shape[1]} columns, {accuracy(X, y, X_test, y_test):.4f}", flush=True)

    say("all terms", X, X_test)
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    orders = {"rows": frequency, "chi-squared": chi2(X, y)[0]}
    for count in COUNTS:
        for name, score in orders.items():
            kept = np.sort(np.argsort(-score, kind="stable")[:count])
            parts = (normalize(part[:, kept]) for part in (X, X_test))
            say(f"the {count} terms first by {name}", *parts)
    for count in HASHES:
        for sign in (False, True):
            hashes = HashingVectorizer(
                analyzer=Terms(features), n_features=count, alternate_sign=sign, norm=None
            )
            weighed = make_pipeline(hashes, TfidfTransformer(sublinear_tf=False))
            hashed = weighed.fit_transform(texts), weighed.transform(test_texts)
            say(f"{count} hashes {'with' if sign else 'without'} signs", *hashed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=["clinc150", "tibkat-en"])
    given = parser.parse_args()
    for name in given.sets:
        print(name)
        if name == "clinc150":
            parts = [lines_beside(given.data / name, part) for part in ("train", "test")]
        else:
            parts = [
                tibkat_rows(given.data, part, "en", is_long=False)
                for part in ("train.jsonl.gz", "dev.jsonl.gz")
            ]
        compare(*parts)


if __name__ == "__main__":
    main()
