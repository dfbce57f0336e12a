"""Workers, all of them, the scheduler and the coordinator are killed, or a worker freezes: the log of the endpoint is the judge.

Every item ends once, no committed call is made again, and the result is that of an undisturbed evaluation.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.program import merrow, write
from tests.server.workers.cluster import (
    FLOW,
    OWN,
    Cluster,
    Shared,
    begun,
    data,
    made_again,
    newest,
    rows_of,
    shared,
    slowly,
    waited,
)
from tests.server.workers.conftest import JOURNALS, journal_of
from tests.sizes import sized

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
    pytest.mark.thinned(5, "workers that are killed"),
]
ITEMS = sized(100, 400)
ROUNDS = 1
"""Kills of each kind, with each kind of journal: 20 when the engine itself is changed."""
IN_FLIGHT_CALLS = 8
"""Calls of a worker that are in flight."""
IN_FLIGHT = 2 * IN_FLIGHT_CALLS - 1
"""Items of a worker that are in flight: those, and as many that wait, less one."""


def expected() -> list[tuple[str, int, str, float, str, str]]:
    rows = [(f"q{n}", 0, "right", 1.0, str(2 * n), "") for n in range(ITEMS)]
    rows[3] = ("q3", 0, "wrong", 0.0, "7", "not 6")
    return sorted(rows)


def came_to_the_same(at: Shared, evaluation: str, disturbed: int) -> None:
    """What must hold; as many workers as ``disturbed`` had items in flight that were begun again."""
    assert [row[:5] for row in rows_of(evaluation)] == [row[:5] for row in expected()]
    again, used_before = made_again(at.server.requests)
    assert used_before == []
    assert again <= disturbed * IN_FLIGHT
    counts = Counter(row[0] for row in rows_of(evaluation))
    assert set(counts.values()) == {1}


@pytest.fixture(params=JOURNALS)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Shared]:
    with shared(tmp_path / "place", slowly, journal_of(request)) as made:
        for name, value in made.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(made.folder)
        write("flow.mmd", FLOW)
        data(ITEMS)
        yield made


def evaluating(at: Shared, *more: str) -> subprocess.Popen[str]:
    return begun("evaluate", "flow.mmd", *OWN, "--engine", "dask", "--scheduler", at.cluster.address, *more)


def asked(at: Shared, chance: random.Random, least: float = 0.1, most: float = 0.8) -> None:
    """Wait until some share of all calls was asked."""
    calls = int(3 * ITEMS * chance.uniform(least, most))
    waited(lambda: len(at.server.requests) >= calls)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_worker(place: Shared, seed: int) -> None:
    chance = random.Random(seed)
    process = evaluating(place)
    asked(place, chance)
    place.cluster.parts[1 + seed % 2].end()
    _, err = process.communicate()
    assert process.returncode == 0, err
    came_to_the_same(place, newest(), 2)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_all_workers_and_others_come(place: Shared, seed: int) -> None:
    chance = random.Random(seed)
    process = evaluating(place)
    asked(place, chance)
    for worker in place.cluster.parts[1:]:
        worker.end()
    time.sleep(chance.uniform(0, 2))
    place.cluster.worker(waits=False)
    _, err = process.communicate()
    assert process.returncode == 0, err
    came_to_the_same(place, newest(), 4)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_the_scheduler(place: Shared, seed: int) -> None:
    chance = random.Random(seed)
    process = evaluating(place)
    asked(place, chance)
    place.cluster.parts[0].end()
    _, err = process.communicate()
    assert process.returncode == 1, err
    assert f"The Dask scheduler at {place.cluster.address} is gone." in err
    evaluation = newest()
    assert f"merrow resume {evaluation}" in err
    assert "Traceback" not in err
    for worker in place.cluster.parts[1:]:
        worker.end()
    if seed % 2:
        done = merrow("resume", evaluation)
    else:
        place.cluster.scheduler()
        place.cluster.worker()
        done = merrow("resume", evaluation, "--engine", "dask", "--scheduler", place.cluster.address)
    assert done.code == 0, done.err
    came_to_the_same(place, evaluation, 4)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_the_coordinator(place: Shared, seed: int) -> None:
    chance = random.Random(seed)
    process = evaluating(place)
    asked(place, chance)
    process.kill()
    process.communicate()
    evaluation = newest()
    how = () if seed % 2 else ("--engine", "dask", "--scheduler", place.cluster.address)
    done = merrow("resume", evaluation, *how)
    assert done.code == 0, done.err
    came_to_the_same(place, evaluation, 4)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_worker_that_freezes_and_comes_back(place: Shared, seed: int) -> None:
    """For longer than Dask waits for a sign of life, so that others have its items meanwhile."""
    chance = random.Random(seed)
    ttl = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "3s"}
    again = Cluster(place.folder / "again", environment=place.variables)
    again.folder.mkdir()
    try:
        again.scheduler(environment=ttl)
        again.worker()
        again.worker()
        place.cluster = again
        # Two large chunks for each worker: with those that take a second, one may have the last few items of its chunks
        # and nothing else, and then has fewer calls in flight than are waited for.
        process = evaluating(place, "--chunk", str(min(ITEMS // 4, 64)))
        answered = int(3 * ITEMS * chance.uniform(0.1, 0.3))
        with place.server.holding(answered):
            # What is on its way is at the endpoint. A process that is frozen while it sends a request sends it when it thaws.
            waited(lambda: len(place.server.requests) >= answered + 2 * IN_FLIGHT_CALLS)
            frozen = again.parts[1]
            frozen.send(signal.SIGSTOP)
        waited(lambda: process.poll() is not None or len(place.server.requests) > 2.5 * ITEMS)
        time.sleep(sized(5, 60))
        frozen.send(signal.SIGCONT)
        _, err = process.communicate()
    finally:
        again.end()
    assert process.returncode == 0, err
    came_to_the_same(place, newest(), 4)


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.slow
def test_two_coordinators(place: Shared, seed: int) -> None:
    """The second one is refused, and takes over from one that has frozen, once that gave no sign of life for half a minute; the
    first one stops when it thaws.
    """
    chance = random.Random(seed)
    process = evaluating(place)
    asked(place, chance, most=0.4)
    process.send_signal(signal.SIGSTOP)
    evaluation = newest()
    resume = ("resume", evaluation, "--engine", "dask", "--scheduler", place.cluster.address)
    while (done := merrow(*resume)).code:
        assert f"by process {process.pid} on" in done.err
        time.sleep(1)
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate()
    assert process.returncode != 0
    assert err.endswith("was taken over by another process, since this one gave no sign of life.\n"), err
    came_to_the_same(place, evaluation, 4)


AHEAD = """
import os, time
known = time.time
time.time = lambda: known() + float(os.environ["AHEAD"])
"""


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.slow
def test_workers_whose_clocks_are_ten_minutes_apart(place: Shared, tmp_path: Path, seed: int) -> None:
    """The server's clock counts, which all go by."""
    chance = random.Random(seed)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(AHEAD)
    for worker in place.cluster.parts[1:]:
        worker.end()
    path = {"PYTHONPATH": str(tmp_path / "site")}
    first, *_ = [place.cluster.worker(environment={**path, "AHEAD": ahead}) for ahead in ("-300", "300")]
    process = evaluating(place)
    asked(place, chance)
    first.end()
    _, err = process.communicate()
    assert process.returncode == 0, err
    came_to_the_same(place, newest(), 2)


