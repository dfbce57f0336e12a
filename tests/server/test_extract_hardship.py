"""Extractions that are stopped, cancelled, short of money or of room in each of their stages, and then continued."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.optimizer.extraction.harness import MARKS, rows_file
from tests.optimizer.extraction.planted import World
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Step, serving
from tests.server.program import merrow
from tests.server.test_extract_kills import twice, written

pytestmark = pytest.mark.thinned(8, "robustness")

WORLD = World(5, operators=4, cases=8, weak=0.2)
ASKED = ("extract", "math_validate.jsonl", "--model", "m", "--optimizer-model", "g", "-o", "out/operators.yaml")
STAGES = ("initial", "groups", "run", "deepening", "wording")
"""In the order in which they ask; a step of a case is asked before paths are, too."""
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")


def stage_of(request: Received) -> str:
    said = request.body["messages"][0]["content"]
    return next((name for name, mark in MARKS.items() if mark in said), "run")


class Answering:
    """Answers all stages but one: there the first questions have no answer, or one that uses so many tokens."""

    def __init__(self) -> None:
        self.silent: str | None = None
        self.dear: str | None = None
        self.held = 0
        self.answered: list[str] = []

    def __call__(self, request: Received) -> Step:
        if stage_of(request) == self.silent:
            self.held += 1
            return Hang()
        self.answered.append(json.dumps(request.body, sort_keys=True))
        tokens = 1_000_000 if stage_of(request) == self.dear else 10
        usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
        return Reply(WORLD.answer(request.body), usage=usage)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(Answering()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        rows_file(tmp_path, WORLD.rows())
        Path("out").mkdir()
        yield server


def answering_of(server: OpenAIServer) -> Answering:
    assert isinstance(server.answer, Answering)
    return server.answer


def whole(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The files of an extraction that nothing happens to."""
    with monkeypatch.context() as context:
        context.setenv("MERROW_STATE_DIR", "other")
        done = merrow(*ASKED[:-1], "out/operators.yaml")
    assert done.code == 0, done.err
    found = written("out")
    answering_of(server).answered.clear()
    for name in found:
        Path("out", name).unlink()
    return found


def _stopped(process: subprocess.Popen[str], stage: str) -> str:
    """Stop an extraction, in one stage by `merrow cancel`, in others by Ctrl-C; its id."""
    extraction = begun()
    if stage == "groups":
        other = merrow("resume", extraction)
        assert other.code != 0
        assert "It is being worked on by process" in other.err
        assert merrow("runs", "--kind", "extraction", "--delete", extraction).code != 0
    if stage == "run":
        assert merrow("cancel", extraction).code == 0
    else:
        process.send_signal(signal.SIGINT)
    return extraction


def begun() -> str:
    return str(merrow("runs", "--kind", "extraction", "--format", "json").json[0]["extraction"])


@pytest.mark.thinned(24, "hard times of extractions")
def test_a_budget_that_ends_in_each_stage(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops before the next call, says so, and goes on with a larger budget; nothing is asked twice."""
    wanted, answering = whole(server, monkeypatch), answering_of(server)
    command, most = ASKED, 500_000
    for stage in STAGES:
        answering.dear = stage
        done = merrow(*command, "--budget-tokens", str(most))
        assert done.code == 1, (stage, done.err)
        assert re.search(r"budget", done.err), done.err
        extraction = begun()
        assert f"Continue it with: merrow resume {extraction}" in done.err
        command = ("resume", extraction)
        listed = merrow("show", extraction, "--format", "json").json
        most = 500_000 + sum(listed["usage"][name] for name in ("prompt_tokens", "completion_tokens"))
    answering.dear = None
    done = merrow(*command, "--budget-tokens", "999999999")
    assert done.code == 0, done.err
    assert {name: text for name, text in written("out").items() if ".report." not in name} == {
        name: text for name, text in wanted.items() if ".report." not in name
    }
    assert twice(answering.answered) == []


@posix
@pytest.mark.thinned(24, "hard times of extractions")
def test_stopped_in_each_stage_by_hand_and_by_another_process(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C or `merrow cancel` while a stage waits for answers; meanwhile nobody else can continue or delete it."""
    wanted, answering = whole(server, monkeypatch), answering_of(server)
    command: tuple[str, ...] = ASKED
    for stage in STAGES:
        answering.silent, answering.held = stage, 0
        run = [sys.executable, "-m", "merrow_server", *command]
        with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                while not answering.held and process.poll() is None:
                    time.sleep(0.02)
                extraction = _stopped(process, stage)
                _, err = process.communicate(timeout=300)
            finally:
                process.kill()
        assert process.returncode == 130, (stage, err)
        assert f"Continue it with: merrow resume {extraction}" in err
        assert "Traceback" not in err
        command = ("resume", extraction)
    answering.silent = None
    assert merrow(*command).code == 0
    assert written("out") == wanted
    assert len(twice(answering.answered)) <= 8  # what was in flight when it was stopped


@posix
@pytest.mark.thinned(24, "hard times of extractions")
def test_on_a_full_disk_it_stops_and_keeps_what_is_finished(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of a file's size, which anybody can set: SQLite meets it as it meets a full disk."""
    wanted, answering = whole(server, monkeypatch), answering_of(server)
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000));"
        "from merrow_server.cli import main; raise SystemExit(main())"
    )
    stopped = subprocess.run(
        [sys.executable, "-c", limited, *ASKED, "--concurrency", "4"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert stopped.returncode == 1, stopped.stderr
    assert "Traceback" not in stopped.stderr, stopped.stderr
    assert "is full" in stopped.stderr
    assert "merrow resume" in stopped.stderr
    done = merrow("resume", begun())
    assert done.code == 0, done.err
    assert written("out") == wanted
    asked = Counter(answering.answered)
    assert sum(asked.values()) - len(asked) <= 8  # what was in flight


@pytest.mark.thinned(24, "hard times of extractions")
def test_files_that_can_not_be_written_are_written_by_a_resume(server: OpenAIServer) -> None:
    """The folder goes, or somebody else writes such a file, while it works: what was paid is kept."""
    answering = answering_of(server)
    always = answering.__call__

    def spoiled(request: Received) -> Step:
        Path("out/operators.yaml").write_text("operators: {}\n", encoding="utf-8")
        return always(request)

    server.answer = spoiled
    done = merrow(*ASKED)
    assert done.code == 2, done.err
    assert "no extraction wrote it" in done.err
    extraction = begun()
    assert f"merrow resume {extraction}" in done.err
    Path("out/operators.yaml").unlink()
    before = len(server.requests)
    assert merrow("resume", extraction).code == 0
    assert len(server.requests) == before
    assert Path("out/operators.yaml").is_file()


@posix
@pytest.mark.parametrize("lines", [1, 3, 30])
def test_a_recording_that_can_not_be_written_any_more_stops_it(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    """The reader of a pipe goes after some answers; what was answered by then is kept."""
    expected = whole(server, monkeypatch)
    os.mkfifo("pipe")
    reader = subprocess.Popen(["head", "-n", str(lines), "pipe"], stdout=subprocess.DEVNULL)
    stopped = merrow(*ASKED, "--record", "pipe")
    reader.wait(PATIENCE)
    assert stopped.code == 1, stopped.err
    assert "The recording pipe can't be written (Broken pipe)." in stopped.err
    assert "merrow resume" in stopped.err
    resumed = merrow("resume", begun())
    assert resumed.code == 0, resumed.err
    assert written("out") == expected
