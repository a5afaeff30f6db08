"""What is made of the declared options: completion of bash and zsh, the manual page.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from test_cli import MARGROVE, METHODS, VERBS, CliTest

# What the shells do before and after they call the function.
BASH = """
source ./script
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_margrove
if ((${#COMPREPLY[@]})); then printf '%s\\n' "${COMPREPLY[@]}"; fi
"""
ZSH = """
compdef() { [[ "$*" == "_margrove margrove" ]] || exit 1 }
compadd() { shift; print -l -- ${(M)@:#${words[CURRENT]}*} }
_files() { print -- '<files>' }
compset() { : }
source ./script
words=("$@"); CURRENT=$#words
_margrove
"""


class Declared(CliTest):
    def options(self, *arguments: str) -> set[str]:
        """Those that help shows."""
        text = self.run_program(*arguments, "--help")[0]
        return set(re.findall(r"(?m)^ +(?:-h,)?(--[a-z0-9A-Z-]+)", text))


class Manual(Declared):
    def test_it_has_every_verb_and_every_option_and_no_fault(self) -> None:
        text = self.run_program("manual")[0]
        self.assertTrue(text.startswith('.\\" Made by margrove manual.\n.TH MARGROVE 1 '))
        sections = {
            part.split("\n")[0].replace("\\-", "-"): part.replace("\\-", "-")
            for part in re.split(r"(?m)^\.S[SH] ", text)
        }
        for verb in VERBS:
            for option in self.options(verb):
                self.assertRegex(sections[verb], rf"(?m)^\.B {option}( |$)")
        for method in METHODS:
            for option in self.options("train", "--method", method) - self.options("train"):
                self.assertRegex(sections[method], rf"(?m)^\.B {option}( |$)")
        if shutil.which("man"):
            self.write("margrove.1", text)
            done = subprocess.run(
                ["man", "--warnings", "-l", self.path("margrove.1")],
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
                env=os.environ | {"MANWIDTH": "100", "MANPAGER": "cat"},
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("--bootstrap INT", done.stdout)

    def test_it_is_installed_with_the_program(self) -> None:
        build = pathlib.Path(MARGROVE).resolve().parent
        cmake = shutil.which("cmake")
        script = build / "cmake_install.cmake"
        if cmake is None or not script.exists() or "margrove.1" not in script.read_text():
            self.skipTest("the program is not in a build folder that installs it")
        subprocess.run(
            [cmake, "--install", build, "--component", "program", "--prefix", self.path("usr")],
            check=True,
            capture_output=True,
            timeout=300,
        )
        installed = self.read("usr/share/man/man1/margrove.1").decode()
        self.assertEqual(installed, self.run_program("manual")[0])


class Completion(Declared):
    def complete(self, shell: str, *words: str) -> list[str]:
        """The candidates for the last of the words after `margrove`."""
        name = shutil.which(shell)
        assert name is not None
        self.write("script", self.run_program("completion", shell)[0])
        frame = BASH if shell == "bash" else ZSH
        startup = "--norc" if shell == "bash" else "-f"
        done = subprocess.run(
            [name, startup, "-c", frame, shell, "margrove", *words],
            cwd=self.directory.name,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout.splitlines()

    def check(self, shell: str) -> None:
        self.assertEqual(self.complete(shell, "pr"), ["predict"])
        self.assertEqual(set(self.complete(shell, "")), {*VERBS, "help", "--help", "--version"})
        for verb in VERBS:
            self.assertEqual(set(self.complete(shell, verb, "--")), self.options(verb), verb)
        self.assertEqual(self.complete(shell, "help", "tra"), ["train", "train-shard"])
        self.assertTrue(set(METHODS) <= set(self.complete(shell, "tune", "--method", "")))
        for verb in ("train", "tune", "plan-shards"):
            self.assertEqual(
                set(self.complete(shell, verb, "--method", "hr-svm", "--")),
                self.options(verb, "--method", "hr-svm"),
            )
        self.assertEqual(self.complete(shell, "auto", "--scale", "st"), ["standard"])
        self.assertEqual(
            self.complete(shell, "train", "--method", "flat-svm", "--multiclass", ""),
            ["ovr", "crammer-singer"],
        )
        self.assertEqual(self.complete(shell, "generate", "b"), ["balanced"])
        self.assertEqual(self.complete(shell, "auto", "--metric", "mi"), ["micro_f1"])
        areas = ["au_prc", "au_prc_macro", "au_prc_weighted"]
        self.assertEqual(self.complete(shell, "tune", "--metric", "au"), areas)
        self.assertEqual(self.complete(shell, "tune", "--metric", "br"), [])  # not calibrated
        ranks = ["ndcg_at_1", "ndcg_at_3", "ndcg_at_5", "ndcg_at_10"]
        self.assertEqual(self.complete(shell, "evaluate", "--metrics", "nd"), ranks)
        self.assertEqual(self.complete(shell, "compress", "--metric", "nd"), ranks)
        self.assertIn("balanced", self.complete(shell, "train", "--class-weight", "b"))
        self.assertEqual(self.complete(shell, "predict", "--show", ""), ["name", "path", "id"])

    def test_bash_completes_verbs_options_and_values(self) -> None:
        self.check("bash")
        # bash takes --name=value for three words. Where nothing is known it offers files.
        self.assertEqual(self.complete("bash", "train", "--method", "=", "nh"), ["nhsvm"])
        self.assertEqual(len(self.complete("bash", "auto", "--scale", "=")), 6)
        self.assertEqual(self.complete("bash", "train", "--hierarchy", ""), [])
        self.assertEqual(self.complete("bash", "info", ""), [])
        self.write("notes", "")
        values = self.complete("bash", "tune", "--class-weight", "no")
        self.assertEqual(values, ["notes", "none"])
        self.assertIn("complete -o default -F _margrove margrove\n", self.read("script").decode())

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_completes_verbs_options_and_values(self) -> None:
        self.check("zsh")
        self.assertEqual(self.complete("zsh", "train", "--method=nh"), ["--method=nhsvm"])
        for words in (["train", "--hierarchy", ""], ["train", "--hierarchy="], ["info", ""]):
            self.assertEqual(self.complete("zsh", *words), ["<files>"])
        self.assertEqual(self.complete("zsh", "predict", "--threads", ""), [])

    def test_other_shells_are_refused(self) -> None:
        self.assert_fails(2, "fish not in {bash,zsh}", "completion", "fish")


if __name__ == "__main__":
    unittest.main()
