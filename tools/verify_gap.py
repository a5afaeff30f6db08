#!/usr/bin/env python3
"""Checks claimed duality gaps by solvers of others: is the objective within the gap of the minimum?

usage: tools/verify_gap.py PROGRAM [--only REGEX]      small problems of the methods
       tools/verify_gap.py --model MODEL --data TRAIN   one model, and the rows it was trained on

The objective is written out over all labellings (gap_objectives.py, gap_parsing.py, gap_other.py)
and computed from the weights in the model file. A lower bound of its minimum comes from
cutting planes by Clarabel (convex_bounds.py). A claim is true if the model's objective is the one
that it names, no more than the gap above the lower bound, and the dual that it names is not above
the minimum. The exit code is 1 if a claim is false.
"""

import argparse
import functools
import math
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import gap_other, gap_parsing  # noqa: E402
from tools.convex_bounds import bounds, primal, score_rounding  # noqa: E402
from tools.declared_methods import declared_methods  # noqa: E402
from tools.gap_objectives import objective  # noqa: E402
from tools.model_reader import Model  # noqa: E402

ROUNDING = 3e-5  # relative: weights are 32-bit numbers
UNCERTIFIED = "the gap may be larger than reported"  # a warning of the program
NOT_WRITTEN_OUT = {"kernel-ridge"}  # solved in closed form; its model lacks rows of the training


@dataclass(frozen=True)
class Verdict:
    claimed: float  # relative gap; NaN where none is claimed
    primal: float
    lower: float
    faults: list[str]
    undecided: bool = False  # the bounds of the minimum are too far apart

    @property
    def gap(self) -> float:
        return (self.primal - self.lower) / self.primal if self.primal > 0 else 0.0


def measured(
    model: Model, data: Path, accuracy: float, most_numbers: int
) -> tuple[float, float, float, float]:
    """(objective of the model, lower and upper bound of the minimum, rounding of scores)."""
    method = model.metadata["method"]
    if method in NOT_WRITTEN_OUT:
        raise ValueError(f"the objective of {method} is not written out")
    if model.metadata["kind"] == "kernel":
        now, lower, rounding = gap_other.kernel(model, data)
        return now, lower, math.inf, rounding
    if method == "shared-svm":
        now, lower, rounding = gap_other.shared_norm(model, data)
        return now, lower, math.inf, rounding
    is_parsing = model.metadata["kind"] == "dependency"
    problem = gap_parsing.dependency(model, data) if is_parsing else objective(model, data)
    if sum(each.A.size for each in problem.examples) > most_numbers:
        raise ValueError("the problem is too large")
    found = bounds(problem.examples, len(problem.v), accuracy)
    rounding = score_rounding(problem.examples, problem.v)
    return primal(problem.examples, problem.v), found.lower, found.upper, rounding


def verify(model_path: Path, data: Path, most_numbers: int = 10_000_000) -> Verdict:
    """Raises ValueError where the problem is not written out or has more numbers."""
    model = Model.read(model_path)
    claims = {name: float(model.metadata.get(f"fit.{name}", "nan"))
              for name in ("relative_gap", "primal", "dual")}  # fmt: skip
    claimed = claims["relative_gap"]
    accuracy = 1e-6 if math.isnan(claimed) else min(max(claimed / 20, 1e-7), 1e-5)
    now, lower, upper, rounding = measured(model, data, accuracy, most_numbers)
    slack = ROUNDING * abs(now) + rounding + 1e-12
    faults = []
    # Where searches only prove bounds, what is claimed is an upper bound.
    if claims["primal"] < now - slack or claims["primal"] > now * (1 + 0.05) + slack:
        faults.append(f"objective is {now:.9g}, but {claims['primal']:.9g} is claimed")
    allowed = claimed * now + slack
    undecided = now - lower > allowed and (math.isinf(upper) or now - upper <= allowed)
    if not math.isnan(claimed) and now - lower > allowed:
        faults.append(f"gap is up to {(now - lower) / now:.3g}, but {claimed:.3g} is claimed")
    if claims["dual"] > upper + slack:
        faults.append(f"the dual {claims['dual']:.9g} exceeds the minimum, at most {upper:.9g}")
    return Verdict(claimed, now, lower, faults, undecided)


# Small problems ---------------------------------------------------------------------------------

LABELS = ["a", "b", "c", "d"]


def svm_rows(draw: random.Random, count: int, has_sets: bool) -> str:
    lines = []
    for i in range(count):
        labels = [LABELS[i % 4]]
        if has_sets and i % 3 == 0:
            labels = sorted(draw.sample(LABELS, 2))
        at = LABELS.index(labels[0])
        cells = (f"{j + 1}:{draw.gauss(2 * (at == j), 1):.3f}" for j in range(3))
        lines.append(f"{','.join(labels)} {' '.join(cells)}\n")
    return "".join(lines)


