"""A Dask cluster of real processes for tests, as its documentation says to start one by hand, and evaluations that it answers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import Outcome, merrow, write

KEY = "sk-only-the-endpoint-sees-this"
FLOW = """\
---
workflow: {model: m-1}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first"}
    B@{op: Custom, prompt: "second"}
    C@{op: Custom, prompt: "third"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> B --> C --> RETURN
"""
STEPS = ("first", "second", "third")
IDLE = {"DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "500ms", "DASK_DISTRIBUTED__WORKER__PROFILE__INTERVAL": "10s"}
"""Settings with which a cluster that waits takes little CPU from the tests beside it: it watches itself less often."""
OWN = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric")


def answer(request: Received, delay: float = 0.002) -> Step:
    """The double of the number that is asked for, in three calls; that of 3 is wrong."""
    step = request.body["messages"][0]["content"]
    number = int(re.findall(r"\d+", request.body["messages"][-1]["content"])[-1])
    if step.startswith("first"):
        return Reply(f"number {number}", delay=delay)
    if step.startswith("second"):
        return Reply(f"twice {number}", delay=delay)
    return Reply("7" if number == 3 else str(2 * number), delay=delay)


def slowly(request: Received) -> Step:
    return answer(request, 0.05)


def data(count: int, name: str = "own.jsonl") -> None:
    rows = [{"id": f"q{n}", "problem": f"What is twice {n}?", "answer": str(2 * n)} for n in range(count)]
    write(name, "".join(json.dumps(row) + "\n" for row in rows))


def asked_of(request: Received) -> tuple[str, str]:
    """The step and the number of a request."""
    system, user = request.body["messages"][0]["content"], request.body["messages"][-1]["content"]
    return next(step for step in STEPS if system.startswith(step)), re.findall(r"\d+", user)[-1]


def made_again(requests: Sequence[Received]) -> tuple[int, list[tuple[str, str]]]:
    """How many requests were made again, and those of them whose answer had been used before: the next step of the same item had
    been asked. A call is committed before its answer is used.
    """
    reached: dict[str, int] = {}
    again: list[tuple[str, str]] = []
    counts: Counter[tuple[str, str]] = Counter()
    for request in requests:
        step, number = asked_of(request)
        place = STEPS.index(step)
        counts[step, number] += 1
        if place < reached.get(number, 0):
            again.append((step, number))
        reached[number] = max(place, reached.get(number, 0))
    return sum(counts.values()) - len(counts), again


def rows_of(evaluation: str) -> list[tuple[Any, ...]]:
    """What an evaluation comes to, without times and costs."""
    report = merrow("show", evaluation, "--format", "json").json
    assert (report["status"], report["error"]) == ("finished", None)
    return sorted(
        (row["item"], row["repeat"], row["status"], row["value"], row["read"], row["reason"]) for row in report["rows"]
    )


def without_times(evaluation: str) -> str:
    """All that is shown of an evaluation, byte for byte but for its id, its times, and the order in which items ended."""
    report = merrow("show", evaluation, "--format", "json").json
    report["rows"].sort(key=lambda row: (row["item"], row["repeat"]))
    text = json.dumps(report, sort_keys=True).replace(report["evaluation"], "EVALUATION")
    return re.sub(r'"(started|ended|seconds|mean|sd)": [^,}]+', r'"\1": 0', text)


def newest() -> str:
    identity: str = merrow("evaluations", "--format", "json").json[0]["evaluation"]
    return identity


@dataclass
class Worker:
    """A worker, or a scheduler, as a process with a log."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def send(self, number: int) -> None:
        """A signal to all of its processes."""
        os.killpg(self.process.pid, number)

    def end(self) -> None:
        if self.process.poll() is None:
            for number in (signal.SIGCONT, signal.SIGKILL):
                self.send(number)
        self.process.wait()


@dataclass
class Cluster:
    """A scheduler and its workers. ``environment`` is what workers have beside that of the tests."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    more: Sequence[str] = ()
    protocol: str = "tcp"
    address: str = ""
    parts: list[Worker] = field(default_factory=list)
    count: int = 0

    def scheduler(self, *more: str, environment: Mapping[str, str] | None = None) -> Worker:
        port = "0" if not self.address else self.address.rpartition(":")[2]
        command = ["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", *self.more, *more]
        started = self._begin("scheduler", command, environment or {})
        self.address = waited(lambda: found(started.log, rf"Scheduler at: +({self.protocol}://\S+)"), started.log)
        return started

    def worker(
        self, *more: str, environment: Mapping[str, str] | None = None, nanny: bool = False, waits: bool = True
    ) -> Worker:
        """A worker that dies for good where it is killed, unless it has a nanny."""
        self.count += 1
        watched = ["--nanny"] if nanny else ["--no-nanny"]
        command = ["worker", self.address, "--nthreads", "2", "--no-dashboard", *watched, *self.more, *more]
        command += ["--name", f"w{self.count}", "--local-directory", str(self.folder / f"w{self.count}")]
        started = self._begin(f"w{self.count}", command, environment or {})
        if waits:
            waited(lambda: found(started.log, r"(Registered to):"), started.log)
        return started

    def end(self) -> None:
        for part in reversed(self.parts):
            part.end()

    @property
    def logs(self) -> str:
        return "".join(part.log.read_text("utf-8", "replace") for part in self.parts)

    def _begin(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Worker:
        log = self.folder / f"{name}-{len(self.parts)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                stdout=file,
                stderr=file,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **IDLE, **self.environment, **environment},
                cwd=self.folder,
                start_new_session=True,
            )
        self.parts.append(Worker(name, process, log))
        return self.parts[-1]


def found(log: Path, pattern: str) -> str:
    match = re.search(pattern, log.read_text("utf-8", "replace"))
    return match.group(1) if match else ""


def waited(look: Callable[[], Any], log: Path | None = None) -> Any:
    """What ``look`` gives once that is something."""
    end = time.monotonic() + PATIENCE
    while not (seen := look()):
        assert time.monotonic() < end, "" if log is None else log.read_text("utf-8", "replace")
        time.sleep(0.02)
    return seen


@contextmanager
def cluster(folder: Path, workers: int = 2, **given: Any) -> Iterator[Cluster]:
    """A scheduler with workers, which are processes of this machine with the state folder of the tests."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Cluster(folder, **given)
    try:
        made.scheduler()
        for _ in range(workers):
            made.worker(waits=False)
        for part in made.parts[1:]:
            waited(lambda part=part: found(part.log, r"(Registered to):"), part.log)
        yield made
    finally:
        made.end()


@dataclass
class Place:
    """A folder with its state, and an endpoint that answers at once."""

    folder: Path
    server: OpenAIServer


@dataclass
class Shared(Place):
    """What tests of one file share, with a cluster of two workers."""

    cluster: Cluster
    variables: dict[str, str]

    def evaluate(self, *more: str) -> Outcome:
        return merrow("evaluate", "flow.mmd", *OWN, "--engine", "dask", "--scheduler", self.cluster.address, *more)


@contextmanager
def shared(
    folder: Path, answering: Callable[[Received], Step] = answer, journal: str | None = None
) -> Iterator[Shared]:
    folder.mkdir(parents=True, exist_ok=True)
    with serving(answering) as server:
        variables = {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": KEY,
            "MERROW_STATE_DIR": str(folder / "state"),
            "MERROW_CONFIG_DIR": str(folder / "config"),
            "MERROW_CONCURRENCY": "8",
            **({} if journal is None else {"MERROW_JOURNAL": journal}),
        }
        with cluster(folder / "cluster", environment=variables) as made:
            yield Shared(folder, server, made, variables)


def begun(*command: str) -> subprocess.Popen[str]:
    """The program as a process of its own that can be killed, with a group of its own for Ctrl-C."""
    return subprocess.Popen(
        [sys.executable, "-m", "merrow_server", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
