"""Tables of bench_mkl_tables' output: means, ranks, Friedman's test with Nemenyi's critical
difference over the data sets, and Wilcoxon's signed-rank test over all splits.

    bench_mkl_tables DATA 20 uci-sonar ... > uci.csv; bench_mkl_tables DATA 5 mfeat > mfeat.csv
    python bench/mkl_tables.py uci.csv mfeat.csv
"""

import csv
import itertools
import sys
from typing import Any

import numpy as np
from scipy import stats

Row = dict[str, str]


def read(paths: list[str]) -> list[Row]:
    rows: list[Row] = []
    for path in paths:
        with open(path, newline="") as file:
            rows += [row for row in csv.DictReader(file) if row["data"] != "data"]
    return rows


def numbers(rows: list[Row], key: str) -> Any:
    return np.array([float(row[key]) for row in rows])


def main() -> None:
    rows = read(sys.argv[1:])
    methods = list(dict.fromkeys(row["method"] for row in rows))
    names = list(dict.fromkeys(row["data"] for row in rows))
    print("| data (splits) | " + " | ".join(methods) + " |")
    print("|---" * (len(methods) + 1) + "|")
    means: list[list[float]] = []
    for name in names:
        cells = []
        means.append([])
        for method in methods:
            one = [row for row in rows if row["data"] == name and row["method"] == method]
            accuracy = numbers(one, "accuracy")
            means[-1].append(accuracy.mean())
            cells.append(
                f"{100 * accuracy.mean():.1f} ± {100 * accuracy.std(ddof=1):.1f}, "
                f"{numbers(one, 'kept').mean():.0f}/{one[0]['paths']}, "
                f"{numbers(one, 'seconds').mean():.2f} s, C={one[0]['C']}"
            )
        print(f"| {name} ({len(one)}) | " + " | ".join(cells) + " |")
    ranks = np.mean([stats.rankdata([-m for m in row]) for row in means], axis=0)
    print("| mean rank | " + " | ".join(f"{r:.2f}" for r in ranks) + " |\n")
    k, n = len(methods), len(names)
    friedman = stats.friedmanchisquare(*np.transpose(means))
    q = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    print(
        f"Friedman over {n} data sets: chi2 = {friedman.statistic:.2f}, p = "
        f"{friedman.pvalue:.3f}; Nemenyi's critical difference of mean ranks at 5%: "
        f"{q * np.sqrt(k * (k + 1) / (6 * n)):.2f}.\n"
    )
    by_split: dict[str, dict[tuple[str, str], float]] = {method: {} for method in methods}
    for row in rows:
        by_split[row["method"]][row["data"], row["split"]] = float(row["accuracy"])
    for a, b in itertools.combinations(methods, 2):
        difference = np.array([by_split[a][key] - by_split[b][key] for key in by_split[a]])
        p = stats.wilcoxon(difference).pvalue if (difference != 0).any() else 1.0
        print(
            f"- {a} against {b}: better on {(difference > 0).sum()} splits, worse on "
            f"{(difference < 0).sum()}, mean difference {100 * difference.mean():+.2f} points, "
            f"Wilcoxon p = {p:.2g}"
        )
    print(
        f"\nMemory: at most {numbers(rows, 'estimate_mb').max():.0f} MB estimated for matrices "
        f"and machines; peak resident {numbers(rows, 'peak_mb').max():.0f} MB, the whole process."
    )
    print(f"CPU seconds of training in all: {numbers(rows, 'seconds').sum():.0f}")


if __name__ == "__main__":
    main()
