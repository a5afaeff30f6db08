"""The models that tools/same_models.py trains, and the commands that it expects to fail."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One model: data set, options of train, further options of predict.

    {part} in the options stands for train or test.
    """

    data: str
    options: str
    predict: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, [self.data, self.options, self.predict]))


def on(data: str, shared: str, *options: str, predict: str = "") -> list[Case]:
    """Cases on one set, with shared options before those of each."""
    return [Case(data, f"{shared} {line}".strip(), predict) for line in options]


def with_hierarchy(data: str, *options: str, predict: str = "") -> list[Case]:
    return on(data, f"--hierarchy {data}/hierarchy", *options, predict=predict)


VIEWS = "--view more=kernel/{part}.more"
CHAIN = "--method structured"
FIELD = "--method structured --model multilabel-field"
SETS = "--method structured --model hierarchy"
PARSE = "--method structured --model dependency"

CASES = [
    # One label per row, flat.
    *on(
        "tree",
        "",
        "--method flat-svm",
        "--method flat-svm --loss squared-hinge --bias 0 --seed 3",
        "--method flat-svm --multiclass crammer-singer",
        "--method flat-lr --lambda 0.05",
        "--method flat-lr --multiclass softmax",
        "--method flat-svm --intercept-penalty 0",
        "--method flat-lr --intercept-penalty 0",
        predict="--scores",
    ),
    Case("tree", "--method flat-lr --calibration 0.3", "--probabilities --top 3"),
    # One leaf per row on a tree.
    *with_hierarchy(
        "tree",
        "--method hsvm",
        "--method hsvm --alpha leaves",
        "--method hsvm --alpha power:2",
        "--method hsvm --alpha directional",
        "--method hsvm --solver sgd --epochs 5",
        "--method nhsvm",
        "--method nhsvm --alpha uniform --merge-duplicates",
        "--method nhsvm --alpha relaxed:2",
        "--method nhsvm --surrogate normalized-difference",
        "--method nhsvm --surrogate normalized-difference --solver sgd --epochs 5",
        "--method nhsvm --solver sgd --epochs 5",
        "--method shared-svm --max-rounds 5",
        "--method shared-svm --task-loss hamming --max-rounds 5",
        "--method shared-svm --solver sgd --epochs 5",
        "--method hr-svm",
        "--method hr-svm --loss squared-hinge",
        "--method hr-svm --alpha maxmin --solver alternating --tolerance 0.01",
        "--method hr-svm --label-graph tree/pairs --anchor 0.5 --tolerance 0.01",
        "--method hr-lr",
        "--method hr-lr --multiclass softmax",
        "--method hr-lr --label-graph tree/pairs --tolerance 0.01",
        "--method hr-lr --label-graph tree/pairs --anchor 1",
        "--method hr-svm --intercept-penalty 0",
        "--method hr-svm --loss squared-hinge --intercept-penalty 0",
        "--method hr-lr --intercept-penalty 0",
        "--method hsvm --intercept-penalty 0.1",
        "--method top-down-svm",
        "--method top-down-svm --intercept-penalty 0",
        "--method top-down-svm --beam 3 --loss squared-hinge",
        "--method label-trees --max-leaves 2 --beam 2",
        "--method level-svm",
        "--method level-svm --loss hinge --intercept-penalty 0",
        predict="--top 3 --scores",
    ),
    *with_hierarchy(
        "tree",
        "--method nhsvm --C 0.5 --tolerance 0.01 --calibration 0.2",
        predict="--min-confidence 0.5",
    ),
    Case("tree", "--method hr-lr --label-graph tree/pairs --tolerance 0.01", "--top 2"),
    # Preprocessing.
    *with_hierarchy(
        "text",
        "--method flat-svm --text",
        "--method nhsvm --text --min-document-frequency 2 --tolerance 0.01",
        "--method hr-svm --text --sublinear-tf=false",
        predict="--scores",
    ),
    *with_hierarchy(
        "counts",
        "--method flat-svm --tfidf",
        "--method flat-svm --normalize --multiclass crammer-singer --tolerance 0.05",
        "--method hsvm --tfidf --tolerance 0.02",
        "--method nhsvm --tfidf --tolerance 0.02",
        "--method shared-svm --tfidf --max-rounds 2 --tolerance 0.1",
        "--method hr-svm --tfidf --tolerance 0.01",
        "--method hr-svm --tfidf --solver alternating --tolerance 0.1",
        "--method hr-lr --tfidf --tolerance 0.02",
        "--method hr-lr --tfidf --tolerance 0.02 --multiclass softmax",
        "--method top-down-svm --tfidf --beam 0",
        "--method label-trees --tfidf --trees 2",
        "--method level-svm --tfidf --bias 0",
        predict="--paths",
    ),
    # Few columns, all of them used: other solvers.
    *with_hierarchy(
        "dense",
        "--method flat-svm",
        "--method flat-lr --C 10",
        "--method nhsvm",
        "--method shared-svm --tolerance 0.01",
        "--method hr-svm",
        "--method hr-svm --loss squared-hinge",
        "--method hr-lr",
        predict="--scores",
    ),
    # Several labels per row.
    *with_hierarchy(
        "sets",
        "--method flat-svm --decision instance --tolerance 0.01",
        "--method flat-svm --decision threshold --tolerance 0.01",
        "--method flat-lr --decision scut",
        "--method flat-lr --decision rcut --decision-folds 2",
        "--method flat-lr --decision zero",
        "--method hsvm --C 0.1 --tolerance 0.01",
        "--method nhsvm --C 0.1 --tolerance 0.01",
        "--method nhsvm --C 0.1 --inference relaxed --tolerance 0.01",
        "--method nhsvm --solver sgd --epochs 10",
        "--method shared-svm --C 0.1 --tolerance 0.05 --max-rounds 5",
        "--method hr-svm --C 0.1 --max-passes 100 --decision scut",
        "--method hr-svm --C 0.1 --loss squared-hinge --max-passes 100 --decision argmax",
        "--method hr-lr --C 0.1 --decision instance",
        "--method top-down-svm --C 0.1 --decision rcut",
        "--method label-trees --C 0.1 --max-leaves 2",
        "--method level-svm --C 0.1",
    ),
    *with_hierarchy(
        "dag",
        "--method flat-svm --decision instance --tolerance 0.01",
        "--method hsvm --C 0.1 --max-passes 10",
        "--method nhsvm --C 0.1 --max-passes 10",
        "--method nhsvm --C 1 --max-passes 10",
        "--method nhsvm --C 0.1 --inference relaxed --max-passes 10",
        "--method nhsvm --merge-duplicates --solver sgd --epochs 5",
        "--method nhsvm --alpha power:2 --C 0.1 --max-passes 5",
        "--method shared-svm --C 0.1 --max-rounds 2 --max-passes 10",
        "--method hr-svm --tolerance 0.01 --decision argmax",
        "--method hr-svm --dag graph --tolerance 0.01 --decision argmax",
        "--method hr-svm --dag graph --loss squared-hinge --decision argmax --tolerance 0.01",
        "--method hr-svm --solver alternating --tolerance 0.05 --decision argmax",
        "--method level-svm --decision instance --tolerance 0.01",
        "--method hr-lr --decision rcut",
        "--method hr-lr --dag graph --decision threshold",
    ),
    # Structured outputs.
    *on(
        "chain",
        CHAIN,
        "--min-feature-count 2",
        "--C 0.3 --seed 2",
        "--order 2",
        "--order 2 --surrogate prob --max-passes 10",
        "--word-pairs=false --word-clusters 0",
        "--word-clusters 3",
        "--solver cutting-plane --max-passes 20",
        "--solver one-slack",
        "--solver sgd --max-passes 10",
        "--surrogate slack --max-passes 8",
        "--surrogate slack --solver one-slack --max-passes 3",
        "--surrogate slack --search sarawagi --solver cutting-plane --max-passes 15",
        "--surrogate slack --search bisecting",
        "--surrogate slack --search binary --solver sgd --max-passes 5",
        "--surrogate beta:0.5 --max-passes 8",
        "--surrogate log --max-passes 10",
        "--surrogate prob --max-passes 10",
        "--surrogate micro-f1",
    ),
    *on(
        "field",
        FIELD,
        "",
        "--inference relaxed --pair-scale 0.5",
        "--solver cutting-plane --max-passes 6",
        "--solver one-slack",
        "--solver sgd",
        "--surrogate slack --max-passes 20",
        "--surrogate slack --max-bans 0 --max-passes 10",
        "--surrogate slack --inference relaxed --max-passes 10",
        "--surrogate slack --search angular --max-passes 15",
        "--surrogate slack --search bisecting --max-passes 15",
        "--surrogate slack --solver cutting-plane --max-passes 4",
        "--surrogate generalised:0.5,1 --max-passes 20",
        "--surrogate prob",
        "--surrogate prob-convex",
        "--surrogate micro-f1",
    ),
    *with_hierarchy(
        "sets",
        f"{SETS} --max-passes 20",
        f"{SETS} --solver cutting-plane --max-passes 10",
        f"{SETS} --solver one-slack",
        f"{SETS} --solver sgd",
        f"{SETS} --surrogate slack --max-passes 20",
        f"{SETS} --surrogate slack --search bisecting --max-passes 20",
        f"{SETS} --surrogate log",
    ),
    *with_hierarchy(
        "dag",
        f"{SETS} --max-passes 10",
        f"{SETS} --surrogate slack --max-passes 5",
        f"{SETS} --solver sgd --surrogate prob --max-passes 5",
    ),
    *on(
        "parse",
        PARSE,
        "--max-passes 20",
        "--solver cutting-plane --max-passes 20",
        "--solver one-slack --max-passes 20",
        "--solver sgd --hash-bits 12",
        "--surrogate slack --max-passes 5",
        "--surrogate slack --search binary --max-passes 20",
        "--surrogate slack --search sarawagi --solver cutting-plane --max-passes 10",
        "--surrogate log --max-passes 20",
        "--surrogate prob-convex",
    ),
    # Kernels.
    *on(
        "kernel",
        VIEWS,
        "--method spn-mkl",
        "--method spn-mkl --network kernel/network --tolerance 0.001",
        "--method spn-mkl --network kernel/network --p 0.5 --weight-penalty 2",
        "--method lp-mkl --p 1.5",
        "--method lp-mkl --network kernel/network",
        "--method simple-mkl --widths 0.5,1,2 --tolerance 0.001",
        "--method average-mkl --C 10",
        "--method flat-svm",
        "--method kernel-ridge",
        predict="--scores",
    ),
    *with_hierarchy(
        "tree",
        "--method kernel-ridge --widths 1",
        "--method kernel-ridge --kernel gaussian --widths 1 --tuning-rows 300",
    ),
    *with_hierarchy("sets", "--method kernel-ridge --sharing 0.5 --widths 1"),
]

