"""The limit on time: what sleeps reaches it; what has to wait for a processor, since the machine is busy, doesn't."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits, Sandbox, time_limit

pytestmark = pytest.mark.thinned(8, "sandbox")

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


def test_who_waits_at_the_same_time_waits_once_and_never_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waits = 100.0, {"thread-self": 2.0, "7": 0.0, "8": 1.0}
    monkeypatch.setattr(time_limit, "waited_by", waits.__getitem__)
    waited = time_limit.Waited(lambda: now)
    assert waited.seconds() == 0.0
    now, waits["thread-self"], waits["7"] = 110.0, 3.0, 4.0
    assert waited.seconds(7, 8) == 4.0
    now, waits["thread-self"], waits["7"] = 120.0, 5.0, 4.5
    assert waited.seconds(7, 8) == 6.0
    now, waits["8"] = 130.0, 1000.0
    assert waited.seconds(7, 8) == 15.0
    now, waits["8"] = 131.0, 1000.5
    assert waited.seconds(8) == 15.5


def test_the_system_says_how_long_a_thread_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    class Place:
        def __init__(self, *parts: str) -> None:
            asked.append(parts)

        def read_text(self, _: str) -> str:
            return "100 2500000000 300"

    monkeypatch.setattr(time_limit, "Path", Place)
    assert time_limit.waited_by("123") == 2.5
    assert asked == [("/proc", "123", "schedstat")]
