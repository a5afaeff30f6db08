"""Model files from strangers: what they may not do to the machine, the terminal or other files.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import json
import os
import resource
import struct
import subprocess
import unittest
from pathlib import Path

from test_cli import MARGROVE, CliTest

MEMORY = 300_000_000  # bytes that a program may ask for that reads a model of some kilobytes

ROWS = "a 1:1 2:0.5\nb 1:0.2 2:1\na 1:1.1\nb 2:1\nc 3:1\nc 1:0.1 3:0.9\n"


class ModelFile:
    """Metadata and tensors (dtype, shape, bytes) of a safetensors file, to change and write."""

    def __init__(self, content: bytes) -> None:
        (size,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + size])
        data = content[8 + size :]
        self.metadata: dict[str, str] = header.pop("__metadata__")
        self.tensors = {
            name: (each["dtype"], each["shape"], data[slice(*each["data_offsets"])])
            for name, each in header.items()
        }

    def content(self) -> bytes:
        header: dict[str, object] = {"__metadata__": self.metadata}
        data = b""
        for name, (dtype, shape, part) in self.tensors.items():
            offsets = [len(data), len(data) + len(part)]
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
            data += part
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data


class HostileModels(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("train", ROWS)

    def trained(self, method: str, *options: str) -> ModelFile:
        self.run_program("train", "--method", method, *options, "--quiet", "train", "model")
        return ModelFile(self.read("model"))

    def run_bounded(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        def limit() -> None:
            if not os.environ.get("MARGROVE_SANITIZED"):  # whose shadow memory needs more
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

        return subprocess.run(
            [MARGROVE, *arguments, "--threads", "1"] if arguments[0] != "info"
            else [MARGROVE, *arguments],
            cwd=self.directory.name, capture_output=True, text=True, timeout=300, check=False,
            preexec_fn=limit,
        )  # fmt: skip

    def assert_refused(self, model: ModelFile, message: str) -> None:
        Path(self.directory.name, "hostile").write_bytes(model.content())
        for arguments in (["info", "hostile"], ["predict", "hostile", "train"]):
            done = self.run_bounded(*arguments)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("hostile: ", done.stderr)
            self.assertIn(message, done.stderr)

    def test_name_no_file_that_is_opened(self) -> None:
        model = self.trained("average-mkl")
        path = Path(self.directory.name, "pipe")
        os.mkfifo(path)
        network = json.loads(model.metadata["kernel.network"])
        for kernel in network["kernels"].values():
            kernel.update(type="precomputed", file=str(path), columns="1")
            kernel.pop("width", None)
        model.metadata["kernel.network"] = json.dumps(network)
        self.assert_refused(model, "the table of the precomputed kernel")

    def test_keep_the_tables_of_their_kernels(self) -> None:
        rows: list[list[float]] = [
            [1, 0.5, 0],
            [0.2, 1, 0],
            [1.1, 0, 0],
            [0, 1, 0],
            [0, 0, 1],
            [0.1, 0, 0.9],
        ]
        table = [" ".join(str(sum(a * b for a, b in zip(x, z, strict=True))) for z in rows)
                 for x in rows]  # fmt: skip
        self.write("table", "\n".join(table) + "\n")
        labels = [line.split()[0] for line in ROWS.splitlines()]
        self.write("train", "".join(f"{y} 1:{i + 1}\n" for i, y in enumerate(labels)))
        kernel = {"type": "precomputed", "file": "table", "columns": "1"}
        network = {"kernels": {"k": kernel}, "shape": "one-layer"}
        self.trained("average-mkl", "--network", json.dumps(network))
        Path(self.directory.name, "table").unlink()
        self.assertEqual(self.run_program("predict", "model", "train")[0], "a\nb\na\nb\nc\nc\n")

    def test_nested_deep_are_refused(self) -> None:
        model = self.trained("spn-mkl")
        deep = "[" * 100_000 + "]" * 100_000
        model.metadata["kernel.network"] = f'{{"kernels": {{}}, "root": {deep}}}'
        self.assert_refused(model, "is nested more than 500 deep")

    def test_that_ask_for_very_many_kernels_are_refused(self) -> None:
        model = self.trained("spn-mkl")
        model.metadata["kernel.num_features"] = "4294967290"
        kernel: dict[str, object] = {"type": "linear", "each_column": True}
        for widths in (None, list(range(1, 1000))):
            if widths:
                kernel = {"type": "gaussian", "widths": widths, "degrees": widths}
            model.metadata["kernel.network"] = json.dumps(
                {"kernels": {"k": kernel}, "shape": "one-layer"}
            )
            self.assert_refused(model, "stands for more than 100000 kernels")

    def test_take_memory_by_what_they_hold_and_not_by_the_numbers_they_name(self) -> None:
        model = self.trained("spn-mkl", "--scale", "none")
        expected, _ = self.run_program("predict", "model", "train")
        model.metadata["kernel.num_features"] = "4294967290"
        Path(self.directory.name, "hostile").write_bytes(model.content())
        done = self.run_bounded("predict", "hostile", "train", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, expected)

    def test_of_a_long_chain_of_nodes_take_little_memory(self) -> None:
        length = 5_000 if os.environ.get("MARGROVE_SANITIZED") else 20_000
        self.write("chain", "".join(f"n{i} n{i + 1}\n" for i in range(length)))
        self.write("train", f"n{length} 1:1\nn{length // 2} 2:1\nn5 1:1 2:1\n")
        for method in ("flat-svm", "top-down-svm", "level-svm"):
            self.trained(method, "--hierarchy", "chain")
            for arguments in (["info", "model"], ["predict", "model", "train"],
                              ["evaluate", "model", "train"]):  # fmt: skip
                done = self.run_bounded(*arguments)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_cannot_command_the_terminal(self) -> None:
        model = self.trained("flat-svm")
        model.metadata["method"] = "\x1b[2Jcleared\x07\u009b"
        model.metadata["option.C"] = "1\r2"
        Path(self.directory.name, "hostile").write_bytes(model.content())
        out, _ = self.run_program("info", "hostile")
        self.assertIn("\\x1b[2Jcleared\\x07\\xc2\\x9b", out)
        self.assertIn("1\\x0d2", out)
        model.metadata["kind"] = "\x1b[2J"
        Path(self.directory.name, "hostile").write_bytes(model.content())
        self.assert_fails(4, "\\x1b[2J", "info", "hostile")

    def test_that_are_pipes_are_refused_at_once(self) -> None:
        os.mkfifo(Path(self.directory.name, "pipe"))
        self.assert_fails(4, "not a regular file", "info", "pipe")
        self.assert_fails(4, "not a regular file", "info", "/dev/zero")


if __name__ == "__main__":
    unittest.main()