def grouped_rows(draw: random.Random) -> str:
    """Groups {a, b} and {c, d} are easier to tell apart than their members."""
    lines = []
    for i in range(24):
        group, member = divmod(i % 4, 2)
        cells = (draw.gauss(4 * group, 1), draw.gauss(1.5 * member, 1))
        lines.append(f"{LABELS[i % 4]} 1:{cells[0]:.3f} 2:{cells[1]:.3f}\n")
    return "".join(lines)


def tagged(draw: random.Random) -> str:
    blocks = []
    for _ in range(6):
        words = [draw.choice("abc") for _ in range(draw.randint(1, 4))]
        blocks.append("".join(f"{word} {draw.choice('OXY')}\n" for word in words))
    return "\n".join(blocks) + "\n"


def parsed(draw: random.Random) -> str:
    blocks = []
    for _ in range(6):
        size = draw.randint(1, 3)
        heads = draw.choice(list(gap_parsing.projective_trees(size)))
        lines = []
        for k, head in enumerate(heads, 1):
            form, tag = draw.choice(["x", "y", "zebra"]), draw.choice("NV")
            relation = draw.choice(["dep", "obj"])
            cells = [str(k), form, form, tag, "_", "_", str(head), relation, "_", "_"]
            lines.append("\t".join(cells))
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks) + "\n"


