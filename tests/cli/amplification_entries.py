"""The worst inputs of every kind that the program reads, and what they cost.

One list, ENTRIES, for tests/cli/test_amplification.py, which holds the program to the bounds, and
bench/amplification.py, which prints the table. Each entry makes its input at a size in bytes and
says how the program ends with it.
"""

import gzip
import itertools
import json
import os
import resource
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from counted_clock import LIBRARY, LONG, STEP_SECONDS
from test_serve import Server

MEGABYTE = 1_000_000
MOST_TIMES = 100  # bytes of memory for each byte in
FREE_BYTES = 20 * MEGABYTE  # beside that, whatever the input is
ADDRESS_SPACE = 4_000 * MEGABYTE  # of a run, so that a fault does not take the machine's memory
CPU_SECONDS = 30  # of a run, so that a fault does not take the machine's time


class Entry(NamedTuple):
    """An input of a kind, and the run that reads it."""

    name: str
    make: Callable[[int], Iterable[str] | bytes]  # texts of about so many bytes together
    arguments: list[str]  # of the program; the input is the file `file`
    says: str = ""  # a regular expression of the error; empty: there is none
    file: str = "input"
    size: int = MEGABYTE
    counts: bool = True  # whether the work is counted where there is a counted clock
    code: int = 3  # with an error
    limited: bool = True  # whether the run has MOST_TIMES the bytes as --memory-limit


class Cost(NamedTuple):
    size: int  # bytes in
    code: int
    err: str
    memory: int  # largest resident memory, in bytes
    cpu: float
    questions: int | None  # for the time; None: not counted


def numbered(pattern: str) -> Callable[[int], Iterable[str]]:
    """The pattern with 0, 1, 2, ... for each {k}."""

    def make(size: int) -> Iterable[str]:
        left = size
        for k in itertools.count():
            text = pattern.replace("{k}", str(k)).replace("{j}", str(k + 1))
            yield text
            left -= len(text)
            if left <= 0:
                return

    return make


