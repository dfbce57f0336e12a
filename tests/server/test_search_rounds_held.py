"""Rounds with a model and a judge, killed between any two commits: nothing that was answered is asked again, nothing is lost."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.optimizer.suggestions.scripted import is_judging
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Step, serving
from tests.server.program import merrow
from tests.server.searching import OWN, begun, newest, optimize, place, question
from tests.server.test_search_killed import drawn
from tests.server.test_search_rounds import MODELS, Rounds
from tests.sizes import sized

KILLS = sized(2, 8)
ROUNDS = (*OWN, *MODELS, "--strategy", "evolve", "--set", "max-rounds=3", "--jobs", "1", "--concurrency", "1")
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


class Held(Rounds):
    """Answers ``most`` requests, then holds the next one, so that all that was answered is committed: what is asked next follows
    from it. ``answered`` are those that were answered.
    """

    def __init__(self) -> None:
        super().__init__()
        self.most: int | None = None
        self.answered: list[Received] = []

    def __call__(self, request: Received) -> Step:
        if self.most is not None and len(self.answered) >= self.most:
            return Hang()
        self.answered.append(request)
        return super().__call__(request)


@pytest.fixture
def model() -> Held:
    return Held()


@pytest.fixture
def server(model: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(model) as server, place(monkeypatch, tmp_path, server):
        yield server


def of_models(request: Received) -> bool:
    """Whether it is put to the model that proposes, or to the judge."""
    return is_judging(request) or request.body["model"] == "opt"


@posix
@pytest.mark.thinned(3, "rounds killed between commits")
def test_killed_between_any_two_commits_nothing_answered_is_asked_again(
    server: OpenAIServer, model: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills come before and after the calls of the model that proposes and of its judge, and among those of items."""
    with serving(Held()) as other, place(monkeypatch, tmp_path / "whole", other):
        done = optimize(*ROUNDS)
        assert done.code == 0, done.err
        assert isinstance(other.answer, Held)
        order, expected = [question(request) for request in other.requests], drawn(newest()["search"])
        asked = [number for number, request in enumerate(other.requests) if of_models(request)]
        booked, proposing = newest()["usage"], newest()["proposals"]["usage"]
    assert len(set(order)) == len(order)
    assert booked["calls"] == len(order)
    assert len(asked) >= 4
    chance = random.Random(7)
    near = sorted({*asked, *(number + 1 for number in asked)} - {0, len(order)})
    places = sorted(chance.sample(near, min(len(near), KILLS)))
    places += chance.sample(range(1, len(order)), KILLS - len(places))
    for place_, most in enumerate(sorted(set(places))):
        monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / f"state-{place_}"))
        model.most = most
        model.answered.clear()
        server.requests.clear()
        process = begun(*ROUNDS)
        end = time.monotonic() + PATIENCE
        while len(server.requests) <= most and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        process.kill()
        _, said = process.communicate()
        assert len(server.requests) == most + 1, said.decode()
        model.most = None
        last = merrow("resume", newest()["search"])
        assert last.code == 0, last.err
        assert [question(request) for request in model.answered] == order, f"killed after {most} answers"
        assert drawn(newest()["search"]) == expected, f"killed after {most} answers"
        # A call of an item that was in flight may have been paid: it is among those that the search has used, as an estimate.
        used = newest()["usage"]
        assert used["calls"] == booked["calls"] + used.get("estimated", False), f"killed after {most} answers"
        assert newest()["proposals"]["usage"] == proposing, f"killed after {most} answers"
        costs = merrow("costs", "--format", "json").json["rows"]
        assert sum(day["calls"] for day in costs) == booked["calls"] + 1, "the one in flight may have been paid"