def write_problems(folder: Path) -> None:
    draw = random.Random(17)
    files = {
        "rows": svm_rows(draw, 12, has_sets=False),
        "two": "".join(f"{'ab'[i % 2]} 1:{draw.gauss(i % 2, 1):.3f}\n" for i in range(12)),
        "sets": svm_rows(draw, 10, has_sets=True),
        "partial": svm_rows(draw, 9, has_sets=False) + "n 1:1.5 2:1.2\nn 3:0.4\nm 3:2\nr 1:1\n",
        "tree": "r n\nr m\nn a\nn b\nm c\nm d\n",
        "dag": "r n\nr m\nn a\nn b\nm b\nm c\nm d\n",
        "inner": "r n\nr b\nn a\nr c\nb d\n",
        "pairs": "a b\nb c\nc d\n",
        "tags": tagged(draw),
        "parse": parsed(draw),
        "grouped": grouped_rows(draw),  # where level weights are not 0
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


PATHS = ["hsvm --hierarchy tree", "hsvm --hierarchy dag --alpha maxmin", "nhsvm --hierarchy tree",
         "nhsvm --hierarchy dag", "nhsvm --hierarchy inner --alpha power:2"]  # fmt: skip
SURROGATES = ["--surrogate slack --solver cutting-plane", "--surrogate beta:0.5 --solver bcfw",
              "--surrogate log --solver one-slack", "--surrogate prob-convex --solver one-slack",
              "--surrogate generalised:0.5,1 --solver bcfw"]  # fmt: skip
BCFW = "--solver bcfw"
FIELD = "structured --model multilabel-field --decision argmax"
SETS = "structured --model hierarchy --decision argmax"

CASES = [  # method and options, training file
    *((f"flat-svm {o}", "rows") for o in ("", "--loss squared-hinge", "--C 100", "--bias 0",
                                          "--scale none", "--normalize", "--lambda 0.01",
                                          "--multiclass crammer-singer",
                                          "--multiclass crammer-singer --surrogate slack")),
    ("flat-svm --decision argmax", "sets"),
    ("flat-svm", "two"),
    *((f"flat-lr {o}", "rows") for o in ("", "--C 100", "--multiclass softmax")),
    *((path, "rows") for path in PATHS),
    *((f"{path} --decision argmax", "sets") for path in PATHS),
    *((f"hsvm --hierarchy tree {surrogate}", "rows") for surrogate in SURROGATES),
    ("nhsvm --hierarchy tree --surrogate normalized-difference", "rows"),
    *((f"hr-svm {o}", "rows") for o in ("--hierarchy tree", "--hierarchy dag",
                                        "--hierarchy tree --loss squared-hinge",
                                        "--hierarchy inner --alpha maxmin",
                                        "--hierarchy dag --dag graph --loss squared-hinge",
                                        "--label-graph pairs --anchor 0.5 --loss squared-hinge")),
    *((f"hr-lr {o}", "rows") for o in ("--hierarchy tree", "--hierarchy dag --dag graph",
                                       "--hierarchy dag --multiclass softmax --alpha maxmin",
                                       "--hierarchy dag --multiclass softmax --dag graph",
                                       "--label-graph pairs --anchor 0.5 --multiclass softmax",
                                       "--label-graph pairs --anchor 0.5",
                                       "--label-graph pairs --anchor a=2,b=1,c=1,d=0.5")),
    ("hr-svm --hierarchy tree --decision argmax", "sets"),
    ("top-down-svm --hierarchy tree --beam 1", "rows"),
    ("top-down-svm --hierarchy tree --beam 1 --loss squared-hinge", "rows"),
    ("top-down-svm --hierarchy dag --beam 1", "rows"),
    ("label-trees --trees 2 --max-leaves 2", "rows"),
    ("label-trees --max-leaves 2 --loss hinge --decision argmax", "sets"),
    *((f"level-svm --hierarchy {o}", "grouped") for o in (
        "tree", "dag", "tree --bias 0", "tree --multiclass ovr",
        "dag --multiclass ovr --loss hinge")),
    *((f"level-svm --hierarchy {o} --decision argmax", "sets")
      for o in ("dag", "inner --decision-folds 2")),
    *((f"{method} --hierarchy {graph} --partial-labels {o}", "partial") for method, graph, o in (
        ("flat-svm", "tree", ""), ("flat-svm", "dag", "--loss hinge"), ("flat-lr", "tree", ""),
        ("hr-svm", "tree", ""), ("hr-svm", "dag", ""), ("hr-lr", "tree", ""),
        ("top-down-svm", "tree", "--beam 1"), ("top-down-svm", "dag", "--beam 1"),
        ("hsvm", "tree", ""), ("hsvm", "dag", ""),
        ("nhsvm", "tree", ""), ("nhsvm", "dag", ""), ("hsvm", "tree", "--surrogate slack"),
        ("nhsvm", "tree", "--surrogate beta:0.5 --alpha leaves"),
        ("hsvm", "tree", "--solver cutting-plane"), ("hsvm", "dag", "--C 10"))),
    *((f"shared-svm --hierarchy {o}", "rows") for o in ("tree", "dag", "tree --task-loss hamming")),
    *((f"shared-svm --hierarchy {o} --decision argmax", "sets") for o in ("tree", "dag")),
    *((f"structured {o}", "tags") for o in (
        "", BCFW, *SURROGATES, f"--surrogate micro-f1 {BCFW}", f"--C 10 {BCFW}",
        f"--order 2 {BCFW}", f"--order 2 --surrogate slack {BCFW}")),
    *((f"{FIELD} {o}", "sets") for o in ("", BCFW, *SURROGATES, f"--surrogate micro-f1 {BCFW}",
                                         f"--pair-scale 0.3 {BCFW}")),
    *((f"{SETS} --hierarchy {graph} {o}", "sets") for graph in ("tree", "dag")
      for o in ("", "--surrogate slack")),
    *((f"{SETS} --hierarchy tree {o}", "sets") for o in (*SURROGATES, "--surrogate micro-f1")),
    *((f"structured --model dependency --hash-bits 16 {o}", "parse")
      for o in ("", BCFW, *SURROGATES, f"--loss heads {BCFW}", f"--relations separate {BCFW}",
                f"--relations separate --surrogate slack {BCFW}", f"--relations table {BCFW}",
                "--solver one-slack", "--solver cutting-plane --surrogate slack")),
    *((f"{method} --widths 0.5,2 {o}", data) for data in ("rows", "two") for method, o in (
        ("spn-mkl", ""), ("spn-mkl", "--p 2"), ("lp-mkl", ""), ("lp-mkl", "--p 1.5 --C 10"),
        ("simple-mkl", ""), ("average-mkl", ""))),
]  # fmt: skip


def judged(program: Path, folder: Path, case: tuple[str, str]) -> str:
    """A line about one case; it begins with "FALSE" or "no model" where something is wrong."""
    options, data = case
    model = f"{CASES.index(case)}.model"
    arguments = ["train", "--method", *shlex.split(options), "--quiet", data, model]
    ended = subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    name = f"{options} {data}"
    if ended.returncode != 0:
        return f"no model: {name}: {ended.stderr.strip()}"
    verdict = verify(folder / model, folder / data)
    if UNCERTIFIED in ended.stderr:
        if "stop\tconverged\n" in ended.stdout:
            return f"FALSE: {name}: converged, but the program warns that the gap may be larger"
        return f"no claim: {name}: the program warns that the gap may be larger"
    if verdict.faults:
        return f"FALSE: {name}: {'; '.join(verdict.faults)}"
    if math.isnan(verdict.claimed):
        return f"no claim: {name}: gap {verdict.gap:.2g}"
    return f"true: {name}: claimed {verdict.claimed:.2g}, found {verdict.gap:.2g}"


def main() -> int:
    parser = argparse.ArgumentParser(description="checks claimed duality gaps")
    parser.add_argument("program", type=Path, nargs="?")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    if given.model is not None:
        verdict = verify(given.model, given.data)
        print(f"claimed {verdict.claimed:.3g}, found {verdict.gap:.3g}", *verdict.faults, sep="\n")
        return 1 if verdict.faults else 0
    if given.program is None:
        parser.error("PROGRAM is missing")
    covered = {options.split()[0] for options, _ in CASES} | NOT_WRITTEN_OUT
    if lacking := {method.name for method in declared_methods(given.program)} - covered:
        parser.error(f"no problem for {', '.join(sorted(lacking))}")
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_problems(folder)
        chosen = [case for case in CASES if given.only.search(" ".join(case))]
        judge = functools.partial(judged, given.program.resolve(), folder)
        with ProcessPoolExecutor(os.cpu_count() or 1) as pool:
            for line in pool.map(judge, chosen):
                print(line, flush=True)
                wrong += line.startswith(("FALSE", "no model"))
    print(f"verify_gap: {len(chosen)} models, {wrong} wrong")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
