"""Terms of texts and their weights from outside.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import unittest

from test_cli import CliTest

# The order of the words is all that tells the labels apart.
ROWS = "bites\tdog bites the man\nbitten\tman bites the dog\n" * 6
NO_CHARACTERS = ("--char-ngrams", "none")
WORDS = ("--word-ngrams", "1", *NO_CHARACTERS)
TABLE = "words,price,kind\nthe red apple,1,fruit\na red car,9,car\nthe apple,2,fruit\ncar,8,car\n"


class Texts(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("rows", ROWS)
        self.write("table.csv", TABLE)
        self.write("stop", "# English\nthe\na\n")

    def train_rows(self, *options: str) -> None:
        self.run_program("train", "--method", "flat-svm", *options, "model")

    def facts(self) -> dict[str, str]:
        lines = self.run_program("info", "model")[0].splitlines()
        return {line[:26].strip(): line[27:] for line in lines}

    def test_ngrams_and_stop_words_are_kept_in_the_model(self) -> None:
        self.train_rows("--text", *NO_CHARACTERS, "--stop-words", "stop", "rows")
        answers = self.run_program("predict", "model", "rows")[0].split()
        self.assertEqual(answers, ["bites", "bitten"] * 6)
        facts = self.facts()
        self.assertEqual(facts["format version"], "9")
        self.assertEqual(facts["vocabulary"], "7 terms")
        self.assertEqual(facts["n-grams of words"], "1-2")
        self.assertEqual(facts["n-grams of characters"], "none")
        self.assertEqual(facts["stop words"], "2")

    def test_stop_words_of_a_language_are_kept_in_the_model(self) -> None:
        self.write("pets", "cat\tthe cat is here\ndog\tthose dogs are here\n" * 3)
        self.train_rows("--text", *WORDS, "--stop-words", "english", "pets")
        facts = self.facts()
        self.assertEqual(facts["stop words"], "127")
        self.assertEqual(facts["vocabulary"], "2 terms")
        self.write("english", "cat\n")  # a file of that name is given by its path
        self.train_rows("--text", "--stop-words", "english", "pets")
        self.assertEqual(self.facts()["stop words"], "127")
        self.train_rows("--text", "--stop-words", "./english", "pets")
        self.assertEqual(self.facts()["stop words"], "1")
        train = ("train", "--method", "flat-svm", "--text", "--stop-words")
        self.run_program(*train, "english", "pets", "english")  # not read: it may be the result
        _, err = self.run_program(*train, "frensh", "pets", "m", code=3)
        self.assertIn("no language of that name has stop words; did you mean 'french'?", err)

    def test_words_become_stems(self) -> None:
        self.write("pets", "cat\tthe cat purred\ndog\tdogs barking\n" * 3)
        self.train_rows("--text", *WORDS, "--stem", "english", "--stop-words", "stop", "pets")
        facts = self.facts()
        self.assertEqual(facts["format version"], "9")
        self.assertEqual(facts["stems"], "english")
        self.assertEqual(facts["vocabulary"], "4 terms")
        self.write("new", "cat\tcats purring\ndog\ta dog barked\n")
        self.assertEqual(self.run_program("predict", "model", "new")[0].split(), ["cat", "dog"])
        told = self.run_program("explain", "--row", "1", "--features", "9", "model", "new")[0]
        self.assertIn("  pur =", told)
        self.train_rows("--text", "pets")
        self.assertNotIn("stems", self.facts())
        columns = ["--text-column", "words", "--label-column", "kind", "table.csv"]
        self.train_rows("--stem", "english", *WORDS, *columns)
        self.assertEqual(self.facts()["stems"], "english")
        self.assertEqual(self.facts()["format version"], "9")
        told = self.run_program("explain", "--row", "1", "--features", "9", "model", "table.csv")[0]
        self.assertIn("  appl =", told)

    def test_forms_of_characters_are_kept_in_the_model(self) -> None:
        self.write("streets", "a\tALTE STRASSE ①\nb\tneue Gasse ②\n" * 4)
        self.write("new", "a\tStraße\nb\tＧＡＳＳＥ 2\n")
        self.train_rows("--text", "--casing", "fold", "--normal-form", "nfkc", *WORDS, "streets")
        self.assertEqual(self.run_program("predict", "model", "new")[0].split(), ["a", "b"])
        facts = self.facts()
        self.assertEqual((facts["casing"], facts["normal form"]), ("fold", "nfkc"))
        self.train_rows("--text", *WORDS, "streets")
        self.assertNotIn("casing", self.facts())
        self.assertEqual(self.facts()["vocabulary"], "6 words")
        self.write("counts", "x 1:3 2:1\ny 2:2 3:5\n")
        self.assert_fails(
            2,
            "options normal-form and casing: one is given, but they are for texts, and the rows",
            "train",
            "--method",
            "flat-svm",
            "--tfidf",
            "--casing",
            "fold",
            "counts",
            "model",
        )

    def test_info_counts_words(self) -> None:
        self.train_rows("--text", *WORDS, "rows")
        facts = self.facts()
        self.assertEqual(facts["format version"], "9")
        self.assertEqual(facts["vocabulary"], "4 words")
        self.train_rows("--text", *WORDS, "--max-terms", "3", "--max-document-share", "1", "rows")
        self.assertEqual(self.facts()["vocabulary"], "3 words")
        self.train_rows("--text", "rows")  # by default pairs and runs of characters, too
        self.assertEqual(self.facts()["vocabulary"], "19 terms")
        self.assertEqual(self.facts()["n-grams of words"], "1-2")
        self.assertEqual(self.facts()["n-grams of characters"], "4")

    def test_words_keep_their_marks(self) -> None:
        self.write("indic", "h\tयह हिन्दी का वाक्य है\nt\tதமிழ் மொழி\n")
        self.train_rows("--text", *WORDS, "indic")
        told = self.run_program("explain", "--row", "1", "--features", "9", "model", "indic")[0]
        for word in ["यह", "हिन्दी", "का", "वाक्य", "है"]:
            self.assertIn(f"  {word} =", told)
        self.assertEqual(self.facts()["vocabulary"], "7 words")

    def test_texts_without_words_are_counted(self) -> None:
        self.write("marks", "x\t!!! ???\ny\t... :-)\n")
        self.write("some", "x\tone !\ny\t... :-)\nx\tone\ny\t...\n")
        train = ("train", "--method", "flat-svm", "--text")
        _, err = self.run_program(*train, "marks", "m", code=3)
        self.assertIn("tfidf: none of the 2 texts has a term; words are made of letters and", err)
        _, err = self.run_program(*train, "some", "m")
        self.assertEqual(err.count("some: 2 of 4 texts have no term"), 1)
        _, err = self.run_program(*train, "--strict", "some", "n", code=3)
        self.assertIn("some: row 2 has no features", err)
        self.write("table", "t,p,k\n?,1,a\n!,2,b\n")
        columns = ["--text-column", "t", "--label-column", "k"]
        _, err = self.run_program(*train[:3], *columns, "table", "m", code=3)
        self.assertIn("none of the 2 texts has a term", err)
        self.run_program(*train[:3], *columns, "--numeric-columns", "p", "table", "m")

    def test_explain_names_the_terms(self) -> None:
        self.train_rows("--text", "--word-ngrams", "2", "--char-ngrams", "3", "rows")
        told = self.run_program("explain", "--row", "1", "--features", "30", "model", "rows")[0]
        self.assertIn("dog bites", told)
        self.assertIn("' do'", told)

    def test_hashed_terms_have_columns_without_names(self) -> None:
        hashed = ["--text", *NO_CHARACTERS, "--hash-features", "1000"]
        self.train_rows(*hashed, "rows")
        answers = self.run_program("predict", "model", "rows")[0].split()
        self.assertEqual(answers, ["bites", "bitten"] * 6)
        facts = self.facts()
        self.assertEqual(facts["format version"], "9")
        self.assertEqual(facts["hashed terms"], "9 columns of 1000, without names")
        told = self.run_program("explain", "--row", "1", "--features", "30", "model", "rows")[0]
        self.assertRegex(told, "hash [0-9]+")
        self.assertNotIn("dog", told)
        first = self.run_program("predict", "--scores", "model", "rows")[0]
        self.train_rows(*hashed, "--hash-seed", "8", "rows")
        self.assertNotEqual(self.read("model"), "")
        self.train_rows("--text", *NO_CHARACTERS, "rows")  # no two terms share a column
        named = self.run_program("predict", "--scores", "model", "rows")[0]
        for ours, theirs in zip(first.split(), named.split(), strict=True):
            if ours != theirs:
                self.assertAlmostEqual(float(ours.split(":")[-1]), float(theirs.split(":")[-1]), 2)

    def test_hashed_columns_of_text_come_before_the_others(self) -> None:
        columns = ["--text-column", "words", "--numeric-columns", "price", "--label-column", "kind"]
        self.train_rows(*columns, *WORDS, "--hash-features", "64", "--min-document-frequency", "2",
                        "table.csv")  # fmt: skip
        self.assertRegex(self.facts()["hashed terms"], "^[1-5] columns of 64, without names$")
        told = self.run_program("explain", "--row", "1", "--features", "30", "model", "table.csv")
        self.assertRegex(told[0], "hash [0-9]+")
        self.assertIn("price", told[0])

    def test_columns_of_text_take_the_same_options(self) -> None:
        columns = ["--text-column", "words", "--numeric-columns", "price", "--label-column", "kind"]
        weights = ["--char-ngrams", "3-4", "--term-weights", "bm25", "--bm25-k1", "1.5"]
        self.train_rows(*columns, *weights, "--stop-words", "stop", "table.csv")
        answers = self.run_program("predict", "model", "table.csv")[0].split()
        self.assertEqual(answers, ["fruit", "car", "fruit", "car"])
        facts = self.facts()
        self.assertEqual(facts["format version"], "9")
        self.assertEqual(facts["n-grams of characters"], "3-4")
        self.assertTrue(facts["term weights"].startswith("bm25, k1 1.5, b 0.75, average length"))

    def test_counts_take_bm25(self) -> None:
        self.write("counts", "x 1:3 2:1\ny 2:2 3:5\nx 1:1\nz 4:1\n" * 4)
        self.train_rows("--tfidf", "--term-weights", "bm25", "counts")
        self.assertEqual(self.facts()["format version"], "3")
        answers = self.run_program("predict", "model", "counts")[0].split()
        self.assertEqual(answers, ["x", "y", "x", "z"] * 4)

    def test_options_that_cannot_be_honoured_are_refused(self) -> None:
        numbers = "a 1:1\nb 2:1\n"
        self.write("numbers", numbers)
        columns = ["--numeric-columns", "price", "--label-column", "kind", "table.csv"]
        for message, options in [
            ("option word-ngrams is given, but needs rows of texts",
             ["--word-ngrams", "1", "numbers"]),
            ("option min-document-frequency is given, but needs rows of texts",
             ["--min-document-frequency", "2", *columns]),
            ("option stop-words is given, but needs rows of texts",
             ["--stop-words", "stop", "numbers"]),
            ("options word-ngrams, char-ngrams, min-ngram-frequency and stop-words: one is given, ",
             ["--tfidf", "--char-ngrams", "2", "numbers"]),
            ("option stem is given, but needs rows of texts", ["--stem", "english", "numbers"]),
            ("option stem is english, but it is for texts",
             ["--tfidf", "--stem", "english", "numbers"]),
            ("option stem is 'englsh', but must be none or one of arabic, ",
             ["--text", "--stem", "englsh", "rows"]),
            ("; did you mean 'english'?", ["--text", "--stem", "englsh", "rows"]),
            ("n-grams: lengths are '2-1', but must be none, N or FIRST-LAST",
             ["--text", "--word-ngrams", "2-1", "rows"]),
            ("option hash-features is 64, but it is for texts",
             ["--tfidf", "--hash-features", "64", "numbers"]),
            ("option hash-features is given, but needs rows of texts",
             ["--hash-features", "64", "numbers"]),
            ("option min-ngram-frequency is 3, but with hash-features columns hold terms of all",
             ["--text", "--hash-features", "64", "--min-ngram-frequency", "3", "rows"]),
            ("option hash-seed is given, but it needs hash-features",
             ["--text", "--hash-seed", "3", "rows"]),
            ("options bm25-k1 and bm25-b: one is given, but they need term-weights bm25",
             ["--text", "--bm25-b", "0.5", "rows"]),
            ("option sublinear-tf is false, but term-weights bm25",
             ["--text", "--sublinear-tf=false", "--term-weights", "bm25", "rows"]),
        ]:  # fmt: skip
            with self.subTest(message):
                _, err = self.run_program("train", "--method", "flat-svm", *options, "m", code=2)
                self.assertIn(message, err)
        for message, options in [
            ("none: cannot open", ["--text", "--stop-words", "none", "rows"]),
            ("of the 4 terms that occur none is kept",
             ["--text", *WORDS, "--max-document-share", "0.4", "rows"]),
        ]:  # fmt: skip
            with self.subTest(message):
                _, err = self.run_program("train", "--method", "flat-svm", *options, "m", code=3)
                self.assertIn(message, err)


if __name__ == "__main__":
    unittest.main()
