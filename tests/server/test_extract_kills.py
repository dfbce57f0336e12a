"""``merrow extract`` killed at random points and continued: the same files, and nothing that was answered is asked again."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.optimizer.extraction.harness import rows_file
from tests.optimizer.extraction.planted import World
from tests.postgres import IN_A_FILE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Step, serving
from tests.server.program import merrow
from tests.sizes import sized

KILLS = sized(2, 3)
AT_ONCE = 4
WORLD = World(5, operators=4, cases=12, weak=0.2)
ASKED = ("extract", "math_validate.jsonl", "--model", "m", "--optimizer-model", "g", "--concurrency", str(AT_ONCE))
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="whether a process is idle is read in /proc"
)


class Answering:
    """Answers requests up to a number, then none; ``answered`` are those that have been, as text."""

    def __init__(self) -> None:
        self.most: int | None = None
        self.answered: list[str] = []

    def __call__(self, request: Received) -> Step:
        if self.most is not None and len(self.answered) >= self.most:
            return Hang()
        self.answered.append(json.dumps(request.body, sort_keys=True))
        return Reply(WORLD.answer(request.body), delay=0.005)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(Answering()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        rows_file(tmp_path, WORLD.rows())
        yield server


def written(folder: str) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in sorted(Path(folder).rglob("*")) if one.is_file()}


def twice(asked: Iterable[str]) -> list[str]:
    return [one for one, times in Counter(asked).items() if times > 1]


@IN_A_FILE
@pytest.mark.thinned(32, "killed anywhere")
def test_killed_anywhere_it_comes_to_the_same(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed by turns when it waits for answers, so that nothing that was answered is
    asked again, and in the midst of work, when what was in flight may be.
    """
    answering = server.answer
    assert isinstance(answering, Answering)
    Path("whole").mkdir()
    done = merrow(*ASKED, "-o", "whole/operators.yaml")
    assert done.code == 0, done.err
    wanted, calls = written("whole"), list(answering.answered)
    assert twice(calls) == []
    chance = random.Random(7)
    for number in range(KILLS):
        monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / f"killed{number}"))
        Path(f"out{number}").mkdir()
        answering.answered.clear()
        answering.most = chance.randrange(1, len(calls))
        is_at_rest = number % 2 == 0
        command = [sys.executable, "-m", "merrow_server", *ASKED, "-o", f"out{number}/operators.yaml"]
        said = _killed(command, answering, is_at_rest=is_at_rest)
        answering.most = None
        begun = merrow("runs", "--kind", "extraction", "--format", "json").json
        assert len(begun) == 1, f"kill {number}: {said}"
        resumed = merrow("resume", begun[0]["extraction"])
        assert resumed.code == 0, resumed.err
        assert written(f"out{number}") == wanted
        assert set(answering.answered) == set(calls)
        again = twice(answering.answered)
        assert len(again) <= (0 if is_at_rest else 2 * AT_ONCE), again


def _killed(command: list[str], answering: Answering, *, is_at_rest: bool) -> str:
    """Start it, and kill it once so many requests are answered and, if it shall be ``is_at_rest``, it waits for others; what it
    said until then.
    """
    said = Path("said.txt")
    with said.open("w", encoding="utf-8") as into, subprocess.Popen(command, stdout=into, stderr=into) as process:
        while process.poll() is None and len(answering.answered) < (answering.most or 0):
            time.sleep(0.002)
        idle = 0
        while is_at_rest and process.poll() is None and idle < 8:
            idle = idle + 1 if _is_idle(process.pid) else 0
            time.sleep(0.03)
        process.kill()
    return said.read_text("utf-8")


def _is_idle(process: int) -> bool:
    """Whether no thread of a process runs, would run or waits for a disk."""
    try:
        stats = [one.read_text(encoding="ascii") for one in Path(f"/proc/{process}/task").glob("*/stat")]
    except OSError:
        return False
    return all(stat.rpartition(")")[2].split()[0] == "S" for stat in stats)
