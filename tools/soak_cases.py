"""Random training problems for tools/soak.py: data of any scale, empty and degenerate ones, and
options of every method, drawn from the program's own tables."""

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools.declared_methods import Method, Option

LABELS = ["a", "b", "c", "d", "e", "f"]
MOST_PASSES = 300  # a soak wants many problems, not long ones


@dataclass
class Case:
    """Files and the arguments of train, without the model's name."""

    name: str
    method: str
    arguments: list[str]
    files: dict[str, str]
    data: str = "train"
    is_rows: bool = True  # svmlight
    options: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def read(path: Path) -> "Case":
        return Case(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, folder: Path) -> None:
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")


# Options ----------------------------------------------------------------------------------------

TEXTS: dict[str, Sequence[str]] = {
    "surrogate": ["margin", "slack", "log", "prob", "prob-convex", "micro-f1", "beta:0.5",
                  "generalised:0.5,1", "normalized-difference", "beta:2"],
    "alpha": ["uniform", "leaves", "power:2", "power:1.01", "power:50", "directional", "maxmin",
              "relaxed:2", "relaxed:1", "share:0.5", "share:1e-9", "share:1"],
    "widths": ["1", "0.5,2", "1e-30,1e30", "1e-3", "1,1,1", "0"],
    "anchor": ["1", "0.001", "1e30", "a=1", "a=1,b=2"],
    "network": [""],
    "cost-matrix": [""],
    "label-graph": [""],
}  # fmt: skip
COSTLY = {"max-passes": MOST_PASSES, "epochs": 20, "decision-folds": 4,
          "max-bans": 20, "hash-bits": 14, "min-document-frequency": 3, "min-feature-count": 3,
          "seed": 1 << 40, "max-paths": 10}  # fmt: skip


def power(draw: random.Random, widest: float = 6) -> str:
    """A number > 0, mostly of a usual size."""
    reach = draw.choice([1, 3, widest])
    return f"{10 ** draw.uniform(-reach, reach):.3g}"


def value_of(draw: random.Random, option: Option) -> str:
    if option.name in TEXTS:
        return draw.choice(TEXTS[option.name])
    if "|" in option.domain:
        return draw.choice([choice.strip() for choice in option.domain.split("|")])
    if "integer" in option.domain:
        low, *high = [int(number) for number in re.findall(r"\d+", option.domain)]
        return str(draw.randint(low, min(COSTLY.get(option.name, low + 10), *high, 1 << 62)))
    if option.name == "tolerance":
        return draw.choice(["0.1", "0.01", "0.001", "1e-5", "1e-9"])
    least = float((re.findall(r"[\d.]+", option.domain) or ["0"])[0])
    return draw.choice(["0", power(draw)]) if ">=" in option.domain and not least else (
        str(least + float(power(draw))) if least else power(draw, 12))  # fmt: skip


def drawn_options(
    draw: random.Random, tables: dict[str, list[Option]], method: str
) -> dict[str, str]:
    chosen = {}
    for option in tables[method]:
        if draw.random() < 0.2 and option.domain:
            chosen[option.name] = value_of(draw, option)
    if draw.random() < 0.3:
        chosen["scale"] = draw.choice(["none", "standard", "max-abs", "robust", "common"])
    if "max-passes" in {option.name for option in tables[method]}:
        chosen.setdefault("max-passes", str(draw.choice([20, MOST_PASSES])))
    if draw.random() < 0.05:
        chosen["calibration"] = draw.choice(["0.1", "0.5"])
    if draw.random() < 0.05:
        chosen["time-limit-seconds"] = "0.05"
    return {name: value for name, value in chosen.items() if value != ""}


# Data -------------------------------------------------------------------------------------------


