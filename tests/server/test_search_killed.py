"""Searches that are killed go on as if nothing had been, and pay no call twice; the same seed gives the same search."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.postgres import IN_A_FILE
from tests.runtime.openai_server import OpenAIServer, serving
from tests.server.program import merrow
from tests.server.searching import LIMITED, answer, begun, newest, optimize, place, question, record, server
from tests.sizes import sized

__all__ = ["server"]
KILLS = sized(4, 6)
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def drawn(search: str) -> str:
    """A search without what it used in all: of an answer that was in the cache, but not in the journal, when its process was
    killed, the usage is not known any more.
    """
    return re.sub(r'"usage": {[^}]*}', "", record(search))


@posix
@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.thinned(32, "killed anywhere")
@IN_A_FILE
def test_killed_anywhere_it_comes_to_the_same(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    """What is asked for again: calls in flight, and answers that came in the
    last five milliseconds, which are committed together.
    """
    limited, at_once = (*LIMITED, "--jobs", str(jobs), "--concurrency", "3"), 3
    with serving(answer) as other, place(monkeypatch, tmp_path / "whole", other):
        done = optimize(*limited)
        assert done.code == 0, done.err
        wanted, calls = drawn(newest()["search"]), Counter(request.prompt for request in other.requests)
    chance = random.Random(7)
    kills, identity = 0, None
    while kills < KILLS:
        before = len(server.requests)
        if identity is None:
            process = begun(*limited)
        else:
            command = [sys.executable, "-m", "merrow_server", "resume", identity]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = time.monotonic() + PATIENCE
        stop = before + chance.randint(1, max(2, len(calls) // KILLS))
        while len(server.requests) < stop and process.poll() is None and time.monotonic() < end:
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        process.communicate()
        kills += 1
        identity = newest()["search"]
    assert identity is not None
    last = merrow("resume", identity)
    assert last.code == 0, last.err
    assert drawn(identity) == wanted
    asked = Counter(request.prompt for request in server.requests)
    assert asked.keys() == calls.keys()
    # Each evaluation is at five items at most, of which three are in flight.
    assert sum(asked.values()) - sum(calls.values()) <= kills * jobs * (2 * at_once - 1)
    shown = merrow("resume", identity)
    assert shown.code == 0, shown.err
    assert sum(asked.values()) == len(server.requests)


@pytest.mark.parametrize("jobs", [1, 8])
@pytest.mark.thinned(16, "the same seed")
@IN_A_FILE
def test_the_same_seed_gives_the_same_search_byte_for_byte(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    found = []
    for name in ("one", "two"):
        with place(monkeypatch, tmp_path / name, server):
            done = optimize(*LIMITED, "--jobs", str(jobs))
            assert done.code == 0, done.err
            found.append(record(newest()["search"]))
            files = sorted(Path(newest()["folder"]).glob("round_*.mmd"))
            assert len(files) == newest()["candidates"]
    assert found[0] == found[1]
    with place(monkeypatch, tmp_path / "three", server):
        assert optimize(*LIMITED, "--jobs", str(jobs), "--seed", "7").code == 0
        assert record(newest()["search"]) != found[0]


@pytest.mark.slow
def test_equal_questions_of_different_candidates_are_asked_once(server: OpenAIServer) -> None:
    done = optimize(*LIMITED)
    assert done.code == 0, done.err
    assert max(Counter(question(request) for request in server.requests).values()) == 1
    assert newest()["usage"]["calls"] == len(server.requests)


@pytest.mark.slow
def test_it_goes_on_with_the_number_of_jobs_that_it_began_with(server: OpenAIServer) -> None:
    assert optimize(*LIMITED, "--jobs", "2").code == 0
    refused = merrow("resume", newest()["search"], "--jobs", "3")
    assert (refused.code, "--jobs 2" in refused.err) == (2, True)
    assert merrow("resume", newest()["search"], "--jobs", "2").code == 0
