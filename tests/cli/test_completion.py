"""Completion of commands in bash, and in zsh where it is installed.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import re
import shutil
import subprocess
import unittest

from test_cli import METHODS, VERBS, CliTest

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


class Completion(CliTest):
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
            timeout=100,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout.splitlines()

    def options(self, *arguments: str) -> set[str]:
        """Those that help shows."""
        text = self.run_program(*arguments, "--help")[0]
        return set(re.findall(r"(?m)^ +(?:-h,)?(--[a-z0-9A-Z-]+)", text))

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
        self.assertEqual(self.complete(shell, "predict", "--show", ""), ["name", "path", "id"])

    def test_bash_completes_verbs_options_and_values(self) -> None:
        self.check("bash")
        # bash takes --name=value for three words. Where nothing is known it offers files.
        self.assertEqual(self.complete("bash", "train", "--method", "=", "nh"), ["nhsvm"])
        self.assertEqual(len(self.complete("bash", "auto", "--scale", "=")), 6)
        self.assertEqual(self.complete("bash", "train", "--hierarchy", ""), [])
        self.assertEqual(self.complete("bash", "info", ""), [])
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
