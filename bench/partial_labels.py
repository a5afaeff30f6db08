#!/usr/bin/env python3
"""What rows with partial labels add: accuracy with and without the rows whose leaf is not known.

bench/partial_labels.py --program build/margrove --data DIRECTORY [--known 2 5 10] [--seeds 1]
                        [--methods nhsvm hsvm ...] [--options --C 1 ...]

Of each class that many rows of DIRECTORY/train.svm keep their label, the first ones in a random
order. The others have the parent of their label in DIRECTORY/hierarchy.txt. A line has the
accuracy on DIRECTORY/test.svm of the model of the rows whose leaf is known, that of the model of
all rows with --partial-labels, and the latter's CPU seconds and rounds.
"""

import argparse
import pathlib
import random
import tempfile

from measured_runs import measured_run, same_loss


def parents(path: pathlib.Path) -> dict[str, str]:
    """The last parent of each label."""
    return {child: parent for parent, child in map(str.split, path.read_text().splitlines())}


def split(train: pathlib.Path, parent: dict[str, str], known: int, seed: int) -> tuple[str, str]:
    """The rows whose label is kept, and all rows."""
    rows = [line.split(" ", 1) for line in train.read_text().splitlines()]
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    seen: dict[str, int] = {}
    kept = set()
    for i in order:
        label = rows[i][0]
        seen[label] = seen.get(label, 0) + 1
        if seen[label] <= known:
            kept.add(i)
    alone = "".join(f"{label} {rest}\n" for i, (label, rest) in enumerate(rows) if i in kept)
    both = "".join(
        f"{label if i in kept else parent[label]} {rest}\n" for i, (label, rest) in enumerate(rows)
    )
    return alone, both


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--known", type=int, nargs="+", default=[2, 5, 10])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--methods", nargs="+", default=["flat-svm", "top-down-svm", "hr-svm", "hsvm", "nhsvm"]
    )
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[])
    arguments = parser.parse_args()
    hierarchy, test = arguments.data / "hierarchy.txt", arguments.data / "test.svm"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def trained(method: str, rows: str, *more: str) -> tuple[float, float, str]:
            (folder / "rows").write_text(rows)
            command = [arguments.program, "train", "--method", method, "--hierarchy", hierarchy]
            command += [*same_loss(method, arguments.options), *more, "--quiet"]
            run = measured_run([*map(str, command), str(folder / "rows"), str(folder / "model")])
            command = [arguments.program, "evaluate", "--quiet", folder / "model", test]
            lines = map(str.split, measured_run(list(map(str, command))).output.splitlines())
            scores = dict(line for line in lines if len(line) == 2)
            return float(scores["accuracy"]), run.cpu, run.values().get("rounds", "")

        print("| known per class | method | leaf known | all rows | CPU s | rounds |")
        print("|---|---|---|---|---|---|")
        for known in arguments.known:
            for method in arguments.methods:
                cells = []
                for seed in range(arguments.seeds):
                    alone, both = split(
                        arguments.data / "train.svm", parents(hierarchy), known, seed
                    )
                    cells.append(
                        (trained(method, alone)[0], *trained(method, both, "--partial-labels"))
                    )
                alones, boths, seconds, rounds = zip(*cells, strict=True)
                print(
                    f"| {known} | {method} | {sum(alones) / len(cells):.4f} "
                    f"| {sum(boths) / len(cells):.4f} | {sum(seconds) / len(cells):.1f} "
                    f"| {', '.join(filter(None, rounds))} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
