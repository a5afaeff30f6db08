"""The page that `margrove serve` has at /, looked at by Chromium where it is installed.

Needs only the standard library; MARGROVE names the program.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse

import test_serve

BROWSER = shutil.which("chromium")


class Page(test_serve.ServeTest):
    def test_needs_no_token_and_takes_no_options(self) -> None:
        pathlib.Path(self.path("token")).write_text("0123456789abcdef\n", encoding="utf-8")
        server = self.serve("--token-file", "token", "animals.model")
        status, page = server.ask("GET", "/")
        self.assertEqual(status, 200)
        self.assertIn("<h1>Try a model</h1>", page)
        self.assertIsNone(re.search(r"(src|href)=.(?!data:)", page))
        self.assertNotIn("%S", page)
        self.assertEqual(server.ask("GET", "/?x=1")[0], 400)
        self.assertEqual(server.ask("GET", "/none")[0], 401)

    @unittest.skipIf(BROWSER is None, "Debian's package chromium is not installed")
    def test_answers_the_row_of_a_link(self) -> None:
        server = self.serve("animals.model", "shop.model", "numbers.model")
        text = test_serve.texts()[0]
        page = self.visited(server, text)
        expected = server.ask("POST", "/predict", {"row": text, "top": 5, "probabilities": True})
        for label in expected[1]["predictions"][0]["labels"]:
            self.assertIn(f"<td>{label}</td>", page)
        self.assertIn("probability", page)
        self.assertRegex(page, r'<div class="text">.*<mark')
        self.assertIn('<option value="shop">', page)

        server = self.serve("shop.model", "numbers.model")
        page = self.visited(server, '{"title": "red shoe", "price": 10, "colour": "red"}')
        self.assertIn("<td>clothes</td>", page)
        self.assertIn("colour = red", page)
        self.assertIn("no object of JSON", self.visited(server, "{"))
        self.assertIn("price", self.visited(server, '{"price": "much"}'))

    @unittest.skipIf(BROWSER is None, "Debian's package chromium is not installed")
    def test_asks_for_the_token(self) -> None:
        pathlib.Path(self.path("token")).write_text("0123456789abcdef\n", encoding="utf-8")
        server = self.serve("--token-file", "token", "animals.model")
        page = self.visited(server, "", errors=True)
        self.assertIn('<label id="token-box">', page)

    def visited(self, server: test_serve.Server, row: str, errors: bool = False) -> str:
        """The page after it has answered."""
        assert BROWSER is not None
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [
                    *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
                    *("--enable-logging=stderr", f"--user-data-dir={profile}"),
                    "--virtual-time-budget=5000",
                    f"http://127.0.0.1:{server.port}/#{urllib.parse.quote(row)}",
                ],
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
            )
        if not errors:
            # Chromium itself reports answers with other statuses, such as 400 for a wrong row.
            reports = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
            self.assertEqual([line for line in reports if "Failed to load" not in line], [])
        return done.stdout


if __name__ == "__main__":
    unittest.main()
