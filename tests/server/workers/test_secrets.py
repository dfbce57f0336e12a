"""Nothing secret is in a task, a log, Dask's events, the scheduler's memory or the journal; and nothing but text is sent."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.server.workers.cluster import KEY, OWN, Shared, data, newest, waited
from tests.server.workers.cluster import begun as started

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="reads the memory of another process in /proc"
)

EVENTS = """
import json, sys
from distributed import Client
with Client(sys.argv[1], set_as_default=False) as client:
    events = client.run_on_scheduler(lambda dask_scheduler: repr(dask_scheduler.get_events()))
    tasks = client.run_on_scheduler(lambda dask_scheduler: repr([str(t.run_spec) for t in dask_scheduler.tasks.values()]))
    print(events, tasks)
"""


def memory_of(pid: int) -> bytes:
    """All that a process can write to."""
    parts: list[bytes] = []
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in maps:
            place = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if place is not None:
                begin, end = (int(number, 16) for number in place.groups())
                memory.seek(begin)
                try:
                    parts.append(memory.read(end - begin))
                except OSError:
                    continue
    return b"".join(parts)


def test_the_key_is_nowhere_but_at_the_endpoint(at: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler has no key of its own: what is found there was sent."""
    from tests.server.workers.cluster import Cluster

    monkeypatch.setenv("OPENAI_API_KEY", "")
    other = Cluster(tmp_path / "cluster", environment=at.variables)
    other.folder.mkdir()
    try:
        scheduler = other.scheduler(environment={"OPENAI_API_KEY": ""})
        other.worker()
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        data(60)
        with at.server.holding(40):
            process = started("evaluate", "flow.mmd", *OWN, "--fresh", "--engine", "dask", "--scheduler", other.address)
            waited(lambda: len(at.server.requests) > 40)
            told = _asked(other.address)
            memory = memory_of(scheduler.process.pid)
        out, err = process.communicate()
    finally:
        other.end()
    assert process.returncode == 0, err
    assert {request.headers["authorization"] for request in at.server.requests} == {f"Bearer {KEY}"}
    assert newest() in told  # it is that of the evaluation
    assert newest().encode() in memory
    secret = KEY.encode()
    assert secret not in memory
    for text in (told, out, err, other.logs):
        assert KEY not in text
    for file in Path(os.environ["MERROW_STATE_DIR"]).rglob("*"):
        assert not file.is_file() or secret not in file.read_bytes(), file


def _asked(address: str) -> str:
    import subprocess

    done = subprocess.run([sys.executable, "-c", EVENTS, address], capture_output=True, text=True, check=True)
    return done.stdout


def test_what_is_sent_is_text(at: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three strings to a function that every worker has, and a string back."""
    import distributed
    from tests.server.program import in_process

    from merrow_server.workers import tasks

    sent: list[tuple[Any, ...]] = []
    known = distributed.Client.submit

    def submit(self: Any, function: Any, *given: Any, **how: Any) -> Any:
        sent.append((function, *given))
        return known(self, function, *given, **how)

    monkeypatch.setattr(distributed.Client, "submit", submit)

    class Capture:
        def readouterr(self) -> tuple[str, str]:
            return "", ""

    own = ("evaluate", "flow.mmd", *OWN, "--fresh", "--engine", "dask", "--scheduler", at.cluster.address)
    assert in_process(Capture(), *own).code == 0
    assert sent
    assert {function for function, *_ in sent} == {tasks.answer}
    assert {type(each) for _, *given in sent for each in given} == {str}
    assert all(KEY not in each and "What is twice" not in each for _, *given in sent for each in given)
