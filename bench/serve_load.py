#!/usr/bin/env python3
"""Load on `margrove serve` over the loopback interface, by wrk.

usage: bench/serve_load.py PROGRAM MODEL TEXTS [--seconds 10] [--connections 16] [--rounds 3]
                           [--reloads 0] [--batch 1] [--threads 0] [--pipeline 1]
                           [--requests 0]

TEXTS has a text on each line, after its labels and a tab if it has one. Every round is one run of
wrk (apt-get install wrk) with two threads, each of whose connections sends the next request when
it has the answer to the last one; with --pipeline N it sends N requests at once, and the latency is
that of the last of them. With --requests the rounds go on until so many were answered. The model is
loaded again --reloads times during each round.
Standard output has a row for each round: requests, requests and texts per second, the median and
the 99th percentile of the latency, failed requests (no answer, or a status other than 200), reloads
that succeeded, the server's resident memory and its share of one core.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

SCRIPT = """
local bodies, at, depth = {}, 0, 1
function init(arguments)
  for line in io.lines(arguments[1]) do bodies[#bodies + 1] = line end
  depth = tonumber(arguments[2])
  at = math.random(#bodies)
end
local headers = {["Content-Type"] = "application/json"}
function request()
  local requests = {}
  for k = 1, depth do
    at = at % #bodies + 1
    requests[k] = wrk.format("POST", "/predict", headers, bodies[at])
  end
  return table.concat(requests)
end
function done(summary, latency, requests)
  local e = summary.errors
  print(string.format('RESULT {"requests": %d, "seconds": %f, "p50": %f, "p99": %f, "failed": %d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, e.connect + e.read + e.write + e.status + e.timeout))
end
"""


def texts_of(path: Path) -> list[str]:
    """The texts of a file of lines `label<TAB>text` or of texts."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.rpartition("\t")[2] for line in lines if line]


def resident_mb(pid: int) -> float:
    """Resident memory of a process, in 10^6 bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def cpu_seconds(pid: int) -> float:
    """Time that a process has spent on all cores."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def reload(url: str, count: int, seconds: float) -> int:
    """Loads the model again `count` times, spread over the time; returns how often that worked."""
    worked = 0
    end = time.monotonic() + seconds
    for left in range(count, 0, -1):
        json_type = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/reload", b"", json_type, method="POST")
        with urllib.request.urlopen(request, timeout=60) as response:
            worked += response.status == 200
        time.sleep(max(0.0, (end - time.monotonic()) / left * 0.9))
    return worked


class Load:
    """A running server and what is sent to it."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        texts = texts_of(options.texts)
        batch = options.batch
        bodies = [
            json.dumps({"rows": texts[k : k + batch]} if batch > 1 else {"row": texts[k]})
            for k in range(0, len(texts) - batch + 1, batch)
        ]
        (scratch / "bodies").write_text("".join(body + "\n" for body in bodies), encoding="utf-8")
        (scratch / "script.lua").write_text(SCRIPT, encoding="utf-8")
        self.scratch = scratch
        self.answered = 0
        self.server = subprocess.Popen(
            [options.program, "serve", "--port", "0", "--threads", str(options.threads),
             str(options.model)],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.server.stderr is not None
        line = self.server.stderr.readline()
        match = re.search(r"serving on (\S+)$", line.strip())
        if match is None:
            sys.exit(f"serve_load: the server did not start: {line}{self.server.stderr.read()}")
        self.url = match[1]

    def round(self) -> str:
        """Runs wrk once; returns the row of the table."""
        options = self.options
        before, begin = cpu_seconds(self.server.pid), time.monotonic()
        reloads: list[int] = []
        reloader = threading.Thread(
            target=lambda: reloads.append(reload(self.url, options.reloads, options.seconds))
        )
        reloader.start()
        done = subprocess.run(
            ["wrk", "-t2", f"-c{options.connections}", f"-d{options.seconds}s", "--timeout", "10s",
             "-s", str(self.scratch / "script.lua"), self.url, "--", str(self.scratch / "bodies"),
             str(options.pipeline)],
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        reloader.join()
        share = (cpu_seconds(self.server.pid) - before) / (time.monotonic() - begin)
        result = json.loads(re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)[1])  # type: ignore[index]
        self.answered += result["requests"] - result["failed"]
        rate = result["requests"] / result["seconds"]
        return (
            f"{result['requests']:9d} {rate:11.0f} {rate * options.batch:8.0f} "
            f"{result['p50']:7.2f} {result['p99']:7.2f} {result['failed']:6d} {reloads[0]:7d} "
            f"{resident_mb(self.server.pid):9.1f} {100 * share:6.0f}"
        )

    def stop(self) -> None:
        """Ends the server, which must not have crashed."""
        self.server.terminate()
        if self.server.wait(timeout=60) != 0:
            sys.exit(f"serve_load: the server ended with code {self.server.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("model", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--seconds", type=int, default=10, help="length of a round")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reloads", type=int, default=0, help="per round")
    parser.add_argument("--batch", type=int, default=1, help="texts per request")
    parser.add_argument("--pipeline", type=int, default=1, help="requests sent at once")
    parser.add_argument("--requests", type=int, default=0, help="answers that there are at least")
    parser.add_argument("--threads", type=int, default=0, help="of the server; 0: one per core")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("serve_load: wrk is not installed (apt-get install wrk)")
    with tempfile.TemporaryDirectory() as scratch:
        load = Load(options, Path(scratch))
        print(" requests  requests/s  texts/s  p50 ms  p99 ms failed reloads memory MB  cpu %")
        rounds = 0
        while rounds < options.rounds or load.answered < options.requests:
            print(load.round(), flush=True)
            rounds += 1
        load.stop()


if __name__ == "__main__":
    main()
