"""How long `merrow plan` takes beside what it waits for: the slowest plan's calls, its repairs included.

An endpoint on loopback answers after times that are drawn by a seed, some plans only after a repair. All plans are asked for at
once, so the aim for five of them is 1.2 times the slowest one. The program is started as a person starts it, so its start counts.

    python -m benchmarks.planning [--plans 5] [--rounds 5] [--seconds 10] [--least 0.3] [--judge]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

_REPAIRED = 0.4
"""The share of plans whose first answer has a cycle."""


class Answers:
    """What the endpoint answers, and how long the calls of each plan took together; the judge's call is that of plan 0."""

    def __init__(self, seed: int, seconds: float, least: float) -> None:
        self._random = random.Random(seed)  # noqa: S311 (no secret)
        self._seconds = seconds
        self._least = least
        self._lock = threading.Lock()
        self._begun = 0
        self.took: dict[int, float] = {}

    def answer(self, messages: list[dict[str, str]]) -> tuple[str, float]:
        """The answer to a question, and the seconds after which it is given."""
        with self._lock:
            delay = self._random.uniform(self._least, 1.0) * self._seconds
            if "plans of it" in messages[0]["content"]:
                number, text = 0, json.dumps({"requirements": [{"requirement": "all", "met_by": []}]})
            elif len(messages) == 2:
                self._begun += 1
                number = self._begun
                text = _plan(number, cyclic=self._random.random() < _REPAIRED)
            else:
                number = int(json.loads(messages[2]["content"])["agents"][0]["id"])
                text = _plan(number, cyclic=False)
            self.took[number] = self.took.get(number, 0.0) + delay
            return text, delay


def _plan(number: int, *, cyclic: bool) -> str:
    """A plan of some tasks, different for each number."""
    tasks: list[dict[str, Any]] = [
        {
            "id": f"t{at}",
            "objective": f"Do part {at}.",
            "agent": str(number),
            "output_format": "",
            "after": [f"t{at - 1}"],
        }
        for at in range(3 + number)
    ]
    tasks[0]["after"] = [f"t{len(tasks) - 1}"] if cyclic else []
    return json.dumps({"agents": [{"id": str(number), "role": "Worker", "prompt": ""}], "tasks": tasks})


def serve(answers: Answers) -> ThreadingHTTPServer:
    """An endpoint that gives these answers, in a thread of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text, delay = answers.answer(body["messages"])
            time.sleep(delay)
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            usage = {"prompt_tokens": 500, "completion_tokens": 300, "total_tokens": 800}
            said = {
                "id": "x",
                "object": "chat.completion",
                "created": 1,
                "model": "loopback",
                "choices": [choice],
                "usage": usage,
            }
            data = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def measure(
    plans: int, seed: int, seconds: float, least: float, compiled: str, *, judge: bool
) -> tuple[float, float, float]:
    """The seconds that the program took, those of a processor in it, and those of the slowest plan's calls (and the judge's where
    there is one). ``compiled`` is a folder for compiled modules, as installed ones have them.
    """
    answers = Answers(seed, seconds, least)
    server = serve(answers)
    with tempfile.TemporaryDirectory() as folder:
        places = {f"MERROW_{name}_DIR": str(Path(folder, name)) for name in ("STATE", "CONFIG")}
        address = f"http://127.0.0.1:{server.server_address[1]}/v1"
        command = [
            sys.executable,
            "-m",
            "merrow_server",
            "plan",
            "Write a book.",
            "-n",
            str(plans),
            "--base-url",
            address,
        ]
        used = _processor()
        begun = time.perf_counter()
        done = subprocess.run(
            [*command, *([] if judge else ["--no-judge"])],
            env={**os.environ, **places, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        took, used = time.perf_counter() - begun, _processor() - used
    server.shutdown()
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    slowest = max(taken for number, taken in answers.took.items() if number)
    return took, used, slowest + answers.took.get(0, 0.0)


def _processor() -> float:
    """The seconds of a processor that child processes have used so far."""
    found = os.times()
    return found.children_user + found.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="the longest call; calls take LEAST to 1 times as long"
    )
    parser.add_argument("--least", type=float, default=0.3, help="1 for calls that all take the same time")
    parser.add_argument(
        "--judge", action="store_true", help="ask the judge, too, whose call counts to what is waited for"
    )
    given = parser.parse_args()
    ratios, alone = [], []
    with tempfile.TemporaryDirectory() as compiled:
        measure(1, 0, 0.0, 1.0, compiled, judge=given.judge)
        for seed in range(given.rounds):
            took, used, waited = measure(given.plans, seed, given.seconds, given.least, compiled, judge=given.judge)
            ratios.append(took / waited)
            alone.append((waited + used) / waited)
            print(
                f"round {seed + 1}: {took:.2f} s, slowest plan {waited:.2f} s: {ratios[-1]:.2f} times;"
                f" {used:.2f} s of a processor: at most {alone[-1]:.2f} times where nothing else runs"
            )
    print(f"median {median(ratios):.2f} times; where nothing else runs at most {median(alone):.2f} times; aim 1.20")


if __name__ == "__main__":
    main()
