"""Models of every kind that earlier versions wrote keep loading and predicting the same, and
folders of shards that they left unfinished keep being continued.

Run and configured like test_cli.py, whose helpers it uses. MARGROVE_UPDATE_GOLDEN=1 trains and
keeps those that are missing; none that is there is ever changed. Scores are compared to 1e-5, since
machines round differently, and everything else exactly.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import random
import shutil
import unittest
from dataclasses import dataclass
from pathlib import Path

from test_cli import ROOT, UPDATE, CliTest

FOLDER = ROOT / "tests" / "golden" / "models"
SHARDS = ROOT / "tests" / "golden" / "shards"
SCORES = "--top 2 --scores"


@dataclass(frozen=True)
class Golden:
    """train's arguments, and what is predicted of which rows."""

    train: str
    rows: str
    predict: str = SCORES
    views: str = ""
    compress: str = ""  # compress's arguments, if the model is compressed


MODELS = {
    "v1-nhsvm": Golden("--method nhsvm --hierarchy tree train", "test"),
    "v1-multilabel-text": Golden("--method flat-svm --text --C 10 texts", "texts"),
    "v1-counts": Golden("--method flat-lr --tfidf counts", "counts"),
    "v1-top-down": Golden("--method top-down-svm --hierarchy tree --beam 2 train", "short"),
    "v1-label-trees": Golden("--method label-trees --max-leaves 2 train", "short"),
    "v1-levels": Golden("--method level-svm --multiclass ovr --hierarchy tree train", "short"),
    "v1-joint-levels": Golden("--method level-svm --hierarchy tree train", "short"),
    "v1-level-sets": Golden("--method level-svm --hierarchy dag sets", "sets", ""),
    "v1-label-graph": Golden("--method hr-lr --label-graph pairs --anchor 0.5 train", "short"),
    "v1-shared": Golden("--method shared-svm --hierarchy tree train", "short"),
    "v1-calibrated": Golden(
        "--method hr-svm --hierarchy tree --calibration 0.3 train",
        "short",
        "--probabilities --top 3",
    ),
    "v1-kernels": Golden("--method average-mkl --widths 0.5,2 kernels", "kernels"),
    "v1-network": Golden(
        "--method spn-mkl --network network kernels", "kernels", views="--view more=more"
    ),
    "v1-precomputed": Golden("--method simple-mkl --network tables numbers", "numbers"),
    "v1-views": Golden("--method flat-svm kernels", "kernels", views="--view more=more"),
    "v1-standard": Golden("--method flat-svm --scale standard large", "large"),
    "v1-robust": Golden("--method flat-lr --scale robust large", "large"),
    "v1-threshold": Golden("--method flat-svm --decision threshold sets", "sets", ""),
    "v1-scut": Golden("--method flat-lr --decision scut sets", "sets", ""),
    "v1-rcut": Golden("--method flat-lr --decision rcut sets", "sets", ""),
    "v1-instance": Golden("--method flat-svm --decision instance sets", "sets", ""),
    "v1-zero": Golden("--method flat-svm --decision zero sets", "sets", ""),
    "v1-offset": Golden("--method hsvm --hierarchy dag --decision offset sets", "sets", ""),
    "v1-label-sets": Golden(
        "--method structured --model hierarchy --hierarchy tree3 --decision argmax sets", "sets", ""
    ),
    "v1-field": Golden("--method structured --model multilabel-field sets", "sets", ""),
    "v1-chain": Golden("--method structured --word-pairs=false --word-clusters 0 tags", "tags", ""),
    "v13-clusters": Golden("--method structured --word-clusters 3 tags", "tags", ""),
    "v13-chain": Golden("--method structured --order 2 tags", "tags", ""),
    "v14-letters": Golden("--method structured --word-clusters 3 cities", "cities", ""),
    "v1-dependency": Golden(
        "--method structured --model dependency --hash-bits 8 trees", "trees", ""
    ),
    "v1-relations": Golden(
        "--method structured --model dependency --hash-bits 8 trees", "trees", ""
    ),
    "v1-separate": Golden(
        "--method structured --model dependency --relations separate --hash-bits 8 trees",
        "trees",
        "",
    ),
    "v1-records": Golden(
        "--method flat-svm --text-column text --numeric-columns weight,size"
        " --categorical-columns colour --label-column kind table.csv",
        "table.csv",
    ),
    "v3-terms": Golden(
        "--method flat-svm --text --word-ngrams 1-2 --char-ngrams 3 --term-weights bm25"
        " --stop-words stop texts",
        "texts",
    ),
    # Marks ended words before version 6. The file is the one of an earlier program.
    "v1-letters": Golden("--method flat-svm --text marked", "marked"),
    "v6-words": Golden("--method flat-svm --text marked", "marked"),
    "v7-stems": Golden("--method flat-svm --text --stem english texts", "texts"),
    "v4-int8": Golden("--method flat-svm --text texts", "texts", compress="--keep 0.8"),
    "v4-bfloat16": Golden(
        "--method top-down-svm --hierarchy tree --beam 2 train",
        "short",
        compress="--precision bfloat16",
    ),
    "v1-paths": Golden(
        "--method nhsvm --text-column text --path-columns one,two paths.csv", "paths.csv"
    ),
    "v1-kernel-ridge": Golden("--method kernel-ridge --hierarchy tree3 sets", "sets"),
    "v1-lp-mkl": Golden("--method lp-mkl --p 1.5 --widths 0.5,2 kernels", "kernels"),
    "v1-hsvm": Golden("--method hsvm --hierarchy tree train", "short"),
    "v1-partial": Golden("--method nhsvm --hierarchy tree --partial-labels partial", "short"),
    "v1-skos": Golden(
        "--method flat-svm --format annif --hierarchy animals.ttl --language fi books.tsv",
        "books.tsv",
        "--show name --top 2 --scores",
    ),
    "v5-hashed": Golden("--method flat-lr --text --hash-features 64 texts", "texts"),
    "v1-genes": Golden(
        "--method nhsvm --hierarchy go.obo --annotations genes.gaf --id-column gene"
        " --numeric-columns first,second genes.csv",
        "genes.csv",
    ),
    "v9-vectors": Golden(
        "--method flat-svm --text-column text --vector-columns e --vector-share 0.5"
        " --label-column kind embedded.jsonl",
        "embedded.jsonl",
    ),
    "v10-nystroem": Golden("--method flat-svm --kernel-features nystroem:5 kernels", "kernels"),
    "v10-fourier": Golden(
        "--method nhsvm --hierarchy tree --kernel-features fourier:30 --kernel-gamma 0.5 train",
        "short",
    ),
    "v11-learned-kernel": Golden(
        f"--method flat-svm --kernel-features nystroem:5 --kernel-model {FOLDER / 'v1-lp-mkl'}"
        " kernels",
        "kernels",
    ),
    "v10-calibrated-sets": Golden(
        "--method flat-svm --calibration 0.5 sets", "sets", "--probabilities --top 2"
    ),
    "v2-wide": Golden("--method flat-svm wide", "wide"),
    "v2-wide-kernels": Golden("--method average-mkl --widths 0.5,2 wide", "wide"),
}  # fmt: skip