MODEL = "good.model"  # of nhsvm on the set tree, for commands that need one

# Commands that must fail.
FAILURES = [
    "train --method svm tree/train m",
    "train --method nhsvm tree/train m",
    "train --method nhsvm --hierarchy tree/hierarchy --C 0 tree/train m",
    "train --method nhsvm --hierarchy tree/hierarchy --C 1 --lambda 1 tree/train m",
    "train --method hsvm --hierarchy tree/hierarchy --alpha gold tree/train m",
    "train --method hsvm --hierarchy dense/hierarchy tree/train m",
    "train --method flat-svm --decision dice tree/train m",
    "train --method flat-svm --multiclass crammer-singer sets/train m",
    "train --method flat-lr --multiclass softmax sets/train m",
    "train --method flat-svm --tfidf --normalize tree/train m",
    "train --method flat-svm --memory-limit 1e-9 tree/train m",
    "train --method flat-svm tree/missing m",
    "train --method nhsvm --hierarchy sets/hierarchy"
    " --surrogate normalized-difference sets/train m",
    "train --method hr-svm --hierarchy tree/hierarchy --anchor 1 tree/train m",
    "train --method hr-lr --label-graph tree/hierarchy chain/train m",
    "train --method structured --model trellis chain/train m",
    "train --method structured --surrogate magic chain/train m",
    "train --method structured --surrogate log --solver bcfw chain/train m",
    "train --method structured --surrogate slack --search sarawagi --solver bcfw chain/train m",
    "train --method structured --surrogate slack --search angular chain/train m",
    "train --method structured --search angular chain/train m",
    "train --method structured --inference relaxed chain/train m",
    "train --method structured --model dependency --surrogate micro-f1 parse/train m",
    "train --method structured --model dependency chain/train m",
    "train --method spn-mkl --network kernel/train kernel/train m",
    "train --method spn-mkl --network kernel/network kernel/train m",
    f"predict {MODEL} chain/train",
    "predict tree/train tree/test",
    f"predict {MODEL} tree/test --top 0",
    f"evaluate {MODEL} tree/missing",
    f"explain {MODEL} tree/test --row 100000",
]

NETWORK = {
    "kernels": {
        "z": {"type": "gaussian", "view": "main", "widths": ["0.5 median", "median"]},
        "m": {"type": "polynomial", "degree": 2, "view": "more"},
        "l": {"type": "linear", "view": "more"},
    },
    "root": {
        "sum": [
            {"product": [{"sum": ["z", "l"]}], "name": "alone"},
            {"product": [{"sum": ["z"]}, {"sum": ["m"]}], "name": "together", "p": 1.5},
        ]
    },
}
