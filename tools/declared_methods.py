"""The methods of the program with what they can do, as `train --options-reference` declares them.

Tests and tools that say "every method" take their lists from here.
"""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NO_EMPTY_SETS = "no rows without a label"


@dataclass(frozen=True)
class Option:
    name: str
    domain: str


@dataclass(frozen=True)
class Method:
    name: str
    options: frozenset[str]
    takes_hierarchy: bool  # needs one, or something in place of it
    takes_rows: bool  # whether its examples can be rows alone
    label_sets: bool
    row_weights: bool
    empty_sets: bool  # whether it takes rows without a label
    no_empty_sets_with: tuple[tuple[str, ...], ...]  # though not with these options

    @property
    def has_kernels(self) -> bool:
        return "widths" in self.options

    @property
    def has_network(self) -> bool:
        return "network" in self.options


def reference(program: str | Path) -> str:
    return subprocess.run(
        [program, "train", "--options-reference"], capture_output=True, text=True, check=True
    ).stdout


def sections(page: str) -> Mapping[str, str]:
    """The text of each section by its title."""
    _, *parts = re.split(r"(?m)^## ", page)
    return {title.strip(): text for title, _, text in (part.partition("\n") for part in parts)}


def options_of(section: str) -> list[Option]:
    found = re.finditer(r"(?m)^\| `--([^`]*)` \| ((?:\\\||[^|])*) \|", section)
    return [Option(each[1], each[2].replace("\\|", "|")) for each in found]


def option_tables(program: str | Path) -> dict[str, list[Option]]:
    """The options of each method, and of the sections after them."""
    return {title: options_of(text) for title, text in sections(reference(program)).items()}


def declared_methods(program: str | Path) -> list[Method]:
    """In the order of the program."""
    methods = []
    for title, text in sections(reference(program)).items():
        if " " in title or title == "Run":  # not of a method
            continue
        limits = re.search(r"(?m)^Limits: (.*)\.$", text)
        parts = limits[1].split("; ") if limits else []
        methods.append(
            Method(
                title,
                frozenset(option.name for option in options_of(text)),
                "needs `--hierarchy`" in text,
                "examples in files of their own format" not in parts,
                "one label per row" not in parts,
                "no weights of rows" not in parts,
                not {"one label per row", NO_EMPTY_SETS} & set(parts),
                tuple(
                    tuple(options.split())
                    for part in parts
                    if part.startswith(f"{NO_EMPTY_SETS} with ")
                    for options in re.findall("`([^`]*)`", part)
                ),
            )
        )
    return methods
