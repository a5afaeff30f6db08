"""Vocabularies in SKOS, Annif's corpora, OBO and gene annotations from outside.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import pathlib
import unittest

from test_cli import CliTest

VOCABULARY = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix x: <http://example.org/> .
x:animal a skos:Concept ; skos:prefLabel "animals"@en , "eläimet"@fi .
x:dog a skos:Concept ; skos:broader x:animal ; skos:prefLabel "dogs, tame"@en , "koirat"@fi .
x:fish a skos:Concept ; skos:broader x:animal ; skos:prefLabel "fish"@en .
x:stone a skos:Concept ; skos:prefLabel "stones"@en , "kivet"@fi .
"""
# The same in RDF/XML.
VOCABULARY_XML = """<?xml version="1.0" encoding="UTF-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns:skos="http://www.w3.org/2004/02/skos/core#" xml:base="http://example.org/">
  <skos:Concept rdf:about="animal">
    <skos:prefLabel xml:lang="en">animals</skos:prefLabel>
    <skos:prefLabel xml:lang="fi">eläimet</skos:prefLabel></skos:Concept>
  <skos:Concept rdf:about="dog"><skos:broader rdf:resource="animal"/>
    <skos:prefLabel xml:lang="en">dogs, tame</skos:prefLabel>
    <skos:prefLabel xml:lang="fi">koirat</skos:prefLabel></skos:Concept>
  <skos:Concept rdf:about="fish"><skos:broader rdf:resource="animal"/>
    <skos:prefLabel xml:lang="en">fish</skos:prefLabel></skos:Concept>
  <skos:Concept rdf:about="stone"><skos:prefLabel xml:lang="en">stones</skos:prefLabel>
    <skos:prefLabel xml:lang="fi">kivet</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""
WORDS = {"dog": "bark bone", "fish": "swim water", "stone": "hard grey"}
BOOKS = "".join(
    f"{words} volume {k}\t<http://example.org/{name}>\n"
    for k in range(5)
    for name, words in WORDS.items()
)
DOG, KOIRA = "http://example.org/dog", "koirat"


class Vocabularies(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("animals.ttl", VOCABULARY)
        self.write("books.tsv", BOOKS)

    def train_books(self, *options: str, data: str = "books.tsv") -> str:
        """Standard error."""
        given = ["--text", "--hierarchy", "animals.ttl", "--max-passes", "50"]
        return self.run_program("train", "--method", "flat-svm", *given, *options, data, "model")[1]

    def answers(self, *options: str) -> list[str]:
        out, _ = self.run_program("predict", *options, "model", "books.tsv")
        return out.splitlines()[:3]

    def test_predictions_have_uris_names_or_paths(self) -> None:
        self.train_books("--language", "fi")
        self.assertEqual(self.answers(), [f"http://example.org/{name}" for name in WORDS])
        # A concept without a name in the language is called by its English one.
        names = [KOIRA, "fish", "kivet"]
        self.assertEqual(self.answers("--show", "name"), names)
        self.assertEqual(
            self.answers("--show", "path"),
            ["eläimet > koirat", "eläimet > fish", "kivet"],
        )
        two = self.answers("--show", "name", "--top", "2")[0].split("\t")
        self.assertEqual((two[0], len(two)), (KOIRA, 2))
        self.train_books()
        self.assertEqual(self.answers("--show", "name"), ["dogs, tame", "fish", "stones"])

    def test_hierarchical_methods_take_vocabularies(self) -> None:
        given = "--method nhsvm --format annif --hierarchy animals.ttl books.tsv model"
        self.run_program("train", *given.split())
        self.assertEqual(self.answers(), [f"http://example.org/{name}" for name in WORDS])
        out, _ = self.run_program("hierarchy", "animals.ttl")
        self.assertRegex(out, r"nodes +4\nedges +2\nroots +2")

    def test_rdf_xml_gives_the_model_of_turtle(self) -> None:
        self.write("animals.rdf", VOCABULARY_XML)
        models = []
        for name in ("animals.ttl", "animals.rdf"):
            given = f"--method nhsvm --format annif --hierarchy {name} --language fi"
            given += " books.tsv model"
            self.run_program("train", *given.split())
            models.append(pathlib.Path(self.path("model")).read_bytes())
        self.assertEqual(models[0], models[1])
        self.write("broken.rdf", VOCABULARY_XML.replace("</rdf:RDF>", "</rdf:rdf>"))
        self.assert_fails(3, "broken.rdf:14:3: the file is not well-formed XML: mismatched tag",
                          "hierarchy", "broken.rdf")  # fmt: skip

    def test_labels_that_the_vocabulary_lacks_are_errors_or_dropped(self) -> None:
        self.write("old.tsv", BOOKS + "howl\t<http://example.org/dog> <http://example.org/wolf>\n")
        text = "label is 'http://example.org/wolf', but must be one of the 4 known labels"
        command = [
            "train",
            "--method",
            "flat-svm",
            "--text",
            "--hierarchy",
            "animals.ttl",
            "old.tsv",
            "other",
        ]
        self.assert_fails(3, text, *command)
        err = self.train_books("--unknown-labels", "drop", data="old.tsv")
        self.assertIn("1 labels of 1 rows are not in animals.ttl and were dropped; one of them is "
                      "'http://example.org/wolf'", err)  # fmt: skip
        self.assertEqual(self.answers()[0], DOG)

    def test_concepts_without_rows_are_answered_by_their_names(self) -> None:
        named = VOCABULARY + (
            'x:shark a skos:Concept ; skos:broader x:fish ; skos:prefLabel "sharks"@en ;\n'
            '  skos:altLabel "hai"@fi , "hammerhead"@en .\n'
        )
        rows = BOOKS
        for name, word in {"dog": "dogs", "fish": "fish", "stone": "stones"}.items():
            rows += f"about {word} and hammerhead sharks\t<http://example.org/{name}>\n" * 4
        self.write("animals.ttl", named)
        self.write("named.tsv", rows)
        self.write("new.tsv", "hammerhead sharks\t<http://example.org/shark>\n")
        given = ["--method", "flat-svm", "--format", "annif", "--hierarchy", "animals.ttl"]
        given += ["--language", "en"]
        out, _ = self.run_program("train", *given, "--match-names", "named.tsv", "model")
        weights = dict(line.split("\t") for line in out.splitlines() if "\t" in line)
        self.assertGreater(float(weights["name_weight"]), 0)
        self.assertIn("unseen_score", weights)
        out, _ = self.run_program("predict", "--top", "4", "model", "new.tsv")
        self.assertIn("http://example.org/shark", out)
        self.run_program("evaluate", "--per-frequency", "bands.csv", "model", "new.tsv")
        self.run_program("train", *given, "named.tsv", "plain")
        out, _ = self.run_program("predict", "--top", "4", "plain", "new.tsv")
        self.assertNotIn("http://example.org/shark", out)

    def test_level_svm_matches_names_in_shards_too(self) -> None:
        for switches in (["--match-names"], []):
            with self.subTest(switches):
                self.check_shards_with_names(switches)

    def check_shards_with_names(self, switches: list[str]) -> None:
        named = VOCABULARY + "x:shark a skos:Concept ; skos:broader x:fish ;\n"
        self.write("animals.ttl", named + '  skos:prefLabel "sharks"@en .\n')
        rows = BOOKS
        for name, word in {"dog": "dogs", "fish": "fish", "stone": "stones"}.items():
            rows += f"about {word} and sharks\t<http://example.org/{name}>\n" * 4
        self.write("named.tsv", rows)
        self.write("new.tsv", "sharks\t<http://example.org/shark>\n")
        given = [
            "--method",
            "level-svm",
            "--multiclass",
            "ovr",
            *switches,
            "--format",
            "annif",
        ]
        given += ["--hierarchy", "animals.ttl", "--language", "en", "--unknown-labels", "drop"]
        self.run_program("train", *given, "named.tsv", "model")
        out, _ = self.run_program("predict", "--top", "4", "model", "new.tsv")
        self.assertIn("http://example.org/shark", out)
        shards = f"shards{len(switches)}"
        self.run_program("plan-shards", *given, "--shards", "2", "named.tsv", shards)
        for shard in ("0", "1"):
            self.run_program("train-shard", shards, shard)
        self.run_program("merge-shards", shards, "merged")
        self.assertEqual(
            *(pathlib.Path(self.path(name)).read_bytes() for name in ("model", "merged"))
        )

    def test_auto_tries_names(self) -> None:
        # Each of the three rows of a label has two of its names; others' names are noise.
        count = 24
        letters = "abcdefghijklmnopqrstuvwxyz"
        words = [
            [
                letters[n % 26] + letters[n // 26] + letters[7 * n % 26]
                for n in range(k, 4 * count, count)
            ]
            for k in range(count)
        ]
        concepts, rows = "", ""
        for k in range(count):
            names = " , ".join(f'"{word}"@en' for word in words[k][1:])
            concepts += f'x:{k} a skos:Concept ; skos:prefLabel "{words[k][0]}"@en ;\n'
            concepts += f"  skos:altLabel {names} .\n"
            for r in range(3):
                others = [words[(k + step) % count][(k + r + step) % 4] for step in (1, 4, 9)]
                text = " ".join([*words[k][r : r + 2], *others])
                rows += f"{text}\t<http://example.org/{k}>\n"
        prefixes = VOCABULARY[: VOCABULARY.index("x:animal")]
        self.write("words.ttl", prefixes + concepts)
        self.write("words.tsv", rows)
        given = ["--format", "annif", "--hierarchy", "words.ttl", "--time-limit-seconds", "0"]
        out, _ = self.run_program("auto", *given, "words.tsv", "model")
        chosen = next(line for line in out.splitlines() if line.endswith("  chosen"))
        self.assertIn("--match-names", chosen)
        out, _ = self.run_program("info", "model")
        self.assertIn("weight of names", out)

    def test_names_to_match_need_names_and_texts(self) -> None:
        self.write("edges", "".join(f"root http://example.org/{name}\n" for name in WORDS))
        self.write("numbers", "http://example.org/dog 1:1\nhttp://example.org/fish 1:2\n")
        self.write("names.tsv", f"{DOG}\tdogs\n")
        train = ["train", "--method", "flat-svm", "--match-names"]
        for text, options in [
            ("option match-names is given, but the labels have no names, and less than half of "
             "them are words; give a hierarchy file in SKOS or OBO, or names of labels "
             "(--label-names FILE, in Python",
             "--format annif --hierarchy edges books.tsv"),
            ("option match-names is given, but rows are not texts",
             "--label-names names.tsv numbers"),
            ("option match-names is given, but rows are not texts",
             "--hierarchy animals.ttl numbers"),
        ]:  # fmt: skip
            self.assert_fails(2, text, *train, *options.split(), "other")

    def test_options_for_other_files_are_refused(self) -> None:
        self.write("edges", f"root {DOG}\n")
        train = ["train", "--method", "flat-svm", "--text"]
        for text, options in [
            ("option language is en, but edges is not SKOS", "--hierarchy edges --language en"),
            ("option language is given, but needs a --hierarchy", "--language en"),
            ("option unknown-labels is drop, but needs", "--unknown-labels drop"),
            ("option part-of is given, but animals.ttl", "--hierarchy animals.ttl --part-of"),
            ("option language is sv, but no concept", "--hierarchy animals.ttl --language sv"),
        ]:
            self.assert_fails(2, text, *train, *options.split(), "books.tsv", "other")

    def test_other_forms_of_vocabularies_are_no_edges(self) -> None:
        self.write("annif.tsv", "<http://example.org/dog>\tdogs\n")
        self.assert_fails(3, "annif.tsv:1:1: the line begins with a URI", "hierarchy", "annif.tsv")
        self.write("json2", '{"@graph": []}\n')
        self.assert_fails(3, "json2:1:1: the file looks like JSON", "hierarchy", "json2")

    def test_what_a_vocabulary_leaves_out_is_a_warning(self) -> None:
        self.write("go.obo", "[Term]\nid: a\nis_a: c\n[Term]\nid: b\nis_a: a\n")
        out, err = self.run_program("hierarchy", "go.obo")
        self.assertRegex(out, r"nodes +2\nedges +1")
        self.assertIn("warning: go.obo:3:7: parent is 'c'", err)
        self.write("rows", "b 1:1\na 2:1\n")
        train = ["train", "--method", "flat-svm", "--hierarchy", "go.obo", "rows", "other"]
        _, err = self.run_program(*train)
        self.assertIn("1 edge to such parents left out", err)
        self.assert_fails(3, "go.obo:3:7: parent is 'c'", *train, "--strict")

    def test_blank_lines_before_and_lists_of_paths(self) -> None:
        text = pathlib.Path(self.path("animals.ttl")).read_text(encoding="utf-8")
        plain, _ = self.run_program("hierarchy", "animals.ttl")
        self.write("blank.ttl", "#\n\n" + text)
        self.assertEqual(self.run_program("hierarchy", "blank.ttl")[0], plain)
        self.write("paths", "# Version\nA & B\nA & B > C\n")
        self.assertRegex(self.run_program("hierarchy", "paths")[0], r"nodes +2\nedges +1")

    def test_evaluation_reads_part_of(self) -> None:
        self.write("go.obo", "[Term]\nid: a\n[Term]\nid: b\nrelationship: part_of a\n")
        self.write("rows", "b 1:1\na 2:1\n")
        self.run_program("train", "--method", "flat-svm", "rows", "flat")
        evaluate = ["evaluate", "flat", "rows"]
        with_parts, _ = self.run_program(*evaluate, "--hierarchy", "go.obo", "--part-of",
                                         "--per-level", "levels.csv")  # fmt: skip
        self.assertIn("accuracy", with_parts)
        levels = pathlib.Path(self.path("levels.csv")).read_text(encoding="utf-8")
        self.assertRegex(levels, r"^level,rows.*\n1,1,.*\n$")  # b stands below a
        text = "option part-of is given, but needs a --hierarchy FILE in OBO"
        self.assert_fails(2, text, *evaluate, "--part-of")

    def test_names_of_obo_terms_are_kept(self) -> None:
        self.write("go.obo", "format-version: 1.2\n[Term]\nid: GO:1\nname: cell part\n"
                             "[Term]\nid: GO:2\nname: organelle, small\nis_a: GO:1\n"
                             "[Term]\nid: GO:3\nis_a: GO:1\n")  # fmt: skip
        self.write("genes", "GO:2 1:1\nGO:3 2:1\n")
        self.run_program(*["train", "--method", "nhsvm", "--hierarchy", "go.obo", "genes", "model"])
        out, _ = self.run_program(*["predict", "--show", "path", "model", "genes"])
        self.assertEqual(out, "cell part > organelle, small\ncell part > GO:3\n")


ONTOLOGY = """format-version: 1.2
[Term]
id: GO:1
name: binding
[Term]
id: GO:2
name: ion binding
alt_id: GO:20
is_a: GO:1
[Term]
id: GO:3
name: transport
[Term]
id: GO:4
is_a: GO:3
[Term]
id: GO:9
is_obsolete: true
replaced_by: GO:4
"""


def annotation(
    gene: str, term: str, evidence: str = "EXP", aspect: str = "F", qualifier: str = "enables"
) -> str:
    columns = ["DB", gene, gene.upper(), qualifier, term, "DB:1", evidence, "", aspect]
    return "\t".join([*columns, "", "", "gene", "taxon:1", "20260101", "DB", "", ""]) + "\n"


class Annotated(CliTest):
    """Rows with the ids of genes, whose labels are in a file of annotations."""

    def setUp(self) -> None:
        super().setUp()
        self.write("go.obo", ONTOLOGY)
        # Genes 1 to 10 bind ions, 11 to 20 transport; gene 21 has no annotation that counts.
        lines = ["!gaf-version: 2.2\n", annotation("g1", "GO:2")]
        for number in range(1, 11):
            lines.append(annotation(f"g{number}", "GO:20", "IDA"))
            lines.append(annotation(f"g{number + 10}", "GO:4", "IDA", "P"))
        lines.append(annotation("g21", "GO:4", qualifier="NOT|enables"))
        self.write("genes.gaf", "".join(lines))
        rows = [(f"g{k}", 1 + k % 3, 0.0) for k in range(1, 11)]
        rows += [(f"g{k}", 0, 2 - k % 3 / 2) for k in range(11, 21)]
        table = [f"{gene},{first},{second}\n" for gene, first, second in rows]
        self.write("genes.csv", "gene,first,second\n" + "".join(table))
        self.write("more.csv", "gene,first,second\n" + "".join(table) + "g21,1,1\n")
        self.write("genes", "".join(f"{g} 1:{a} 2:{b}\n" for g, a, b in rows))
        named = [f'{{"gene": "{g}", "first": {a}, "second": {b}}}\n' for g, a, b in rows]
        self.write("genes.jsonl", "".join(named))

    COLUMNS = ("--id-column", "gene", "--numeric-columns", "first,second")
    ANNOTATIONS = ("--annotations", "genes.gaf")

    def train_genes(self, data: str, *options: str, code: int = 0) -> str:
        """Standard error."""
        given = ["train", "--method", "nhsvm", "--hierarchy", "go.obo", "--quiet"]
        return self.run_program(*given, *options, data, "model", code=code)[1]

    def test_terms_of_the_file_are_the_labels_of_rows_in_every_format(self) -> None:
        expected = "GO:2\n" * 10 + "GO:4\n" * 10
        for data in ("genes.csv", "genes.jsonl", "genes"):
            columns = () if data == "genes" else self.COLUMNS
            self.assertEqual(self.train_genes(data, *self.ANNOTATIONS, *columns), "")
            self.assertEqual(self.run_program("predict", "model", data)[0], expected)
        self.write("new.csv", "first,second\n2,0\n0,2\n")
        self.train_genes("genes.csv", *self.ANNOTATIONS, *self.COLUMNS)
        self.assertEqual(self.run_program("predict", "model", "new.csv")[0], "GO:2\nGO:4\n")
        self.write("plain.gaf", self.read("genes.gaf").decode().replace("GO:20", "GO:2"))
        out, _ = self.run_program(
            "evaluate", "--annotations", "plain.gaf", "--metrics", "accuracy", "model", "genes.csv"
        )
        self.assertIn("1.0000", out)

    def test_the_labels_are_those_of_rows_that_have_them_themselves(self) -> None:
        self.train_genes("genes", *self.ANNOTATIONS)
        by_annotations = self.read("model")
        rows = self.read("genes").decode().splitlines()
        labelled = [f"{'GO:20' if k < 10 else 'GO:4'} {row.split(' ', 1)[1]}\n"
                    for k, row in enumerate(rows)]  # fmt: skip
        self.write("labelled", "".join(labelled))
        self.train_genes("labelled")
        self.assertEqual(self.read("model"), by_annotations)

    def test_alternative_ids_are_right_for_the_model_and_with_the_ontology(self) -> None:
        self.train_genes("genes", *self.ANNOTATIONS)
        rows = self.read("genes").decode().splitlines()
        labelled = "".join(
            f"{'GO:20' if k < 10 else 'GO:4'} {row.split(' ', 1)[1]}\n"
            for k, row in enumerate(rows)
        )
        self.write("labelled", labelled)
        self.write("terms", labelled.replace("GO:20", "GO:2"))
        evaluate = ["evaluate", "--metrics", "all", "--json", "--quiet", "--train"]
        expected = self.run_program(*evaluate, "terms", "model", "terms")
        known = ["--hierarchy", "go.obo", "model"]
        self.assertEqual(self.run_program(*evaluate, "labelled", *known, "labelled"), expected)
        # Models keep them.
        self.assertEqual(self.run_program(*evaluate, "labelled", "model", "labelled"), expected)
        pages = []
        for content in ("labelled", "terms"):
            self.write("same", self.read(content).decode())
            self.run_program("report", "--quiet", "--output", "page.html", "model", "same")
            pages.append(self.read("page.html"))
        self.assertEqual(*pages)
        compress = ["compress", "--keep", "1", "--output", "small", "model"]
        self.assertEqual(self.run_program(*compress, "labelled"),
                         self.run_program(*compress, "terms"))  # fmt: skip
        self.assertEqual(self.run_program(*evaluate, "labelled", "small", "labelled")[1], "")
        explain = ["explain", "model", "terms", "--row", "1", "--label"]
        self.assertEqual(self.run_program(*explain, "GO:20"), self.run_program(*explain, "GO:2"))
        given = ["evaluate", "--annotations", "genes.gaf", "--json", "--quiet", "model", "genes"]
        self.assertIn('"accuracy":1.0', self.run_program(*given)[0])
        self.write("strange", labelled.replace("GO:20", "GO:77"))
        for options in ([], ["--hierarchy", "go.obo"]):
            _, err = self.run_program("evaluate", "--quiet", *options, "model", "strange")
            self.assertTrue(err.endswith("they count as missed\n"), err)
        # A model whose hierarchy had none.
        self.write("plain.obo", ONTOLOGY.replace("alt_id: GO:20\n", ""))
        self.run_program(*["train", "--method", "nhsvm", "--quiet", "--hierarchy", "plain.obo"],
                         "terms", "model")  # fmt: skip
        out, err = self.run_program("evaluate", "--json", "--quiet", "model", "labelled")
        self.assertIn("10 rows have labels that the model does not know", err)
        hint = "they count as missed; --hierarchy FILE.obo gives alternative ids their terms"
        self.assertIn(hint, err)
        self.assertIn('"accuracy":0.5', out)
        self.assertEqual(self.run_program(*evaluate, "labelled", *known, "labelled"), expected)
        # The same for a model without a hierarchy, for the metrics of the hierarchy.
        self.run_program("train", "--method", "flat-svm", "--quiet", "terms", "model")
        flat = self.run_program(*evaluate, "terms", *known, "terms")
        self.assertEqual(self.run_program(*evaluate, "labelled", *known, "labelled"), flat)
        given[4:] = ["--quiet", *known, "genes"]
        self.assertIn('"accuracy":1.0', self.run_program(*given)[0])
        # A model whose label is an alternative id was not trained on terms.
        self.run_program("train", "--method", "flat-svm", "--quiet", "labelled", "model")
        self.assert_fails(3, "go.obo: label 'GO:20' of the model is not a node of the hierarchy",
                          "evaluate", *known, "terms")  # fmt: skip

    def test_evidence_and_aspect_choose_annotations(self) -> None:
        for options, warning in (
            (["--evidence", "EXP"], "19 of 20 rows have no annotation in genes.gaf, and so no "
             "label; the id of one is 'g2'"),
            (["--aspect", "P,C", "--evidence", "EXP,IDA"], "10 of 20 rows have no annotation"),
        ):  # fmt: skip
            err = self.train_genes("genes.csv", *self.ANNOTATIONS, *self.COLUMNS, *options)
            self.assertIn(warning, err)
        err = self.train_genes("more.csv", *self.ANNOTATIONS, *self.COLUMNS)
        self.assertIn("1 of 21 rows have no annotation in genes.gaf, and so no label; the id of "
                      "one is 'g21'", err)  # fmt: skip

    def test_obsolete_terms_are_errors_or_dropped(self) -> None:
        self.write("old.gaf", self.read("genes.gaf").decode() + annotation("g3", "GO:9"))
        self.write("old", "GO:2 1:1\nGO:9,GO:4 2:1\n")
        text = (
            "row {}: label is 'GO:9', which is obsolete and replaced by 'GO:4', but must be a node"
        )
        annotated = ["--annotations", "old.gaf"]
        self.assertIn(text.format(3), self.train_genes("genes", *annotated, code=3))
        self.assertIn(text.format(2), self.train_genes("old", code=3))
        dropped = "1 labels of 1 rows are not in go.obo and were dropped; one of them is 'GO:9'"
        for data, options in (("genes", annotated), ("old", [])):
            err = self.train_genes(data, *options, "--unknown-labels", "drop")
            self.assertIn(dropped, err)
        self.write("wrong", "GO:2 1:1\nGO:404 2:1\n")
        self.assertIn("wrong:2:1: label is 'GO:404'", self.train_genes("wrong", code=3))
        self.write("twice.obo", ONTOLOGY + "[Term]\nid: GO:5\nalt_id: GO:20\n")
        self.write("rows", "GO:20 1:1\n")
        train = ["train", "--method", "nhsvm", "--hierarchy", "twice.obo", "rows", "other"]
        self.assert_fails(3, "label is 'GO:20', an alternative id of several terms", *train)

    def test_errors_of_annotations(self) -> None:
        self.write("short.gaf", "DB\tg1\n")
        self.write("strangers.csv", "gene,first,second\nx1,1,2\n")
        for code, text, options in (
            (2, "id-column is given, but needs a --annotations", self.COLUMNS),
            (2, "id-column is not, which must name",
             [*self.ANNOTATIONS, "--label-column", "gene", *self.COLUMNS[2:]]),
            (2, "label-column and id-column are both given",
             [*self.ANNOTATIONS, "--label-column", "gene", *self.COLUMNS]),
            (2, "evidence and aspect: one is given", ["--evidence", "EXP", *self.COLUMNS]),
            (2, "option aspect is 'process'",
             [*self.ANNOTATIONS, "--aspect", "process", *self.COLUMNS]),
            (3, "short.gaf:1:6: the line has 2 columns",
             ["--annotations", "short.gaf", *self.COLUMNS]),
            (3, "none of the 22 annotations is left",
             [*self.ANNOTATIONS, "--evidence", "XYZ", *self.COLUMNS]),
            (3, "absent.gaf: cannot open", ["--annotations", "absent.gaf", *self.COLUMNS]),
        ):  # fmt: skip
            self.assertIn(text, self.train_genes("genes.csv", *options, code=code))
        err = self.train_genes("strangers.csv", *self.ANNOTATIONS, *self.COLUMNS, code=3)
        self.assertIn("no row has an id with annotations in genes.gaf; the id of one is 'x1'", err)
        self.assert_fails(
            2, "option annotations is given, but method structured reads", "train", "--method",
            "structured", *self.ANNOTATIONS, "genes", "other",
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