def repeated(text: str) -> Callable[[int], Iterable[str]]:
    """The text again and again."""
    return lambda size: itertools.repeat(text, max(1, size // len(text.encode())))


def within(
    before: str, inner: Callable[[int], Iterable[str]], after: str
) -> Callable[[int], Iterable[str]]:
    """The inner text between two others."""
    return lambda size: itertools.chain([before], inner(size), [after])


def packed(text: str) -> Callable[[int], bytes]:
    """A gzip file of the text, again and again. It grows with its text, by a thousandth of it."""

    def make(size: int) -> bytes:
        block = gzip.compress((text * (10 * MEGABYTE // len(text))).encode())
        return block * max(1, size // len(block))

    return make


def tensors(size: int) -> bytes:
    """A model file whose header names many empty tensors."""
    entry = '{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    names = (f'"t{k}":{entry}' for k in range(size // (len(entry) + 10)))
    header = ("{" + ",".join(names) + "}").encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header


def nested_header(size: int) -> bytes:
    header = b'{"a":' + b"[" * (size - 5 - size % 8)
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header


def metadata(size: int) -> bytes:
    pairs = {f"k{k}": "" for k in range(size // 14)}
    header = json.dumps({"__metadata__": pairs}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header


def array(size: int) -> bytes:
    """An array of NumPy with a row for each of the six texts: ones of 16 bits."""
    return numpy_file(f"(6, {size // 12})", b"\x00\x3c" * (size // 12 * 6))


def numpy_file(shape: str, numbers: bytes = b"") -> bytes:
    header = f"{{'descr': '<f2', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header)) + header + numbers


def paths(separator: str) -> Callable[[int], Iterable[str]]:
    """Paths as deep as an id may be long, each below a root of its own."""

    def make(size: int) -> Iterable[str]:
        for k in range(size // 1010 + 1):
            yield "1," + separator.join([f"{k:06}"] + ["a"] * (1000 // (len(separator) + 1))) + "\n"

    return make


def codes(size: int) -> Iterable[str]:
    """Codes of as many levels as a label may have bytes."""
    for k in range(size // 1010 + 2):
        yield f"{k:06}" + ".1" * 500 + " 1:1\n"


def ontology(line: str) -> Callable[[int], Iterable[str]]:
    """OBO with one term that has the line again and again, with numbers, and one other."""
    head = "format-version: 1.2\n[Term]\nid: a\n\n[Term]\nid: b\nis_a: a\n"
    return within(head, numbered(line), "")


TURTLE = "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n"
CONCEPTS = "<http://x/a> a s:Concept . <http://x/b> a s:Concept ; s:broader <http://x/a> .\n"


def prefixes(size: int) -> Iterable[str]:
    """Half of the bytes are a prefix, which the other half uses."""
    yield TURTLE + f"@prefix p: <http://x/{'y' * 1000}> .\n"
    yield from numbered("p:{j} a s:Concept ; s:broader p:{k} .\n")(size)


def bases(size: int) -> Iterable[str]:
    yield TURTLE + "@base <http://x/" + "y/" * 480 + "> .\n" + CONCEPTS
    yield from repeated("<../../z> a s:Concept .\n")(size)


RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:s="http://www.w3.org/2004/02/skos/core#">\n'
)
RDF_CONCEPT = (
    '<s:Concept rdf:about="http://x/{j}"><s:broader rdf:resource="http://x/{k}"/></s:Concept>\n'
)
SHORT_CONCEPT = '<s:Concept rdf:about="{j}"><s:broader rdf:resource="{k}"/></s:Concept>\n'


def based(size: int) -> Iterable[str]:
    """A base for all other elements."""
    yield RDF.replace("<rdf:RDF", f'<rdf:RDF xml:base="http://x/{"y/" * 490}"')
    yield from numbered(SHORT_CONCEPT)(size)
    yield "</rdf:RDF>\n"


TAXONOMY_TRIPLE = (
    "<http://x/{j}> <http://www.w3.org/2004/02/skos/core#broader> <http://x/{k}> .\n"
    "<http://x/{j}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "
    "<http://www.w3.org/2004/02/skos/core#Concept> .\n"
)

TRAIN = ["train", "--quiet", "--method", "flat-svm", "--max-passes", "1"]
VECTORS = ["--text", "--vector-file", "input"]
TREE = ["train", "--quiet", "--method", "hsvm", "--max-passes", "1", "--unknown-labels", "drop"]
STRUCTURED = ["train", "--quiet", "--method", "structured", "--max-passes", "1", "--model"]
CHAIN = [*STRUCTURED, "chain"]
PARSE = [*STRUCTURED, "dependency", "--hash-bits", "10"]
NETWORK = ["train", "--quiet", "--method", "average-mkl", "--network", "input", "rows", "/dev/null"]
READ = ["compare", "input", "labels", "labels"]  # only reads the rows: their number is wrong
ROWS = ["input", "/dev/null"]
LABEL = ["--label-column", "l"]
PATHS = ["--path-column", "p", "--numeric-columns", "x"]
TEXT = [*LABEL, "--text-column", "t"]
TAKEN = "reading has taken .* of memory, but must not take more"
NONE = "no row has a label"  # after reading: the hierarchy lacks the labels of the rows


def in_hierarchy(name: str, make: Callable[[int], Iterable[str] | bytes], **more: object) -> Entry:
    """A hierarchy beside two rows, whose labels it has or lacks."""
    arguments = [*TREE, "--hierarchy", str(more.get("file", "input")), "rows", "/dev/null"]
    return Entry(f"hierarchy: {name}", make, arguments, **more)  # type: ignore[arg-type]


ENTRIES = [
    Entry("svmlight: many short rows", repeated("a 1:1\nb 2:1\n"), [*TRAIN, *ROWS]),
    Entry("svmlight: one long row", within("b 1:1\na", numbered(" {j}:1"), "\n"), [*TRAIN, *ROWS]),
    Entry("svmlight: an index for each row", numbered("a {j}000:1\nb {j}001:1\n"), [*TRAIN, *ROWS]),
    Entry("svmlight: many labels in a row", within("b 1:1\n", numbered("{k},"), "z 1:1\n"),
          [*TRAIN, *ROWS]),
    Entry("svmlight: a label for each row", numbered("{k} 1:1\n"), READ,
          "must have .* like input", limited=False, counts=False),
    Entry("svmlight: empty lines", within("a 1:1\nb 2:1\n", repeated("\n"), ""), [*TRAIN, *ROWS]),
    Entry("svmlight: rows of a blank", within("a 1:1\nb 2:1\n", repeated(" \n"), ""),
          [*TRAIN, *ROWS]),
    Entry("svmlight: one comment", within("a 1:1\nb 2:1\n#", repeated("#"), "\n"), [*TRAIN, *ROWS]),
    Entry("svmlight: a header of wide rows",
          lambda size: [f"{size // 6} 2147483647 2147483647\n", *repeated("0 0:1\n")(size)],
          [*TRAIN, *ROWS]),
    Entry("svmlight: gzip of short rows", packed("a 1:1\nb 2:1\n"), [*TRAIN, *ROWS], size=100_000,
          says=TAKEN),
    Entry("svmlight: gzip of empty lines", packed("\n"), [*TRAIN, *ROWS], size=100_000,
          says="the file has no rows"),
    Entry("csv: many columns",
          lambda size: [*(f"c{k}," for k in range(size // 10)), "l\n",
                        *["1," * (size // 10), "a\n"],
                        *["2," * (size // 10), "b\n"]],
          [*TRAIN, *LABEL, "--numeric-columns", "*", *ROWS]),
    Entry("csv: empty cells", within("l,x,y,z,u,v,w\na,1,1,1,1,1,1\nb,2,2,2,2,2,2\n",
                                     repeated("a,,,,,,\n"), ""),
          [*TRAIN, *LABEL, "--numeric-columns", "*", *ROWS]),
    Entry("csv: a category for each row", numbered("{k},a\n"),
          [*TRAIN, "--label-column", "a", "--categorical-columns", "0", "--format", "csv", *ROWS]),
    Entry("csv: one quoted cell", within('l,t\nb,x\na,"', repeated("\n"), '"\n'),
          [*TRAIN, *TEXT, "--format", "csv", *ROWS]),
    Entry("csv: a quote that does not end", within('l,t\nb,x\na,"', repeated("\n"), ""),
          [*TRAIN, *TEXT, "--format", "csv", *ROWS],
          says="the quoted cell has no closing quote"),
    Entry("csv: words of a text", within("l,t\nb,x\na,", numbered("{k} "), "\n"),
          [*TRAIN, *TEXT, "--format", "csv", *ROWS]),
    Entry("csv: a text that counts 100 times", within("l,t\nb,x\na,", numbered("{k} "), "\n"),
          [*TRAIN, *TEXT, "--text-weights", "t=100", "--format", "csv", *ROWS],
          size=200_000, says=TAKEN),
    Entry("csv: deep paths", within("x,p\n", paths(" > "), ""), [*TRAIN, *PATHS, *ROWS],
          size=200_000, says=TAKEN),
    Entry("csv: deep paths, one byte between", within("x,p\n", paths("/"), ""),
          [*TRAIN, *PATHS, "--separator", "/", *ROWS],
          size=100_000, says=TAKEN),
    Entry("json lines: short records", repeated('{"l":"a","t":"x"}\n{"l":"b","t":"y"}\n'),
          [*TRAIN, *TEXT, *ROWS]),
    Entry("json lines: a key for each record", numbered('{"l":"a{k}","k{k}":1}\n'),
          [*TRAIN, *LABEL, "--numeric-columns", "*", *ROWS],
          size=500_000, says=TAKEN),
    Entry("json lines: keys of one record",
          within('{"l":"b","t":"y"}\n{"l":"a","t":"x"', numbered(',"{k}":0'), "}\n"),
          [*TRAIN, *TEXT, *ROWS]),
    Entry("json lines: empty lists",
          within('{"l":"b","t":"y"}\n{"l":"a","t":"x","u":[0', repeated(",[]"), "]}\n"),
          [*TRAIN, *TEXT, *ROWS]),
    Entry("json lines: deep",
          within('{"l":"b","t":"y"}\n{"l":"a","t":"x","u":', repeated("["), "}\n"),
          [*TRAIN, *TEXT, *ROWS], "nested|not JSON"),
    Entry("documents: a word for each", numbered("a\t{k}\n"), [*TRAIN, "--text", *ROWS]),
    Entry("documents: one long word", within("b\tx\na\t", repeated("xyz"), "\n"),
          [*TRAIN, "--text", *ROWS]),
    Entry("documents: parts of a long word", within("b\tx\na\t", numbered("{k}x"), "\n"),
          [*TRAIN, "--text", "--char-ngrams", "3-5", *ROWS]),
    Entry("documents: runs of words", within("b\tx\na\t", numbered("{k} "), "\n"),
          [*TRAIN, "--text", "--word-ngrams", "1-3", *ROWS]),
    Entry("documents: marks", within("b\tx\na\te", repeated("\N{COMBINING ACUTE ACCENT}"), "\n"),
          [*TRAIN, "--text", *ROWS]),
    Entry("annif: subjects of one text",
          within("b\t<http://x/b>\na\t<http://x/a>", numbered(" <{k}>"), "\n"),
          [*TRAIN, "--text", *ROWS]),
    Entry("vectors: wide rows", array, [*TRAIN, *VECTORS, "texts", "/dev/null"]),
    Entry("vectors: a long header", lambda size: numpy_file("(" + "1," * (size // 2) + ")"),
          [*TRAIN, *VECTORS, "texts", "/dev/null"], "the header has .* bytes"),
    Entry("vectors: rows that are not there", lambda size: numpy_file("(6, 99999999)", bytes(size)),
          [*TRAIN, *VECTORS, "texts", "/dev/null"], "but its numbers take"),
    Entry("conll: one sentence", repeated("a A\nb B\n"), [*CHAIN, *ROWS]),
    Entry("conll: sentences of a word", repeated("a A\n\nb B\n\n"), [*CHAIN, *ROWS]),
    Entry("conll: a tag for each word", numbered("a {k}\n\n"), [*CHAIN, *ROWS],
          says="training would take about"),
    Entry("conll: columns of one word", within("", repeated("a "), "A\n"), [*CHAIN, *ROWS],
          says="training would take about"),
    Entry("conllu: sentences of a word", repeated("1\ta\t_\tN\t_\t_\t0\tr\t_\t_\n\n"),
          [*PARSE, "input.conllu", "/dev/null"], file="input.conllu"),
    Entry("class weights: empty lines", within("a 1\n", repeated("\n"), ""),
          [*TRAIN, "--class-weight", "input", "rows", "/dev/null"]),
    Entry("stop words: many", numbered("x{k}\n"),
          [*TRAIN, "--text", "--stop-words", "input", "texts", "/dev/null"]),
    Entry("label graph: empty lines", within("a b\n", repeated("\n"), ""),
          ["train", "--quiet", "--method", "hr-svm", "--label-graph", "input", "rows",
           "/dev/null"]),
    Entry("cost matrix: many columns", within("x", numbered(",{k}"), "\n"),
          ["train", "--quiet", "--method", "hsvm", "--hierarchy", "tree", "--cost-matrix", "input",
           "rows", "/dev/null"],
          says="label is '0', but must be one of"),
    *(Entry(f"names of labels: {name}", make,
            [*TRAIN, "--label-names", file, "rows", "/dev/null"], file=file)
      for name, file, make in [
          ("a label on each line", "input", within("a\tA\n", numbered("{k}\t1\n"), "")),
          ("names of one label", "input", within("a", repeated("\tb"), "\n")),
          ("lines of one label", "input", repeated("a\tb\n")),
          ("CSV", "input.csv", within("a,A\n", numbered("{k},1\n"), "")),
          ("CSV, one quoted cell", "input.csv", within('a,"', repeated("b\n"), '"\n'))]),
    in_hierarchy("a chain", numbered("{k} {j}\n"), says=NONE),
    in_hierarchy("a star", numbered("a {k}\n")),
    in_hierarchy("empty lines", within("r a\nr b\n", repeated("\n"), "")),
    in_hierarchy("gzip of empty lines", packed("\n"), size=100_000, says="the file has no edge"),
    in_hierarchy("a list of paths", numbered("{k} > a > b > c\n"), says=NONE),
    in_hierarchy("one deep path", within("a", repeated(" > a"), "\n"),
          says="label has .* bytes, but must have at most 1024"),
    in_hierarchy("deep paths", lambda size: (line[2:] for line in paths(" > ")(size)),
          size=200_000, says=TAKEN),
    in_hierarchy("taxonomy", within("Root", numbered("\t{k}"), "\n"), file="input.taxonomy",
          says="the file has no edge"),
    in_hierarchy("OBO, alternative ids", ontology("alt_id: {k}\n")),
    in_hierarchy("OBO, short terms", ontology("[Term]\nid:{k}\n")),
    in_hierarchy("OBO, parents of no term", ontology("is_a: {k}\n")),
    in_hierarchy("Turtle, a long prefix", prefixes, says=NONE),
    in_hierarchy("Turtle, a long base", bases, says=NONE),
    in_hierarchy("Turtle, blank nodes", within(TURTLE + CONCEPTS, repeated("[] s:b [] .\n"), ""),
                 says=NONE),
    in_hierarchy("Turtle, deep", within(TURTLE + CONCEPTS + "<http://x/b> s:b ", repeated("[s:b "),
                                        ""),
          says="nested more than 100 deep"),
    in_hierarchy("Turtle, a list", within(TURTLE + CONCEPTS + "<http://x/b> s:b (",
                                          repeated("0 "), ") .\n"), says=NONE),
    in_hierarchy("Turtle, labels of a concept",
                 within(TURTLE + CONCEPTS + "<http://x/b> s:prefLabel ",
                        numbered('"{k}",'), '"" .\n'), says=NONE),
    in_hierarchy("N-Triples, a chain", numbered(TAXONOMY_TRIPLE), says=NONE),
    in_hierarchy("RDF/XML, a chain", within(RDF, numbered(RDF_CONCEPT), "</rdf:RDF>\n"), says=NONE),
    in_hierarchy("RDF/XML, a long base", based, says=NONE),
    in_hierarchy("RDF/XML, deep", within(RDF, repeated("<s:a>"), "</rdf:RDF>\n"),
          says="nested more than 200 deep"),
    in_hierarchy("RDF/XML, namespaces",
                 within(RDF, repeated('<s:Concept xmlns:a="b"/>\n'), "</rdf:RDF>\n"),
          says="the file has no skos:Concept"),
    in_hierarchy("RDF/XML, attributes of one element",
                 within(RDF + "<s:Concept", numbered(' a{k}="x"'), "/></rdf:RDF>\n"),
          says="has no namespace"),
    Entry("codes: deep", codes, [*TREE[:6], "--hierarchy-from", "codes", *ROWS]),
    Entry("annotations: GAF", within("!gaf-version: 2.2\n", numbered(
              "D\to{k}\ts\t\tGO:1\tR\tI\t\tF\t\t\tgene\tt\t2\tD\n"), ""),
          [*TREE, "--hierarchy", "go.obo", "--annotations", "input", "rows", "/dev/null"],
          says="no row has an id with annotations"),
    Entry("network: many kernels", within('{"shape":"one-layer","kernels":{"a":{"type":"linear"}',
              numbered(',"{k}":{"type":"linear"}'), "}}"), NETWORK,
          size=500_000),
    Entry("network: many widths of one kernel",
          within('{"shape":"one-layer","kernels":{"a":{"type":"gaussian","widths":[1',
                 repeated(",1"), "]}}}"), NETWORK, size=200_100,
          says="stands for more than 100000|must not take more"),
    Entry("network: a column again and again",
          within('{"shape":"one-layer","kernels":{"a":{"type":"gaussian","columns":"1',
                 repeated(",1"), '"}}}'), NETWORK,
          says="overlap"),
    Entry("network: a long name of many kernels",
          lambda size: ['{"shape":"one-layer","kernels":{"', "a" * (size // 2),
                        '":{"type":"gaussian","widths":[1', *[",1"] * (size // 4), "]}}}"],
          NETWORK, size=50_000,
          says="more than 8388608 bytes"),
    Entry("network: many ranges of many kernels",
          lambda size: ['{"shape":"one-layer","kernels":{"a":{"type":"gaussian","columns":"1',
                        *[f",{k}" for k in range(3, size // 6, 2)],
                        '","widths":[1', *[",1"] * (size // 4), "]}}}"],
          NETWORK, size=50_000,
          says="more than 8388608 bytes"),
    Entry("network: a family in many sums",
          lambda size: ['{"kernels":{"a":{"type":"gaussian","widths":[1', *[",1"] * (size // 4),
                        ']}},"root":{"sum":[', ",".join(['{"sum":["a"]}'] * (size // 28)), "]}}"],
          NETWORK, size=50_000,
          says="more than 100000 children"),
    Entry("network: widths times degrees of many kernels",
          lambda size: ['{"shape":"one-layer","kernels":{', ",".join(
              f'"{k}":{{"type":"polynomial","widths":[{"1," * 99}1],"degrees":[{"2," * 63}2]}}'
              for k in range(size // 400)), "}}"],
          NETWORK, size=50_000,
          says="more than 100000 kernels"),
    Entry("precomputed kernel: one line", repeated("1 "),
          [*NETWORK[:4], "--network", "table.json", "rows", "/dev/null"], says="must be square"),
    Entry("precomputed kernel: many lines", repeated("1\n"),
          [*NETWORK[:4], "--network", "table.json", "rows", "/dev/null"], says="must be square"),
    Entry("network: deep", repeated("["), NETWORK,
          says="nested more than 500 deep"),
    Entry("predictions: empty lines", repeated("\n"), ["compare", "rows", "input", "labels"],
          limited=False, counts=False,
          says="must have 6 like"),
    Entry("predictions: labels of one line", within("", numbered("{k},"), "a\n"),
          ["compare", "rows", "input", "labels"], limited=False, counts=False,
          says="must have 6 like"),
    Entry("model: many tensors", tensors, ["info", "input"], code=4, limited=False, counts=False,
          says="not a model of Margrove"),
    Entry("model: a deep header", nested_header, ["info", "input"], code=4, limited=False,
          counts=False,
          says="holds a list"),
    Entry("model: much metadata", metadata, ["info", "input"], code=4, limited=False, counts=False,
          says="not a model of Margrove"),
    Entry("model: the length of a header alone", lambda _: struct.pack("<Q", 99_999_999),
          ["info", "input"], code=4, limited=False, counts=False,
          says="length is 99999999"),
    Entry("LIBLINEAR: a large head", within(
              "solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2000000000\n"
              "bias -1\nw\n", repeated("1 \n"), ""),
          ["import", "input", "/dev/null"], limited=False, counts=False, code=4,
          says="the file ends after"),
    Entry("LIBLINEAR: zero weights", lambda size: itertools.chain(
              ["solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\n"
               f"nr_feature {size // 3}\nbias -1\nw\n"], itertools.repeat("0 \n", size // 3)),
          ["import", "input", "/dev/null"], limited=False, counts=False),
    Entry("shard: a file that is none", tensors, ["train-shard", "--quiet", "folder", "0"],
          file="folder/data.safetensors", code=4, limited=False, counts=False,
          says="data.safetensors: "),
]  # fmt: skip


class Request(NamedTuple):
    """A body that the server answers; `status` is that of the answer."""

    name: str
    make: Callable[[int], Iterable[str]]
    status: int = 200
    kind: str = "application/json"


LINES = "application/x-ndjson"
OPTIONS = '{"top":50,"scores":true,"show":"path",'
REQUESTS = [
    Request("empty rows", within('{"rows":[""', repeated(',""'), "]}")),
    Request("rows of a word", within(OPTIONS + '"rows":[""', repeated(',"w1"'), "]}"), 413),
    Request("one row", within('{"row":"', numbered("{k} "), '"}')),
    Request("rows of many words", within('{"rows":["a"', numbered(',"' + "{k} " * 20 + '"'), "]}")),
    Request("deep", within('{"row":', repeated("["), "}"), 400),
    Request("keys", within('{"row":"a"', numbered(',"{k}":0'), "}"), 400),
    Request("blanks", within('{"row":"a"', repeated(" "), "}")),
    Request("a stream of short lines", repeated('"w1"\n'), kind=LINES),
    Request("a stream of empty lines", within('"w1"\n', repeated("\n"), ""), kind=LINES),
    Request("a stream of one line", within('"', numbered("{k} "), '"\n'), kind=LINES),
]

FIXED = {
    "many": "".join(f"{'ab'[k % 2]}{k % 50}\tw{k}\n" for k in range(200)),
    "rows": "a 1:1 2:1\nb 2:1 3:1\n" * 3,
    "labels": "a\nb\n" * 3,
    "texts": "a\tcat\nb\tdog\n" * 3,
    "tree": "r a\nr b\n",
    "table.json": '{"shape":"one-layer","kernels":{"k":{"type":"precomputed","file":"input",'
    '"columns":"1"}}}',
    "go.obo": "[Term]\nid: GO:1\n\n[Term]\nid: GO:2\nis_a: GO:1\n",
}


def prepare(folder: Path) -> None:
    """Writes what the runs read beside their inputs."""
    for name, text in FIXED.items():
        (folder / name).write_text(text)
    (folder / "folder").mkdir()


def write_input(entry: Entry, folder: Path, size: int) -> int:
    """Writes the entry's input; returns its bytes."""
    path = folder / entry.file
    made = entry.make(size)
    if isinstance(made, bytes):
        path.write_bytes(made)
    else:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(made)
    return path.stat().st_size


def bound() -> None:
    """What a run may take at most, far beyond what it should."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if not os.environ.get("MARGROVE_SANITIZED"):
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def run(program: str, arguments: list[str], folder: Path, *, counted: bool) -> Cost:
    """Runs the program in the folder and waits for it."""
    environment = dict(os.environ)
    calls = folder / "calls"
    if counted and LIBRARY:
        environment |= {
            "LD_PRELOAD": LIBRARY,
            "COUNTED_CLOCK": str(round(STEP_SECONDS * 1e6)),
            "COUNTED_CLOCK_CALLS": str(calls),
        }
    with (folder / "err").open("w+") as err:
        running = subprocess.Popen(
            [program, *arguments], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
            stderr=err,
            preexec_fn=bound,  # noqa: PLW1509 - there are no threads
        )  # fmt: skip
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        said = err.read(10_000)
    questions = int.from_bytes(calls.read_bytes(), sys.byteorder) if counted and LIBRARY else None
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(0, running.returncode, said, usage.ru_maxrss * 1024, cpu, questions)


def cost(program: str, entry: Entry, folder: Path, size: int, *, counted: bool) -> Cost:
    """What the program takes for the entry's input at a size."""
    written = write_input(entry, folder, size)
    options = []
    if entry.limited:
        options = ["--threads", "1", "--memory-limit", str(MOST_TIMES * written / 1e9)]
        if counted:
            options += ["--time-limit-seconds", str(LONG)]
    done = run(program, [*entry.arguments, *options], folder, counted=counted and entry.counts)
    return done._replace(size=written)


def trivial(program: str, folder: Path) -> Cost:
    """A run on a few rows, whose memory is that of the program itself."""
    return run(program, [*TRAIN, "rows", "/dev/null"], folder, counted=False)


def train_server_model(program: str, folder: Path) -> None:
    """Writes the model of the requests."""
    done = run(program, [*TRAIN, "--text", "many", "model"], folder, counted=False)
    if done.code != 0:
        raise AssertionError(done.err)


def answer_cost(request: Request, folder: Path, size: int) -> Cost:
    """What a server, which is test_serve's program, takes for a body; `code` is the status."""
    server = Server("--threads", "1", "model", cwd=str(folder))
    process = Path(f"/proc/{server.process.pid}")

    def largest_memory() -> int:
        lines = (process / "status").read_text().splitlines()
        return 1024 * next(int(x.split()[1]) for x in lines if x.startswith("VmHWM:"))

    def cpu() -> float:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    try:
        body = "".join(request.make(size))
        memory, seconds = largest_memory(), cpu()
        kind = {"Content-Type": request.kind}
        status, answer = server.ask("POST", "/predict", body.encode(), kind)
        return Cost(len(body.encode()), status, str(answer)[:300], largest_memory() - memory,
                    cpu() - seconds, None)  # fmt: skip
    finally:
        server.stop()