KILLER = """
import os, signal
import merrow_optimizer.evaluation.answering as answering
known = answering.Answering._run
async def run(self, name, item, repeat):
    result = await known(self, name, item, repeat)
    if item.id == "q5" and "DEADLY" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
answering.Answering._run = run
"""


@pytest.mark.slow
def test_an_item_that_kills_its_worker_has_failed_and_the_others_go_on(place: Shared, tmp_path: Path) -> None:
    """After Dask has tried it as often as it is set to, twice: with what else was there, and alone."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(KILLER)
    for worker in place.cluster.parts[1:]:
        worker.end()
    place.cluster.environment = {**place.variables, "PYTHONPATH": str(tmp_path / "site"), "DEADLY": "1"}
    place.cluster.worker(nanny=True)
    place.cluster.worker(nanny=True)
    data(20)
    process = evaluating(place, "--chunk", "4")
    _, err = process.communicate()
    assert process.returncode == 0, err
    rows = merrow("show", newest(), "--format", "json").json["rows"]
    [failed] = [row for row in rows if row["status"] == "failed"]
    assert failed["item"] == "q5"
    assert failed["reason"] == "Each worker that worked on it died: it may need more memory than they have."
    assert Counter(row["status"] for row in rows) == Counter({"right": 18, "wrong": 1, "failed": 1})