NETWORK = """{"kernels": {
  "g": {"type": "gaussian", "view": "main", "widths": ["0.5 median", 2]},
  "p": {"type": "polynomial", "degree": 2, "view": "more"},
  "l": {"type": "laplacian", "view": "more", "width": "median", "centred": true}},
 "root": {"sum": [{"product": [{"sum": ["g", "l"]}]}, {"product": [{"sum": ["p"]}], "p": 1.5}]}}"""
TABLES = """{"kernels": {
  "t": {"type": "precomputed", "file": "table", "columns": "1"}}, "shape": "one-layer"}"""
TABLE_CSV = """text,weight,size,colour,kind
red apple,1.5,3,red,fruit
green apple,,2,green,fruit
fast car,900,,red,car
"slow, old car",1200,400,blue,car
pear,1.2,2,green,fruit
bus,9000,,blue,car
"""
EMBEDDED = """{"text": "red apple", "e": [1, 0, 0.5], "kind": "fruit"}
{"text": "green pear", "e": [0.75, 0, 0.25], "kind": "fruit"}
{"text": "fast car", "e": [0, 1, 0.5], "kind": "car"}
{"text": "slow bus", "e": [-0.5, 2, 0], "kind": "car"}
"""
PATHS_CSV = (
    "text,one,two\nred apple,plant,fruit\nfast car,thing,car\ngrass,plant,\noak,plant,tree\n"
)
MARKED = (
    "h\tयह हिन्दी का वाक्य है\nt\tதமிழ் மொழி\nf\te\u0301te\u0301 à la plage\n"
    "h\tहिन्दी है\nt\tமொழி\nf\tété, ko\u00adop\n"
)
ANIMALS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix x: <http://example.org/> .
x:animal a skos:Concept ; skos:prefLabel "animals"@en , "eläimet"@fi .
x:dog a skos:Concept ; skos:broader x:animal ; skos:prefLabel "dogs, tame"@en , "koirat"@fi .
x:fish a skos:Concept ; skos:broader x:animal ; skos:prefLabel "fish"@en .
"""
BOOKS = """bark bone\t<http://example.org/dog>
swim water\t<http://example.org/fish>
bark swim\t<http://example.org/dog> <http://example.org/fish>
bone tail\t<http://example.org/dog>
"""
TERMS = """[Term]
id: GO:1
name: function
[Term]
id: GO:2
name: ion binding
alt_id: GO:20
is_a: GO:1
[Term]
id: GO:4
name: transport
is_a: GO:1
"""
GENES = "gene,first,second\n" + "".join(
    f"g{k},{1 + k % 3 if k < 5 else 0},{0 if k < 5 else 2 - k % 3 / 2}\n" for k in range(10)
)
GAF = "!gaf-version: 2.2\n" + "".join(
    f"DB\tg{k}\tG{k}\tenables\tGO:{20 if k < 5 else 4}\tDB:1\tIDA\t\tF\t\t\tgene\ttaxon:1\t20260101"
    "\tDB\t\t\n"
    for k in range(10)
)
TREE_WORDS = [
    ("a", "DET", 2, "det"),
    ("dog", "NOUN", 3, "nsubj"),
    ("runs", "VERB", 0, "root"),
    ("home", "NOUN", 3, "obj"),
]


# plan-shards' arguments, and what is predicted of which rows. Of each folder, all shards but the
# first were left to train, whose optimum the tolerance makes the same to 1e-3 for any solver.
PLANS = {
    "v1-texts": Golden("--method flat-svm --text --tolerance 1e-7 --shards 3 texts", "texts"),
    "v1-sets": Golden(
        "--method flat-lr --decision scut --normalize --tolerance 1e-7 --shards 2 sets", "sets"
    ),
    "v1-records": Golden(
        "--method flat-lr --text-column text --numeric-columns weight,size"
        " --categorical-columns colour --label-column kind --tolerance 1e-7 --shards 2 table.csv",
        "table.csv",
    ),
    "v1-top-down": Golden(
        "--method top-down-svm --hierarchy go.obo --tolerance 1e-7 --shards 2 terms", "terms"
    ),
    "v1-label-trees": Golden(
        "--method label-trees --trees 2 --max-leaves 2 --tolerance 1e-7 --shards 2 train", "short"
    ),
    "v1-levels": Golden(
        "--method level-svm --hierarchy tree3 --tolerance 1e-7 --shards 2 sets", "sets"
    ),
}  # fmt: skip


class GoldenTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        draw = random.Random(4)
        documents = ["red apple", "green apple tree", "fast car", "red car engine", "pear", "tree"]
        sets = ["fruit", "fruit", "car", "car", "fruit", "fruit,plant"]
        lines = [f"{s}\t{d}\n" for s, d in zip(sets, documents, strict=True)]
        self.write("texts", "".join(lines * 3))
        self.write("marked", MARKED)
        self.write("stop", "the\nfast\n")
        self.write("counts", "x 1:3 2:1\ny 2:2 3:5\nx 1:1\nz 4:1\n" * 4)
        terms = (f"GO:{2 if i % 2 else 4} {i % 2 + 1}:1 3:0.{i + 1}\n" for i in range(8))
        self.write("terms", "".join(terms))
        self.write("short", "".join(self.read("test").decode().splitlines(keepends=True)[:10]))
        self.write("pairs", "a1 a2\na2 b1\nb1 b2\n")
        self.write("dag", "r n\nr m\nn a\nn b\nm b\nm c\n")
        self.write("tree3", "r n\nn a\nn b\nr c\n")

        def cells(at: int, scale: float = 1) -> str:
            return " ".join(f"{j + 1}:{scale * draw.gauss(2 * (j == at), 1):.3g}" for j in range(3))

        names = ["a", "b", "c"]
        several = ["a", "b", "c", "a,b", "b,c", "", "a", "b", "c", "a,c", "a,b,c", "b"]
        self.write("sets", "".join(f"{s} {cells(i % 3)}\n" for i, s in enumerate(several)))
        self.write("kernels", "".join(f"{names[i % 3]} {cells(i % 3)}\n" for i in range(9)))
        self.write("more", "".join(f" {cells(i % 3)}\n" for i in range(9)))
        self.write("large", "".join(f"{names[i % 3]} {cells(i % 3, 1e4)}\n" for i in range(9)))
        self.write("numbers", "".join(f"{names[i % 3]} 1:{i + 1}\n" for i in range(6)))
        self.write("table", "".join(
            " ".join("2" if i == j else "1" if i % 3 == j % 3 else "0" for j in range(6)) + "\n"
            for i in range(6)))  # fmt: skip
        self.write("partial", self.read("train").decode() + "a 1:1 2:0.1\nb 1:-1\n")
        self.write("animals.ttl", ANIMALS)
        self.write("books.tsv", BOOKS)
        self.write("go.obo", TERMS)
        self.write("genes.gaf", GAF)
        self.write("genes.csv", GENES)
        wide = (f"{names[i % 3]} {cells(i % 3)} {4_000_000 + i % 3}:1\n" for i in range(9))
        self.write("wide", "".join(wide))
        self.write("network", NETWORK)
        self.write("tables", TABLES)
        self.write("table.csv", TABLE_CSV)
        self.write("paths.csv", PATHS_CSV)
        self.write("embedded.jsonl", EMBEDDED)
        self.write("tags", "w1 O\nw2 B-x\nw3 I-x\n\nw2 B-x\nw3 O\nw1 O\n\nw3 O\nw2 B-x\n\nw1 O\n\n")
        self.write("cities", "Рим B-x\nмир O\n\nРим B-x\nнаш O\n\nЭкс B-x\nмир O\n\nмир O\n\n")
        sentence = "".join(
            "\t".join([str(k), word, word, tag, "_", "_", str(head), name, "_", "_"]) + "\n"
            for k, (word, tag, head, name) in enumerate(TREE_WORDS, 1)
        )
        self.write("trees", f"{sentence}\n{sentence}\n")

    def predicted(self, model: Path, golden: Golden) -> str:
        arguments = f"{golden.rows} {golden.predict} {golden.views}".split()
        return self.run_program("predict", str(model), *arguments, "--quiet")[0]

    def assert_same(self, got: str, want: str, name: str, relative: float = 1e-5) -> None:
        self.assertEqual(len(got.split()), len(want.split()), name)
        for ours, theirs in zip(got.split(), want.split(), strict=True):
            (label, _, score), (expected, _, number) = ours.rpartition(":"), theirs.rpartition(":")
            if not expected:
                self.assertEqual(ours, theirs, name)
                continue
            self.assertEqual(label, expected, name)
            tolerance = relative * max(1.0, abs(float(number)))
            self.assertAlmostEqual(float(score), float(number), delta=tolerance, msg=name)


class GoldenModels(GoldenTest):
    def test_predict_as_ever(self) -> None:
        for name, golden in MODELS.items():
            with self.subTest(name):
                path, expected = FOLDER / name, FOLDER / f"{name}.expected"
                if UPDATE and not path.exists():
                    arguments = f"{golden.train} {golden.views}".split()
                    self.run_program("train", *arguments, "--quiet", str(path))
                    if golden.compress:
                        to = ["--output", str(path), "--quiet"]
                        self.run_program("compress", str(path), *golden.compress.split(), *to)
                    expected.write_text(self.predicted(path, golden), encoding="utf-8")
                wanted = expected.read_text(encoding="utf-8")
                self.assert_same(self.predicted(path, golden), wanted, name)

    def test_are_described_and_explained(self) -> None:
        for name, golden in MODELS.items():
            with self.subTest(name):
                out, _ = self.run_program("info", str(FOLDER / name))
                self.assertIn("method", out)
                if golden.train.startswith("--method structured") and name != "v1-label-sets":
                    continue  # explain is for models that score labels
                rows = [golden.rows, *golden.views.split(), "--row", "1"]
                if "--kernel-features" in golden.train:
                    rows += ["--features", "0"]
                out, _ = self.run_program("explain", str(FOLDER / name), *rows)
                self.assertTrue(out)


class GoldenShards(GoldenTest):
    def copied(self, name: str) -> tuple[Path, int]:
        """A copy of a kept folder, and its number of shards."""
        work = Path(self.path(f"work-{name}"))
        shutil.copytree(SHARDS / name, work)
        return work, int(PLANS[name].train.split("--shards ")[1].split()[0])

    def merged(self, name: str) -> Path:
        """The model of a copy, whose unfinished shards are trained."""
        work, num_shards = self.copied(name)
        for shard in range(num_shards):
            out, _ = self.run_program("train-shard", str(work), str(shard), "--quiet")
            self.assertIn("state\twas finished\n" if shard == 0 else "state\ttrained\n", out)
        model = Path(self.path(f"model-{name}"))
        self.run_program("merge-shards", str(work), str(model), "--quiet")
        return model

    def test_are_continued_as_ever(self) -> None:
        for name, golden in PLANS.items():
            with self.subTest(name):
                path, expected = SHARDS / name, SHARDS / f"{name}.expected"
                if UPDATE and not path.exists():
                    arguments = [*golden.train.split(), str(path), "--quiet"]
                    self.run_program("plan-shards", *arguments)
                    self.run_program("train-shard", str(path), "0", "--quiet")
                    expected.write_text(self.predicted(self.merged(name), golden), encoding="utf-8")
                    shutil.rmtree(self.path(f"work-{name}"))
                wanted = expected.read_text(encoding="utf-8")
                self.assert_same(self.predicted(self.merged(name), golden), wanted, name, 1e-3)

    def test_those_of_later_versions_are_refused(self) -> None:
        for file in ("data.safetensors", "shard-00000.safetensors"):
            with self.subTest(file):
                work, _ = self.copied("v1-texts")
                content = (work / file).read_bytes()
                later = content.replace(b'"format_version":"1"', b'"format_version":"9"')
                self.assertNotEqual(later, content)
                (work / file).write_bytes(later)
                for shard in (1, 2):
                    if file != "data.safetensors":
                        self.run_program("train-shard", str(work), str(shard), "--quiet")
                message = "format version 9, but this program reads version 1"
                self.assert_fails(4, message, "merge-shards", str(work), "model", "--quiet")
                self.assert_fails(4, file, "merge-shards", str(work), "model", "--quiet")
                shutil.rmtree(work)


if __name__ == "__main__":
    unittest.main()
