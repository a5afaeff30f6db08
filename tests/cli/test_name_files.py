"""Names of labels from a file of their own: --label-names.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import gzip
import pathlib
import re
import unittest

from test_cli import CliTest

ANIMALS = ["dogs", "cats", "fish", "birds", "beetles"]


class LabelNames(CliTest):
    def setUp(self) -> None:
        super().setUp()
        sizes = ["small", "large", "tame", "wild", "old", "young"]
        rows = [
            f"x:{k % 4}\ta book of {sizes[k % 6]} {ANIMALS[k % 4]} in {sizes[k // 6]} houses of "
            "insects\n"
            for k in range(36)
        ]
        self.write("rows.tsv", "".join(rows))
        self.write("new.tsv", "x:4\tinsects\nx:0\tsmall dogs\n")
        lines = [f"x:{k}\t{name}\n" for k, name in enumerate(ANIMALS)]
        self.write("names.tsv", "# animals\n\n" + "".join(lines) + "x:4\tinsects\tchafers\n")
        cells = [f'x:{k},"{name}"\n' for k, name in enumerate(ANIMALS)]
        self.write("names.csv", "label,name\n" + "".join(cells) + "x:4,insects,chafers\n")
        self.write("tree", "".join(f"r x:{k}\n" for k in range(5)))
        terms = [f"[Term]\nid: x:{k}\nname: {name}\nis_a: r\n" for k, name in enumerate(ANIMALS)]
        self.write("tree.obo", "[Term]\nid: r\n" + "".join(terms)
                   + 'synonym: "insects" EXACT []\nsynonym: "chafers" EXACT []\n')  # fmt: skip

    FLAT = ("train", "--quiet", "--method", "flat-svm", "--text")
    MATCHING = (*FLAT, "--match-names")

    def model_of(self, *options: str, data: str = "rows.tsv") -> bytes:
        self.run_program(*self.MATCHING, *options, data, "model")
        return self.read("model")

    def shown(self, show: str, data: str = "new.tsv") -> list[str]:
        return self.run_program("predict", "--show", show, "model", data)[0].splitlines()

    def test_they_give_the_model_of_the_same_names_in_obo(self) -> None:
        expected = self.model_of("--hierarchy", "tree.obo")
        pathlib.Path(self.path("names.csv.gz")).write_bytes(gzip.compress(self.read("names.csv")))
        for names in ("names.tsv", "names.csv", "names.csv.gz"):
            model = self.model_of("--hierarchy", "tree", "--label-names", names)
            self.assertEqual(model, expected)

    def test_they_need_no_hierarchy(self) -> None:
        model = self.model_of("--label-names", "names.tsv")
        self.assertEqual(self.model_of("--label-names", "names.csv"), model)
        self.assertEqual(self.shown("id"), ["x:4", "x:0"])
        self.assertEqual(self.shown("name"), ["beetles", "dogs"])
        out, _ = self.run_program("info", "model")
        self.assertRegex(out, r"labels +5\n")
        self.assertRegex(out, r"hierarchy +none\n")
        out, _ = self.run_program("evaluate", "--json", "model", "new.tsv")
        self.assertIn('"accuracy":1.0', out)
        self.run_program("report", "--output", "page.html", "model", "new.tsv")
        self.assertIn(b"beetles", self.read("page.html"))
        self.assert_fails(2, "method nhsvm needs a hierarchy", "train", "--method", "nhsvm",
                          "--text", "--label-names", "names.tsv", "rows.tsv", "other")  # fmt: skip

    def test_level_svm_matches_them_by_default(self) -> None:
        level = ("train", "--quiet", "--method", "level-svm", "--text", "--hierarchy", "tree")
        given = ("--label-names", "names.tsv", "rows.tsv", "model")
        answers = []
        for switch in ("--match-names", "--match-names=auto", None):
            out, _ = self.run_program(*level, *([switch] if switch else []), *given)
            self.assertRegex(out, r"name_weight\t[1-9]")
            answers.append(self.run_program("predict", "--scores", "--top", "5", "model",
                                            "new.tsv")[0])  # fmt: skip
        self.assertEqual(self.shown("id"), ["x:4", "x:0"])
        self.assertEqual(len(set(answers)), 1)
        out, _ = self.run_program(*level, "--match-names=false", *given)
        self.assertNotIn("name_weight", out)
        self.assertNotEqual(self.shown("id"), ["x:4", "x:0"])
        self.assert_fails(2, "option match-names is 'maybe', but must be one of auto, true, false",
                          *level, "--match-names=maybe", *given)  # fmt: skip

    def test_a_stack_that_leaves_them_out_is_refused(self) -> None:
        level = ("train", "--quiet", "--method", "level-svm", "--hierarchy", "tree")
        given = ("--text", "--label-names", "names.tsv", "rows.tsv", "model")
        why = ", and scores of names are fitted beside those of centroids only"
        self.assert_fails(2, f"option label-names is given, but option stack is nhsvm{why}; with "
                          "--match-names=false the names serve predict --show name alone",
                          *level, "--stack", "nhsvm", *given)  # fmt: skip
        self.assert_fails(2, f"option stack is flat-lr, but match-names is given, too{why}",
                          *level, "--stack", "flat-lr", "--match-names", *given)  # fmt: skip
        self.run_program(*level, "--stack", "nhsvm", "--match-names=false", *given)
        self.assertEqual(self.shown("name", "rows.tsv")[:4], ANIMALS[:4])
        out, _ = self.run_program(*level, "--stack", "centroids", *given)
        self.assertIn("name_weight", out)
        # Names of a hierarchy, and of rows that are no texts, are left out without a word.
        self.run_program(*level[:-1], "tree.obo", "--stack", "nhsvm", "--text", "rows.tsv", "model")
        self.write(
            "numbers", "".join(f"x:{k % 4} {k % 4 + 1}:1 {k % 5 + 5}:1\n" for k in range(20))
        )
        self.run_program(
            *level, "--stack", "nhsvm", "--label-names", "names.tsv", "numbers", "model"
        )

    def test_by_default_level_svm_takes_rows_without_names_or_texts(self) -> None:
        self.write(
            "numbers", "".join(f"x:{k % 4} {k % 4 + 1}:1 {k % 5 + 5}:1\n" for k in range(20))
        )
        level = ("train", "--quiet", "--method", "level-svm")
        for given in (
            ("--hierarchy", "tree", "--label-names", "names.tsv", "numbers"),
            ("--hierarchy", "tree", "--text", "rows.tsv"),
            ("--hierarchy", "tree.obo", "--text", "--bias", "0", "rows.tsv"),
        ):
            scores = []
            for switch in ((), ("--match-names=false",)):
                out, _ = self.run_program(*level, *switch, *given, "model")
                self.assertNotIn("name_weight", out)
                scores.append(self.run_program("predict", "--scores", "--top", "5", "model",
                                               given[-1])[0])  # fmt: skip
            self.assertEqual(*scores)

    def test_labels_that_are_words_are_their_own_names(self) -> None:
        self.write("tree", "".join(f"all_animals all_{name}\n" for name in ANIMALS))
        rows = self.read("rows.tsv").decode()
        for k, name in enumerate(ANIMALS):
            rows = rows.replace(f"x:{k}\t", f"all_{name}\t")
        self.write("words.tsv", rows)
        self.write("new.tsv", "all_beetles\tbeetles\n")
        self.write("more.tsv", rows.replace("insects", "beetles"))
        given = ("--method", "level-svm", "--text", "--hierarchy", "tree", "more.tsv", "model")
        out, _ = self.run_program("train", "--quiet", *given)
        self.assertRegex(out, r"name_weight\t[1-9]")
        self.assertEqual(self.shown("id"), ["all_beetles"])
        flat = (*self.MATCHING, "words.tsv", "model")
        self.assertRegex(self.run_program(*flat)[0], r"name_weight\t0.*[1-9]")

    def test_names_that_are_not_matched_are_those_of_answers(self) -> None:
        for method, *options in (("flat-svm",), ("nhsvm", "--hierarchy", "tree")):
            given = ["--method", method, "--text", "--label-names", "names.tsv", *options]
            self.run_program("train", *given, "rows.tsv", "model")
            self.assertEqual(self.shown("name", "rows.tsv")[:4], ANIMALS[:4])

    def test_tune_auto_and_shards_take_them(self) -> None:
        names = ("--label-names", "names.tsv")
        flat = ("--method", "flat-svm", "--text", "--match-names", *names)
        self.run_program("tune", *flat, "--grid", "C=1", "rows.tsv", "model")
        self.assertEqual(self.shown("name"), ["beetles", "dogs"])
        out, _ = self.run_program("auto", "--text", *names, "rows.tsv", "model")
        self.assertIn("--label-names names.tsv", out)
        self.assertEqual(self.shown("name", "rows.tsv")[:4], ANIMALS[:4])
        plain = (*flat[:3], *names)
        self.run_program("plan-shards", *plain, "--shards", "2", "rows.tsv", "shards")
        for shard in ("0", "1"):
            self.run_program("train-shard", "shards", shard)
        self.run_program("merge-shards", "shards", "model")
        self.assertEqual(self.shown("name", "rows.tsv")[:4], ANIMALS[:4])

    def test_codes_of_the_names_are_in_the_hierarchy_of_codes(self) -> None:
        for file in ("rows.tsv", "names.tsv", "new.tsv"):
            text = self.read(file).decode()
            self.write("code-" + file, re.sub(r"x:(\d)", r"30\1.8", text))
        options = ("--hierarchy-from", "codes", "--label-names", "code-names.tsv")
        self.model_of(*options, data="code-rows.tsv")
        self.assertEqual(self.shown("id", "code-new.tsv"), ["304.8", "300.8"])
        self.assertEqual(self.shown("path", "code-new.tsv"), ["30 > beetles", "30 > dogs"])

    def test_labels_that_are_paths_may_have_names(self) -> None:
        rows = "".join(f"A/{'ab'[k % 2]},{k % 2}\n" for k in range(8))
        self.write("paths.csv", "p,x\n" + rows)
        self.write("names.tsv", "A/a\tAlpha\nA/z\tZeta\n")
        train = ("train", "--method", "nhsvm", "--path-column", "p", "--separator", "/",
                 "--numeric-columns", "x", "--label-names", "names.tsv")  # fmt: skip
        text = "names.tsv:2: label is 'A/z', but must be a node of paths.csv; --unknown-labels drop"
        self.assert_fails(3, text, *train, "paths.csv", "model")
        _, err = self.run_program(*train, "--unknown-labels", "drop", "paths.csv", "model")
        self.assertIn("1 labels of names.tsv are not in paths.csv and were left out; one of them "
                      "is 'A/z'", err)  # fmt: skip
        self.assertEqual(self.shown("name", "paths.csv")[:2], ["Alpha", "b"])
        self.assertEqual(self.shown("path", "paths.csv")[:2], ["A/Alpha", "A/b"])

    def test_labels_that_are_not_known(self) -> None:
        self.write("more.tsv", "x:1\tcats\nx:9\twolves\n")
        given = (*self.FLAT, "--hierarchy", "tree", "--label-names", "more.tsv")
        text = "more.tsv:2: label is 'x:9', but must be a node of tree; --unknown-labels drop"
        self.assert_fails(3, text, *given, "rows.tsv", "other")
        _, err = self.run_program(*given, "--unknown-labels", "drop", "rows.tsv", "model")
        self.assertIn("1 labels of more.tsv are not in tree and were left out; one of them is "
                      "'x:9'", err)  # fmt: skip
        self.write("others.tsv", "wolf\twolves\n")
        none = "others.tsv: none of its 1 labels is a "
        flat = (*self.FLAT, "--label-names", "others.tsv")
        self.assert_fails(3, none + "label of rows.tsv; one of them is 'wolf'", *flat, "rows.tsv",
                          "other")  # fmt: skip
        self.assert_fails(3, none + "node of tree; one of them is 'wolf'", *flat, "--hierarchy",
                          "tree", "--unknown-labels", "drop", "rows.tsv", "other")  # fmt: skip

    def test_files_that_are_refused(self) -> None:
        self.write("bare", "x:1\n")
        for code, text, names in (
            (3, "bare:1:1: label 'x:1' has no name, but the line must be label<TAB>name", "bare"),
            (3, "absent: cannot open", "absent"),
        ):
            self.assert_fails(code, text, *self.FLAT, "--label-names", names, "rows.tsv", "other")
        self.assert_fails(
            2, "option label-names is given, but method structured reads", "train", "--method",
            "structured", "--label-names", "names.tsv", "rows.tsv", "other",
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
