"""Vocabularies in SKOS and Annif's corpora from outside.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import unittest

from test_cli import CliTest

VOCABULARY = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix x: <http://example.org/> .
x:animal a skos:Concept ; skos:prefLabel "animals"@en , "eläimet"@fi .
x:dog a skos:Concept ; skos:broader x:animal ; skos:prefLabel "dogs, tame"@en , "koirat"@fi .
x:fish a skos:Concept ; skos:broader x:animal ; skos:prefLabel "fish"@en .
x:stone a skos:Concept ; skos:prefLabel "stones"@en , "kivet"@fi .
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
        # A concept without a name in the language is called by its URI.
        names = [KOIRA, "http://example.org/fish", "kivet"]
        self.assertEqual(self.answers("--show", "name"), names)
        self.assertEqual(
            self.answers("--show", "path"),
            ["eläimet > koirat", "eläimet > http://example.org/fish", "kivet"],
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

    def test_options_for_other_files_are_refused(self) -> None:
        self.write("edges", f"root {DOG}\n")
        train = ["train", "--method", "flat-svm", "--text"]
        for text, options in [
            ("option language is en, but edges is not SKOS", "--hierarchy edges --language en"),
            ("option language is given, but needs a --hierarchy", "--language en"),
            ("option unknown_labels is drop, but needs", "--unknown-labels drop"),
            ("option part_of is given, but animals.ttl", "--hierarchy animals.ttl --part-of"),
            ("option language is sv, but no concept", "--hierarchy animals.ttl --language sv"),
        ]:
            self.assert_fails(2, text, *train, *options.split(), "books.tsv", "other")

    def test_other_forms_of_vocabularies_are_no_edges(self) -> None:
        self.write("annif.tsv", "<http://example.org/dog>\tdogs\n")
        self.assert_fails(3, "annif.tsv:1:1: the line begins with a URI", "hierarchy", "annif.tsv")
        self.write("json2", '{"@graph": []}\n')
        self.assert_fails(3, "json2:1:1: the file looks like JSON", "hierarchy", "json2")

    def test_names_of_obo_terms_are_kept(self) -> None:
        self.write("go.obo", "format-version: 1.2\n[Term]\nid: GO:1\nname: cell part\n"
                             "[Term]\nid: GO:2\nname: organelle, small\nis_a: GO:1\n"
                             "[Term]\nid: GO:3\nis_a: GO:1\n")  # fmt: skip
        self.write("genes", "GO:2 1:1\nGO:3 2:1\n")
        self.run_program(*["train", "--method", "nhsvm", "--hierarchy", "go.obo", "genes", "model"])
        out, _ = self.run_program(*["predict", "--show", "path", "model", "genes"])
        self.assertEqual(out, "cell part > organelle, small\ncell part > GO:3\n")


if __name__ == "__main__":
    unittest.main()
