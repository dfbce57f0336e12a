"""The limit on time: what sleeps reaches it; what has to wait for a processor, since the machine is busy, doesn't."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits, Sandbox, time_limit

SLEEPS = "import time\ndef solve(seconds=2):\n    time.sleep(seconds)\n    return 42\n"
LIMITS = Limits(wall_s=1)


def evaluated(means: str) -> str:
    return run(Sandbox(means, LIMITS).evaluate(SLEEPS)).outcome


def judged(means: str) -> str:
    return run(Sandbox(means, LIMITS).test(SLEEPS, ["assert solve() == 42"], "solve")).outcome


@pytest.mark.parametrize(("work", "ended"), [(evaluated, "ok"), (judged, "passed")])
def test_waiting_for_a_processor_is_not_counted(
    work: Callable[[str], str], ended: str, default_means: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert work(default_means) == "timeout", "it sleeps for longer than the limit"

    asked: set[str] = set()
    longer = count(step=100)

    def waited(thread: str) -> float:
        asked.add(thread)
        return float(next(longer)) if thread.isdecimal() else 0.0

    monkeypatch.setattr(time_limit, "waited_by", waited)
    assert work(default_means) == ended, "its processes had to wait for as long"
    assert len(asked) == (2 if work is evaluated else 3), "this thread, and each process of the sandbox"


@pytest.mark.parametrize("work", [evaluated, judged])
def test_the_limit_ends_however_long_everybody_waits(
    work: Callable[[str], str], default_means: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine this thread and the sandbox's processes wait at the same time."""
    longer = count(step=100)
    monkeypatch.setattr(time_limit, "waited_by", lambda _: float(next(longer)))
    monkeypatch.setattr("tests.runtime.sandbox.test_time_limit.LIMITS", Limits(wall_s=0.2))
    monkeypatch.setattr("tests.runtime.sandbox.test_time_limit.SLEEPS", SLEEPS.replace("seconds=2", "seconds=1000"))
    assert work(default_means) == "timeout"


@pytest.mark.parametrize("broken", ["", "1", "a b c"])
def test_without_word_from_the_system_the_limit_is_one_by_the_clock(
    broken: str, default_means: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Place:
        def __init__(self, *_: str) -> None:
            pass

        def read_text(self, _: str) -> str:
            return broken

    monkeypatch.setattr(time_limit, "Path", Place)
    assert evaluated(default_means) == "timeout"
