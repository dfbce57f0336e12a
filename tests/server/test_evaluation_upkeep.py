"""Evaluations gone on with elsewhere, cancelled, completed by a shell, deleted; what they may still cost."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, only, serving
from tests.server.program import in_process, merrow, write
from tests.server.test_evaluate_command import FLOW, answer, begun, data, evaluate, until

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
OWN = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.chdir(tmp_path)
    with serving(answer) as server:
        monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
        monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        write("flow.mmd", FLOW)
        data(12)
        yield server


@pytest.mark.parametrize(("reuse", "calls"), [("any", 24), ("same", 24)])
def test_another_endpoint_goes_on_where_that_is_wanted(server: OpenAIServer, reuse: str, calls: int) -> None:
    done = evaluate("--budget-tokens", "60", "--concurrency", "1", "--format", "json")
    identity, before = done.json["evaluation"], len(server.requests)
    assert 0 < before < calls
    with serving(answer) as other:
        refused = merrow("resume", identity, "--base-url", other.base_url)
        assert refused.code == 2
        assert "--reuse any" in refused.err
        again = ("resume", identity, "--base-url", other.base_url, "--budget-tokens", "100000", "--reuse", reuse)
        resumed = merrow(*again)
        assert resumed.code == 0, resumed.err
        assert "11 right, 1 wrong" in resumed.out
        assert len(other.requests) == (calls if reuse == "same" else calls - before)
        assert merrow("resume", identity, "--base-url", other.base_url).code == 0
        assert len(other.requests) == (calls if reuse == "same" else calls - before)
        said = merrow("show", identity, "--format", "json").json["endpoint"]
        origins = [one.base_url.removesuffix("/v1") for one in ([other] if reuse == "same" else [server, other])]
        assert [origin in said for origin in origins] == [True] * len(origins)
        assert (server.base_url.removesuffix("/v1") in said) is (reuse == "any")
    assert len(server.requests) == before


@posix
def test_it_is_cancelled_from_elsewhere(server: OpenAIServer) -> None:
    server.answer = only(5, answer)
    process = begun("--concurrency", "1")
    until(server, 6)
    [one] = merrow("evaluations", "--format", "json").json
    busy = merrow("evaluations", "--delete", one["evaluation"])
    assert (busy.code, "still going on" in busy.err) == (2, True), busy.err
    cancelled = merrow("cancel", one["evaluation"][:6])
    assert cancelled.code == 0, cancelled.err
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert merrow("evaluations", "--format", "json").json[0]["status"] == "cancelled"
    again = merrow("cancel", one["evaluation"])
    assert (again.code, "No process works on evaluation" in again.err) == (1, True)
    assert len(server.requests) == 6


def test_they_are_deleted_with_their_runs(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in ("1", "2", "3"):
        assert in_process(capsys, "evaluate", "flow.mmd", *OWN, "--seed", seed).code == 0
    folder = Path("state/evaluations")
    newest, middle, oldest = (one["evaluation"] for one in in_process(capsys, "evaluations", "--format", "json").json)
    assert in_process(capsys, "evaluations", "--delete", newest[:8]).code == 0
    assert [one["evaluation"] for one in in_process(capsys, "evaluations", "--format", "json").json] == [middle, oldest]
    assert not list(folder.glob(f"{newest}*"))
    assert "0 evaluations were" in in_process(capsys, "evaluations", "--prune", "1").err
    assert "2 evaluations were" in in_process(capsys, "evaluations", "--prune", "0").err
    assert list(folder.iterdir()) == []
    assert in_process(capsys, "show", middle).code == 2


def completed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """What a shell offers for the last of these words."""
    done = subprocess.run(
        [sys.executable, "-m", "merrow_server"],
        env={
            **os.environ,
            "_MERROW_COMPLETE": "bash_complete",
            "COMP_LINE": " ".join(("merrow", *words)),
            "COMP_WORD": words[-1],
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("listed", "begun"),
    [
        ("evaluations", ("evaluate", "flow.mmd", *OWN, "--limit", "1")),
        ("optimizations", ("optimize", "flow.mmd", *OWN, "--small", "--budget-evaluations", "30")),
    ],
)
def test_a_damaged_one_hides_no_other_and_can_be_deleted(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], listed: str, begun: tuple[str, ...]
) -> None:
    word = {"evaluations": "evaluation", "optimizations": "search"}[listed]
    for _ in range(2):
        done = in_process(capsys, *begun)
        assert done.code in (0, 1), done.err
    hurt, whole = (one[word] for one in in_process(capsys, listed, "--format", "json").json)
    with closing(sqlite3.connect(Path("state") / "runs.sqlite")) as database, database:
        database.execute(f"UPDATE {listed} SET plan = '{{' WHERE id = ?", (hurt,))  # noqa: S608
    shown = in_process(capsys, listed, "--format", "json")
    assert (shown.code, [one[word] for one in shown.json]) == (0, [whole])
    assert f"The record of {word} {hurt} is damaged in the journal; " in shown.err
    assert in_process(capsys, "runs", "--kind", listed[:-1], "--format", "json").json == shown.json
    assert in_process(capsys, "show", hurt).code != 0
    assert in_process(capsys, listed, "--delete", hurt).code == 0
    assert in_process(capsys, listed, "--format", "json").err == ""
    assert in_process(capsys, listed, "--prune", "0").code == 0
    assert in_process(capsys, listed, "--format", "json").json == []


def test_a_shell_completes_their_ids(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--budget-tokens", "60", "--format", "json")
    identity = done.json["evaluation"]
    typed = identity[:3]
    for words in (
        ("show", typed),
        ("resume", typed),
        ("evaluations", "--delete", typed),
        ("evaluate", "--baseline", typed),
        ("evaluate", "--compare", typed),
    ):
        assert completed(capsys, *words) == [identity], words
    assert completed(capsys, "cancel", typed) == []


def test_resume_takes_gates(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--budget-tokens", "60", "--format", "json")
    more = ("resume", done.json["evaluation"], "--budget-tokens", "100000")
    failed = in_process(capsys, *more, "--fail-under", "0.95")
    assert (failed.code, "The score 0.917 is under 0.95." in failed.err) == (1, True), failed.err
    assert in_process(capsys, *more, "--fail-under", "0.9").code == 0
    assert "--baseline EVAL" in in_process(capsys, *more, "--max-drop", "0.1").err
    run = in_process(capsys, "run", "flow.mmd", "--input", "problem=1 plus 1", "--json").out
    identity = json.loads(run.splitlines()[0])["run"]
    refused = in_process(capsys, "resume", identity, "--fail-under", "0.9")
    assert (refused.code, "is a run" in refused.err) == (2, True)


def test_what_it_may_cost_counts_the_judge_and_not_what_is_known(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def calls(*more: str) -> dict[str, int]:
        dry = in_process(capsys, "evaluate", "flow.mmd", *more, "--dry-run", "--format", "json")
        found: dict[str, int] = dry.json["calls"]
        return found

    judged = ("--dataset", "own.jsonl", "--metric", "judge", "--metric-option", "rubric=Is it the sum?")
    assert calls(*OWN) == {"least": 24, "most": 24}
    assert calls(*judged) == {"least": 36, "most": 48}
    assert in_process(capsys, "evaluate", "flow.mmd", *OWN, "--limit", "5").code == 0
    assert calls(*OWN) == {"least": 14, "most": 14}
    assert calls(*OWN, "--fresh") == {"least": 24, "most": 24}
    assert in_process(capsys, "evaluate", "flow.mmd", *OWN).code == 0
    assert calls(*OWN) == {"least": 0, "most": 0}
    assert calls(*OWN, "--repeat", "2") == {
        "least": 0,
        "most": 0,
    }  # at temperature 0 they are answered like the first time
    write("flow.mmd", FLOW.replace("m-1}", "m-1, temperature: 0.5}"))
    assert calls(*OWN, "--repeat", "3") == {"least": 72, "most": 72}


def test_it_goes_on_from_another_folder_and_by_the_same_metric(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("score.py", "def score(inputs, gold, output):\n    return float(gold == output), 'compared'\n")
    write("ids.txt", "q1\nq3\nq5\n")
    named = (
        "--items",
        "@ids.txt",
        "--metric",
        "python",
        "--metric-option",
        "file=score.py",
        "--map",
        "problme=problem",
    )
    server.answer = lambda request: Status(400, "no") if "5 plus 5" in request.prompt else answer(request)
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN[:4], *named)
    assert done.code == 0, done.err
    assert "flow.mmd has no input problme, so that the field problem feeds nothing; did you mean PROBLEM?" in done.err
    server.answer = answer
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    identity = done.err.rpartition("merrow show ")[2].strip()
    assert "1 right, 1 wrong, 1 unanswered" in done.out
    resumed = in_process(capsys, "resume", identity)
    assert (resumed.code, "2 right, 1 wrong" in resumed.out) == (0, True), resumed.err
    Path("../score.py").write_text("def score(inputs, gold, output):\n    return 1\n", encoding="utf-8")
    refused = in_process(capsys, "resume", identity)
    assert (refused.code, "The metric python of evaluation" in refused.err) == (2, True), refused.err
    monkeypatch.chdir("..")
    saved = in_process(capsys, "test", "--save", f"{identity}/q5")
    assert (saved.code, "has the new case" in saved.out) == (0, True), saved.err
    assert not list(Path("state/evaluations").glob("*.ballast"))


@posix
def test_a_judge_that_answered_is_not_asked_again_after_a_kill(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process is killed where the judge's answer is kept and the score is not."""

    def judged(request: Received) -> Step:
        if request.body["model"] != "judge-1":
            return answer(request)
        return Reply(json.dumps({"reason": "well done", "score": 8}))

    server.answer = judged
    data(1)
    program = (
        "import os, signal, sys\n"
        "from merrow_optimizer.evaluation import answering\n"
        "from merrow_server.cli import main\n"
        "class Dying(answering.ScoreRecord):\n"
        "    def __new__(cls, *given): os.kill(os.getpid(), signal.SIGKILL)\n"
        "answering.ScoreRecord = Dying\n"
        "main(sys.argv[1:])\n"
    )
    asked = ("--dataset", "own.jsonl", "--metric", "judge", "--judge-model", "judge-1")
    command = ("evaluate", "flow.mmd", *asked, "--metric-option", "rubric=Is it the sum?")
    killed = subprocess.run(
        [sys.executable, "-c", program, *command], check=False, capture_output=True, timeout=PATIENCE
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(server.requests) == 3
    [one] = in_process(capsys, "evaluations", "--format", "json").json
    assert one["status"] == "interrupted"
    resumed = in_process(capsys, "resume", one["evaluation"])
    assert resumed.code == 0, resumed.err
    assert len(server.requests) == 3
    assert in_process(capsys, "show", one["evaluation"], "--format", "json").json["usage"]["calls"] == 3


def test_all_of_a_file_is_a_reading_of_what_is_held_out(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert in_process(capsys, "evaluate", "flow.mmd", *OWN, "--part", "validate").code == 0
    assert "this is its first reading" in in_process(capsys, "evaluate", "flow.mmd", *OWN, "--part", "test").err
    assert in_process(capsys, "evaluate", "flow.mmd", *OWN, "--part", "all").code == 0
    assert "it was read 2 times before" in in_process(capsys, "evaluate", "flow.mmd", *OWN, "--part", "test").err
