"""--method structured: starts, constraints, learned relations and their explanation.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import random
import unittest

from test_cli import CliTest

TAGS = "Ann B-PER\nLee I-PER\nsleeps O\n\nRome B-LOC\nsleeps O\n\nAnn B-PER\nsees O\nRome B-LOC\n\n"
TREE = (
    "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n"
    "2\tdog\tdog\tNOUN\t_\t_\t3\tnsubj\t_\t_\n"
    "3\truns\trun\tVERB\t_\t_\t0\troot\t_\t_\n"
    "4\thome\thome\tNOUN\t_\t_\t3\tobl\t_\t_\n\n"
)
TRAIN = ["train", "--quiet", "--method", "structured"]
PARSER = [*TRAIN, "--model", "dependency", "--hash-bits", "12"]


class Structured(CliTest):
    def passes(self, *arguments: str) -> int:
        out, _ = self.run_program(*arguments)
        return int(dict(line.split("\t") for line in out.splitlines())["passes"])

    def write_noisy_data(self) -> None:
        """Examples whose answers no model can tell, so that training takes several passes."""
        draw = random.Random(3)
        tags, trees, sets = [], [], []
        for _ in range(40):
            words = [draw.choice("abcd") for _ in range(4)]
            tags += [f"{word} {draw.choice('XYZ')}\n" for word in words] + ["\n"]
            for k, word in enumerate(words, 1):
                head, name = k - 1, draw.choice(["dep", "obj"])
                cells = [str(k), word, word, draw.choice("NV"), "_", "_", str(head), name, "_", "_"]
                trees.append("\t".join(cells) + "\n")
            trees.append("\n")
            labels = [label for label in "abc" if draw.random() < 0.5]
            sets.append(f"{','.join(labels) or 'a'} 1:{draw.gauss(0, 1):.3f} 2:1\n")
        for name, lines in (("tags", tags), ("trees", trees), ("sets", sets)):
            self.write(name, "".join(lines))

    def test_a_model_is_trained_from_another(self) -> None:
        self.write_noisy_data()
        for model, data in (
            ("chain", "tags"),
            ("dependency", "trees"),
            ("multilabel-field", "sets"),
        ):
            with self.subTest(model):
                train = [*TRAIN, "--model", model, "--tolerance", "1e-3", "--C", "1"]
                train += ["--decision", "argmax"] * (model != "dependency")
                bcfw = [*train, "--max-passes", "500", "--solver", "bcfw"]
                anew = self.passes(*bcfw, data, "first")
                again = self.passes(*bcfw, "--start", "first", data, "second")
                # bcfw has a start of its own for label sets.
                self.assertLess(again, anew + (model == "multilabel-field"))
                for solver in ("sgd", "cutting-plane", "one-slack"):
                    few = [*train, "--max-passes", "5", "--solver", solver]
                    self.run_program(*few, "--start", "first", data, "third")

    def test_a_start_finds_tags_and_features_by_their_names(self) -> None:
        self.write("tags", TAGS * 5)
        self.write("more", ("Zoe B-PER\nruns O\n\n" + TAGS) * 5)
        train = [*TRAIN, "--solver", "sgd", "--C", "1", "--max-passes"]
        self.run_program(*train, "50", "tags", "first")
        self.run_program(*train, "1", "--start", "first", "more", "second")
        answers = self.run_program("predict", "second", "tags")[0]
        truth = "".join(line.partition(" ")[2] + "\n" for line in (TAGS * 5).splitlines())
        self.assertEqual(answers, truth)

    def test_a_chain_of_second_order_tells_what_pairs_do_not(self) -> None:
        sentence = "".join(f"x {tag}\n" for tag in "AABBAABB") + "\n"
        self.write("tags", sentence * 9)
        train = [*TRAIN, "--C", "10", "--solver", "bcfw"]
        self.run_program(*train, "--order", "2", "tags", "second")
        self.run_program(*train, "tags", "first")
        exact = [
            "token_accuracy           1.0000" in self.run_program("evaluate", model, "tags")[0]
            for model in ("second", "first")
        ]
        self.assertEqual(exact, [True, False])
        self.assertRegex(self.run_program("info", "second")[0], r"\norder +2\n")
        # Each order starts from the other: what both have is taken over.
        for order, start in (("2", "first"), ("1", "second"), ("2", "second")):
            few = [*train, "--order", order, "--max-passes", "1", "--start", start]
            self.run_program(*few, "tags", "third")
        self.assertIn("token_accuracy           1.0000",
                      self.run_program("evaluate", "third", "tags")[0])  # fmt: skip
        self.assert_fails(
            2, "option order is 3, but must be in [1, 2]",
            *TRAIN, "--order", "3", "tags", "model",
        )  # fmt: skip

    def test_pairs_of_words_tell_a_word_apart(self) -> None:
        # The tag of the second word is that of the pair, which no sum over the two words tells.
        pairs = [f"{a} Z\n{b} {'X' if a == b else 'Y'}\n\n" for a in "ab" for b in "ab"]
        self.write("tags", "".join(pairs) * 5)
        train = [*TRAIN, "--C", "10", "--solver", "bcfw"]
        self.run_program(*train, "tags", "with")
        self.run_program(*train, "--word-pairs=false", "tags", "without")
        exact = [
            "token_accuracy           1.0000" in self.run_program("evaluate", model, "tags")[0]
            for model in ("with", "without")
        ]
        self.assertEqual(exact, [True, False])
        for model, version in (("with", 13), ("without", 1)):
            self.assertRegex(self.run_program("info", model)[0], rf"\nformat version +{version}\n")

    def test_capitals_of_any_alphabet_tell_names(self) -> None:
        # Names occur once and begin with other letters than those of the training, so that only
        # capitals tell them apart from other words.
        consonants, vowels = "bdfgklmnprst", "aeiou"
        words = [a + b + c + d for a in consonants for b in vowels for c in consonants[:4]
                 for d in vowels[:2]]  # fmt: skip
        latin = consonants + vowels
        text = {"train": "", "test": ""}
        draw = random.Random(0)
        for pair in zip(words[::2], words[1::2], strict=True):
            part = "test" if pair[0][0] in consonants[8:] else "train"
            name, word = draw.sample(pair, 2)
            tagged = draw.sample([f"{name.capitalize()} B-X\n", f"{word} O\n"], 2)
            text[part] += "".join(tagged) + "\n"
        for name, letters in {
            "Latin": latin,
            "Cyrillic": "бдфгклмнпрстаеиоу",
            "Greek": "βδφγκλμνπρστεηιου",
            "Armenian": "բգդզթժլխծկհձաեըիո",
        }.items():
            other = str.maketrans(latin + latin.upper(), letters + letters.upper())
            for part, lines in text.items():
                rows = [line.split(" ") for line in lines.split("\n")]
                self.write(part, "\n".join(" ".join([r[0].translate(other), *r[1:]]) for r in rows))
            self.run_program(*TRAIN, "--word-clusters", "0", "train", "model")
            out, _ = self.run_program("evaluate", "model", "test")
            self.assertIn("token_accuracy           1.0000", out, name)
            version = 1 if name == "Latin" else 14
            out, _ = self.run_program("info", "model")
            self.assertRegex(out, rf"\nformat version +{version}\n")

    def test_words_are_in_clusters_where_tags_stand_for_spans(self) -> None:
        cities, names = ["rome", "oslo", "bonn", "york"], ["ann", "bob", "eve", "kim"]
        places = [f"to O\n{city} B-LOC\n\n" for city in cities[:3]]
        people = [f"{name} B-PER\nis O\n\n" for name in names]
        others = [f"go O\nto O\n{city} B-LOC\nnow O\n\n" for city in cities]
        self.write("tags", "".join(places + people + others) * 3)
        for options, count in (([], 12), (["--word-clusters", "5"], 12),
                               (["--word-clusters", "0"], 0)):  # fmt: skip
            self.run_program(*TRAIN, *options, "tags", "model")
            self.assertRegex(
                self.run_program("info", "model")[0], rf"\nwords in clusters +{count}\n"
            )
        # Tags of words get none by default; a start brings its own along.
        self.write("words", "a X\nb Y\n\n" * 9)
        self.run_program(*TRAIN, "words", "model")
        self.assertRegex(self.run_program("info", "model")[0], r"\nwords in clusters +0\n")
        self.run_program(*TRAIN, "--word-clusters", "2", "words", "model")
        self.write("more", "a X\nb Y\nc Z\nc Z\n\n" * 9)
        for options, count in (([], 2), (["--word-clusters", "2"], 3)):
            self.run_program(*TRAIN, *options, "--start", "model", "more", "again")
            self.assertRegex(
                self.run_program("info", "again")[0], rf"\nwords in clusters +{count}\n"
            )
        self.assert_fails(
            2, "option word-clusters is -1, but must be auto or >= 0",
            *TRAIN, "--word-clusters=-1", "words", "model",
        )  # fmt: skip

    def test_starts_that_do_not_fit_are_refused(self) -> None:
        self.write("tags", TAGS * 5)
        self.write("trees", TREE * 5)
        self.write("others", TREE.replace("obl", "obj") * 5)
        self.write("sets", "a,b 1:1\nb 2:1\na 1:2\n" * 5)
        self.write("wider", "a,b 1:1\nb 2:1\na 3:2\n" * 5)
        self.write("renamed", "a,c 1:1\nc 2:1\na 1:2\n" * 5)
        field = [*TRAIN, "--model", "multilabel-field", "--decision", "argmax"]
        self.run_program(*TRAIN, "tags", "chain")
        self.run_program(*PARSER, "trees", "parser")
        self.run_program(*field, "sets", "field")
        for message, arguments in (
            ("option start is a model of kind dependency, which model chain cannot start from",
             [*TRAIN, "--start", "parser", "tags"]),
            ("option start is a model with hash-bits 12, but option hash-bits is 13",
             [*TRAIN, "--model", "dependency", "--hash-bits", "13", "--start", "parser", "trees"]),
            ("option start is a model of other relations than those of the training file",
             [*PARSER, "--start", "parser", "others"]),
            ("option start is a model of 3 columns with the intercept, but the rows have 4",
             [*field, "--start", "field", "wider"]),
            ("option start is a model of other labels than those of the rows",
             [*field, "--start", "field", "renamed"]),
            ("option start is given, but method flat-svm does not offer it; structured does",
             ["train", "--quiet", "--method", "flat-svm", "--start", "field", "sets"]),
            ("option start is given, but model hierarchy does not offer it; chain, "
             "multilabel-field and dependency do",
             [*TRAIN, "--model", "hierarchy", "--start", "field", "sets"]),
        ):  # fmt: skip
            with self.subTest(message):
                self.assert_fails(2, message, *arguments, "model")
        self.assert_fails(
            3, "chain: the result would replace chain, which is read",
            *TRAIN, "--start", "chain", "tags", "chain",
        )  # fmt: skip

    def test_limits_of_searches_are_options(self) -> None:
        self.write("tags", TAGS * 5)
        train = [*TRAIN, "--surrogate", "prob", "--solver", "sgd"]
        self.run_program(*train, "--max-bans", "5", "--search-calls", "9", "tags", "model")
        facts = self.run_program("info", "model")[0]
        self.assertIn("max_bans", facts)
        self.assert_fails(
            2, "option search-tolerance is 0.1, but search is margin, which is exact",
            *TRAIN, "--search-tolerance", "0.1", "tags", "model",
        )  # fmt: skip
        self.assert_fails(
            2, "option search-calls is 3, but search is margin, which makes one call",
            *TRAIN, "--search-calls", "3", "tags", "model",
        )  # fmt: skip
        for search in ([], ["--surrogate", "slack", "--search", "bisecting"]):
            self.assert_fails(
                2, "option max-bans is 5, but search is ",
                *TRAIN, *search, "--max-bans", "5", "tags", "model",
            )  # fmt: skip

    def test_steps_and_convex_passes_of_sgd_are_options(self) -> None:
        self.write("tags", TAGS * 5)
        train = [*TRAIN, "--surrogate", "prob", "--solver", "sgd", "--C", "0.5"]

        def objective(*options: str) -> str:
            out = self.run_program(*train, "--max-passes", "6", *options, "tags", "model")[0]
            return dict(line.split("\t") for line in out.splitlines())["objective"]

        by_default = objective()
        self.assertEqual(objective("--learning-rate", "0.5", "--convex-passes", "3"), by_default)
        self.assertNotEqual(objective("--learning-rate", "0.05"), by_default)
        self.assertNotEqual(objective("--convex-passes", "0"), by_default)
        self.assert_fails(
            2, "option learning-rate is 0.1, but solver is bcfw; it is for sgd",
            *TRAIN, "--solver", "bcfw", "--learning-rate", "0.1", "tags", "model",
        )  # fmt: skip
        self.assert_fails(
            2, "option learning-rate is 0, but must be auto or > 0",
            *TRAIN, "--learning-rate", "0", "tags", "model",
        )  # fmt: skip

    def test_constraints_that_the_training_tags_break_are_a_warning(self) -> None:
        self.write("tags", TAGS * 5 + "Lee\tI-PER\n\n")
        sentences = (TAGS * 5).count("\n\n") + 1
        for options, warned in ((["--constraints", "bio"], True), ([], False)):
            err = self.run_program(*TRAIN[:1], *TRAIN[2:], *options, "tags", "model")[1]
            told = f"the tags of 1 of {sentences} sentences break the constraints bio" in err
            self.assertEqual(told, warned, err)

    def test_tags_of_spans_are_answered_as_spans(self) -> None:
        # Without the constraint, Lee is I-PER after the unknown word.
        self.write("tags", TAGS * 5)
        self.write("new", "sleeps\nLee\n\nLee\nLee\n\n")
        train = [*TRAIN, "--C", "10", "--decision", "argmax", "--max-passes", "200"]
        for name, options in (("auto", []), ("bio", ["--constraints", "bio"]),
                              ("none", ["--constraints", "none"])):  # fmt: skip
            self.run_program(*train, *options, "tags", name)
            answers = self.run_program("predict", name, "new")[0]
            before = "O"
            wrong = 0
            for tag in answers.split("\n"):
                wrong += tag.startswith("I-") and before[1:] != tag[1:]
                before = tag or "O"
            self.assertEqual(wrong > 0, name == "none", f"{name}: {answers}")
        self.assertIn("bio", self.run_program("info", "auto")[0])
        self.write("words", "one X\ntwo Y\n\n" * 3)
        self.assert_fails(
            2, "option constraints is bio, but not all tags are O or have a prefix",
            *TRAIN, "--constraints", "bio", "words", "model",
        )  # fmt: skip

    def test_subgradients_end_by_themselves_without_a_warning(self) -> None:
        self.write("tags", TAGS * 20)
        out, err = self.run_program(*TRAIN[:1], *TRAIN[2:], "--max-passes", "1000", "tags", "model")
        facts = dict(line.split("\t") for line in out.splitlines())
        self.assertEqual(facts["stop"], "settled")
        self.assertLess(int(facts["passes"]), 1000)
        self.assertNotIn("tolerance", err)
        self.assertNotIn("warning", err)

    def test_arcs_and_relations_are_explained(self) -> None:
        self.write("trees", TREE * 5)
        for relations in ("joint", "separate", "table"):
            with self.subTest(relations):
                self.run_program(*PARSER, "--relations", relations, "trees", "model")
                out = self.run_program("explain", "model", "trees", "--row", "2")[0]
                self.assertIn("2 dog: head 3 runs, relation nsubj; arc +", out)
                self.assertIn("3 runs: head 0 (root), relation root; arc ", out)
                self.assertIn("  other heads: ", out)
                self.assertEqual("  other relations: " in out, relations != "table")
        self.assert_fails(
            2, "option row is 6, but the data have only 5 sentences",
            "explain", "model", "trees", "--row", "6",
        )  # fmt: skip
        self.assert_fails(
            2, "option label is given, but the examples of method structured are not rows",
            "explain", "model", "trees", "--row", "1", "--label", "nsubj",
        )  # fmt: skip

    def test_relations_of_a_model_are_checked(self) -> None:
        self.write("trees", TREE)
        self.assert_fails(
            2, "option loss is heads, but relations is separate",
            *PARSER, "--relations", "separate", "--loss", "heads", "trees", "model",
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