class Columns:
    """Draws the numbers of a table: each column has a scale and a kind of its own."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        count = draw.choice([1, 2, 3, 3, 5, 8])
        one = draw.uniform(-30, 30)
        low, high = draw.choices([(0, 0), (one, one), (-30, 30), (-4, 6)], [50, 15, 15, 20])[0]
        self.scales = [10 ** draw.uniform(low, high) for _ in range(count)]
        self.kinds = [draw.choice("nnnnsci") for _ in range(count)]
        self.signal = draw.choice([0, 1, 3, 10])

    def row(self, label: int) -> dict[int, float]:
        cells = {}
        for j, (scale, kind) in enumerate(zip(self.scales, self.kinds, strict=True)):
            x = self.draw.gauss(self.signal * (label % len(self.scales) == j), 1) * scale
            if kind == "s" and self.draw.random() < 0.7:
                continue
            cells[j + 1] = {"c": scale, "i": float(label % 2), "n": x, "s": x}[kind]
        return {} if self.draw.random() < 0.03 else cells


def svm_line(labels: Sequence[str], cells: dict[int, float]) -> str:
    return (
        f"{','.join(labels)} {' '.join(f'{j}:{x:.6g}' for j, x in cells.items())}".rstrip() + "\n"
    )


def rows(draw: random.Random, labels: Sequence[str], most_rows: int, sets: bool) -> str:
    columns = Columns(draw)
    count = draw.choice([0, 1, 2, 5, 10, 20, most_rows])
    lines = []
    for i in range(count):
        own = draw.randrange(len(labels)) if draw.random() < 0.5 else i % len(labels)
        names = [labels[own]]
        if sets:
            names = sorted(draw.sample(list(labels), draw.randint(0, min(3, len(labels)))))
            own = labels.index(names[0]) if names else 0
        lines.append(svm_line(names, columns.row(own)))
        if draw.random() < 0.1:
            lines.append(lines[draw.randrange(len(lines))])
    return "".join(lines)


def hierarchy(draw: random.Random, labels: Sequence[str]) -> str:
    """A random tree or DAG above the labels, some of which may be inner nodes."""
    inner = [f"n{k}" for k in range(draw.randint(1, 4))]
    edges = [(inner[draw.randrange(k)], inner[k]) for k in range(1, len(inner))]
    for k, label in enumerate(labels):
        above = [*inner, *labels[:k]] if draw.random() < 0.2 else inner
        edges.append((draw.choice(above), label))
        if draw.random() < 0.25:
            edges.append((draw.choice(inner), label))
    edges += [(node, f"x{node}") for node in inner if draw.random() < 0.1]
    return "".join(f"{a} {b}\n" for a, b in dict.fromkeys(edges))


def documents(draw: random.Random, labels: Sequence[str]) -> str:
    lines = []
    for i in range(draw.choice([0, 1, 5, 20])):
        words = [
            draw.choice(["x", "Y", "é", "zz", "w1", "w2", "w3"]) for _ in range(draw.randint(0, 6))
        ]
        lines.append(f"{labels[i % len(labels)]}\t{' '.join(words)}\n")
    return "".join(lines)


def table(draw: random.Random, labels: Sequence[str]) -> str:
    lines = ["t,n,c,l\n"]
    for i in range(draw.choice([0, 1, 5, 20])):
        number = draw.choice(["", "1", f"{draw.gauss(0, 10 ** draw.uniform(-30, 30)):.5g}"])
        lines.append(f'"{draw.choice(["red apple", "sky, blue", ""])}",{number},'
                     f"{draw.choice('uvw')},{labels[i % len(labels)]}\n")  # fmt: skip
    return "".join(lines)


def tagged(draw: random.Random) -> str:
    blocks = []
    tags = draw.choice([["O", "B-x", "I-x"], ["N", "V"], ["O"], ["A", "B", "C", "D"]])
    for _ in range(draw.choice([0, 1, 3, 8])):
        words = [draw.choice("abc") for _ in range(draw.randint(1, 4))]
        blocks.append("".join(f"{word} {draw.choice(tags)}\n" for word in words))
    return "\n".join(blocks)


def parsed(draw: random.Random) -> str:
    """Left- and right-branching trees."""
    blocks = []
    for _ in range(draw.choice([0, 1, 3, 6])):
        size = draw.randint(1, 4)
        is_left = draw.random() < 0.5
        lines = []
        for k in range(1, size + 1):
            head = (k + 1 if k < size else 0) if is_left else k - 1
            form, tag = draw.choice(["x", "y", "zebra"]), draw.choice("NV")
            relation = draw.choice(["dep", "obj"])
            cells = [str(k), form, form, tag, "_", "_", str(head), relation, "_", "_"]
            lines.append("\t".join(cells))
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


# Cases ------------------------------------------------------------------------------------------

Files = dict[str, str]


def structured_data(draw: random.Random, case: Case, labels: Sequence[str]) -> None:
    model = draw.choice(["chain", "multilabel-field", "hierarchy", "dependency"])
    case.options["model"] = model
    makers: dict[str, Callable[[], str]] = {
        "chain": lambda: tagged(draw),
        "dependency": lambda: parsed(draw),
        "multilabel-field": lambda: rows(draw, labels, 12, sets=True),
        "hierarchy": lambda: rows(draw, labels, 12, sets=True),
    }
    case.files["train"] = makers[model]()
    case.is_rows = model in ("multilabel-field", "hierarchy")
    if model == "dependency":
        case.options.setdefault("hash-bits", "12")
    if model == "hierarchy":
        case.files["hierarchy"] = hierarchy(draw, labels)
        case.arguments += ["--hierarchy", "hierarchy"]


def row_data(draw: random.Random, case: Case, method: Method, labels: Sequence[str]) -> None:
    sets = method.label_sets and draw.random() < 0.35
    form = draw.random()
    if method.has_network or form < 0.85:
        case.files["train"] = rows(draw, labels, 25, sets)
        if draw.random() < 0.1:
            case.arguments += [draw.choice(["--tfidf", "--normalize"])]
            case.options.pop("scale", None)
    elif form < 0.93:
        case.files["train"], case.is_rows = documents(draw, labels), False
        case.arguments += ["--text"]
    else:
        case.data, case.is_rows = "train.csv", False
        case.files["train.csv"] = table(draw, labels)
        case.arguments += ["--text-column", "t", "--numeric-columns", "n"]
        case.arguments += ["--categorical-columns", "c", "--label-column", "l"]
    if "label-graph" in method.options and draw.random() < 0.3:
        case.files["pairs"] = "".join(
            f"{labels[k]} {labels[k - 1]}\n" for k in range(1, len(labels)) if draw.random() < 0.8
        )
        case.options["label-graph"] = "pairs"
        case.options.setdefault("anchor", draw.choice(["0.1", "1", "10"]))
    elif method.takes_hierarchy or draw.random() < 0.1:
        case.options.pop("anchor", None)
        case.files["hierarchy"] = hierarchy(draw, labels)
        case.arguments += ["--hierarchy", "hierarchy"]


def drawn_case(seed: str, tables: dict[str, list[Option]], methods: Sequence[Method]) -> Case:
    """The same for the same seed."""
    draw = random.Random(seed)
    method = draw.choice(methods)
    case = Case(seed, method.name, ["--method", method.name], {})
    case.options = drawn_options(draw, tables, method.name)
    labels = LABELS[: draw.choice([1, 2, 3, 4, 6])]
    if method.takes_rows:
        row_data(draw, case, method, labels)
    else:
        structured_data(draw, case, labels)
    for name, value in case.options.items():
        case.arguments += [f"--{name}={value}"]
    return case


def permuted(case: Case, what: str, seed: str) -> Case:
    """The same problem with other order of rows, columns or labels."""
    draw = random.Random(seed)
    lines = case.files[case.data].splitlines(keepends=True)
    files = dict(case.files)
    if what == "rows":
        draw.shuffle(lines)
    elif what == "columns":
        order = list(range(1, 9))
        draw.shuffle(order)
        lines = [moved_columns(line, order) for line in lines]
    else:
        names = dict(zip(LABELS, draw.sample(LABELS, len(LABELS)), strict=True))
        for k, line in enumerate(lines):
            if not line.strip("\n"):
                continue  # not a row
            labels, _, cells = line.strip("\n").partition(" ")
            renamed = sorted(names[label] for label in labels.split(",") if label)
            lines[k] = f"{','.join(renamed)} {cells}\n"
        for name in ("hierarchy", "pairs"):
            if name in files:
                files[name] = "".join(
                    " ".join(names.get(node, node) for node in line.split()) + "\n"
                    for line in files[name].splitlines()
                )
    files[case.data] = "".join(lines)
    return Case(case.name, case.method, case.arguments, files, case.data, True, case.options)


def moved_columns(line: str, order: Sequence[int]) -> str:
    first, _, rest = line.strip("\n").partition(" ")
    cells = {order[int(j) - 1]: x for j, x in (cell.split(":") for cell in rest.split())}
    return f"{first} {' '.join(f'{j}:{cells[j]}' for j in sorted(cells))}".rstrip() + "\n"
