"""Every kind of input costs at most 100 bytes of memory for each byte in, and work in proportion.

The entries are those of amplification_entries.py, of which bench/amplification.py prints the table.
Work is counted by the questions for the time, one after each so many bytes, terms or labels.
Entries that are known to break the bounds say so there, and are left out.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import os
import tempfile
import unittest
from pathlib import Path

from amplification_entries import (
    ENTRIES,
    FREE_BYTES,
    MEGABYTE,
    MOST_TIMES,
    REQUESTS,
    TAKEN,
    Cost,
    Entry,
    answer_cost,
    cost,
    prepare,
    train_server_model,
    trivial,
)
from test_cli import MARGROVE

SANITIZED = bool(os.environ.get("MARGROVE_SANITIZED"))
MOST_GROWTH = 2.2  # of the work, where the bytes are doubled
FEW = 20  # questions, of which some do not depend on the input


class Amplification(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = Path(directory.name)
        prepare(self.folder)

    def assert_ends(self, entry: Entry, done: Cost) -> None:
        """As the entry says: neither a crash nor the end of the memory, and it read the input."""
        self.assertEqual(done.code, entry.code if entry.says else 0, done.err)
        if entry.says:
            self.assertRegex(done.err, entry.says)

    def test_of_files_is_bounded_and_work_is_linear(self) -> None:
        own = trivial(MARGROVE, self.folder)
        for entry in ENTRIES:
            if SANITIZED and TAKEN in entry.says:
                continue  # a sanitizer's own memory is not compared with the limit
            with self.subTest(entry.name):
                once = cost(MARGROVE, entry, self.folder, entry.size, counted=True)
                twice = cost(MARGROVE, entry, self.folder, 2 * entry.size, counted=True)
                for done in (once, twice):
                    self.assert_ends(entry, done)
                    if not SANITIZED:
                        most = MOST_TIMES * done.size + FREE_BYTES
                        self.assertLessEqual(done.memory - own.memory, most)
                if once.questions is not None and twice.questions is not None:
                    self.assertLessEqual(twice.questions, MOST_GROWTH * once.questions + FEW)

    def test_entries_have_names_of_their_own(self) -> None:
        names = [entry.name for entry in ENTRIES]
        self.assertEqual(len(set(names)), len(names))

    @unittest.skipIf(SANITIZED, "measures memory")
    def test_of_requests_is_bounded(self) -> None:
        train_server_model(MARGROVE, self.folder)
        for request in REQUESTS:
            with self.subTest(request.name):
                done = answer_cost(request, self.folder, MEGABYTE)
                self.assertEqual(done.code, request.status, done.err)
                self.assertLessEqual(done.memory, MOST_TIMES * done.size + FREE_BYTES)


if __name__ == "__main__":
    unittest.main()
