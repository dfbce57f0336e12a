"""What is paid is counted: the endpoint's calls are those of the report and of ``merrow costs``, for every command that pays."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.optimizer.extraction.harness import rows_file
from tests.optimizer.extraction.planted import World
from tests.optimizer.suggestions.scripted import FLOW as VOICES
from tests.optimizer.suggestions.scripted import Model, candidate, prompt, said
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, only, serving
from tests.server.program import Outcome, merrow, write
from tests.server.searching import OWN, answer, place

from merrow_runtime.store.database import Store

JUDGED = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "judge", "--metric-option", "rubric=Is it yes?")
CASES = 'cases:\n  - id: one\n    inputs: {PROBLEM: Is 1?}\n    expect: [{judge: "is it yes?"}]\n'
PAYING = {
    "run": ("run", "flow.mmd", "--input", "problem=Is 1?"),
    "evaluate": ("evaluate", "flow.mmd", *JUDGED),
    "optimize": ("optimize", "flow.mmd", *JUDGED, "--budget-evaluations", "100", "--strategy", "climb"),
    "plan": ("plan", "Make a page.", "-n", "2"),
    "suggest": ("suggest", "voices.mmd", "--yes", "--n", "2"),
    "test": ("test", "flow.cases.yaml"),
    "test --record": ("test", "flow.cases.yaml", "--record"),
    "extract": ("extract", "math_validate.jsonl", "--model", "m", "--optimizer-model", "g", "-o", "operators.yaml"),
}
WORLD = World(5, operators=3, cases=4)
PRICE = 1000.0
"""US dollars a million tokens."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server, place(monkeypatch, tmp_path, server):
        write("flow.cases.yaml", CASES)
        write("voices.mmd", VOICES)
        rows_file(tmp_path, WORLD.rows())
        allow(server, 1_000_000)
        yield server


def of_world(request: Received) -> Step:
    return Reply(WORLD.answer(request.body))


def allow(server: OpenAIServer, month_usd: float) -> None:
    """Have the user's settings know prices, and allow so many US dollars a month."""
    limits = f"[limits]\nmonth_usd = {month_usd}\n"
    write("config/config.toml", f'{limits}[prices."{server.origin}"."*"]\ninput = {PRICE}\noutput = {PRICE}\n')


def counted() -> int:
    """The calls that ``merrow costs`` knows."""
    return sum(row["calls"] for row in merrow("costs", "--format", "json").json["rows"])


def reported(command: str, done: Outcome) -> int:
    """The calls that a command reports; of cases there is no report of calls, but one of what they cost."""
    if command in ("run", "optimize"):
        return int(json.loads(done.out.splitlines()[-1])["usage"]["calls"])
    return int(done.json["usage"]["calls"])


@pytest.mark.thinned(24, "money")
@pytest.mark.parametrize("command", PAYING)
def test_the_endpoint_the_report_and_the_costs_count_the_same(server: OpenAIServer, command: str) -> None:
    if command == "suggest":
        server.answer = Model(said(candidate(prompt("Check each step."))))
    elif command == "extract":
        server.answer = of_world
    done = merrow(*PAYING[command], *(("--json",) if command == "run" else ("--format", "json")))
    asked = len(server.requests)
    assert asked > 0, done.err
    assert counted() == asked
    if not command.startswith("test"):
        assert reported(command, done) == asked
    # What is known is not paid again, whatever asks.
    merrow(*PAYING[command], *(("--json",) if command == "run" else ("--format", "json")))
    assert counted() == len(server.requests)


@pytest.mark.thinned(24, "money")
@pytest.mark.parametrize("command", PAYING)
def test_nothing_is_paid_once_the_money_of_the_month_is_spent(server: OpenAIServer, command: str) -> None:
    assert merrow("run", "flow.mmd", "--input", "problem=Is 99?").code == 0
    server.requests.clear()
    allow(server, 0.000001)
    done = merrow(*PAYING[command])
    assert done.code != 0
    assert "month_usd" in done.err + done.out
    assert "Traceback" not in done.err
    assert server.requests == []


def test_answers_that_no_judge_may_score_are_not_wrong(server: OpenAIServer) -> None:
    """The month ends between an answer and its judge: nobody has said that the workflow is wrong."""
    allow(server, 0.000001)
    done = merrow(*PAYING["evaluate"], "--concurrency", "1", "--format", "json")
    rows = done.json["rows"]
    assert {row["status"] for row in rows} <= {"unanswered"}
    assert len(server.requests) <= 1
    allow(server, 1_000_000)
    resumed = merrow("resume")
    assert resumed.code == 0, resumed.err
    assert counted() == len(server.requests)


def test_an_evaluation_that_is_stopped_reports_what_it_has_paid(server: OpenAIServer) -> None:
    server.answer = only(3, answer)
    done = merrow(*PAYING["evaluate"], "--budget-seconds", "3", "--format", "json")
    assert done.code == 1, done.err
    usage = done.json["usage"]
    # What was on its way, and had not arrived when its time was over, counts as well: nobody knows whether it did.
    assert (counted(), usage["estimated"]) == (usage["calls"], True)
    assert usage["calls"] >= len(server.requests)
    # Its time is over for a resume, too.
    before = len(server.requests)
    again = merrow("resume")
    assert "budget of 3 seconds is over" in again.err
    assert len(server.requests) == before
    server.answer = answer
    whole = merrow("resume", "--budget-seconds", "1000")
    assert whole.code == 0, whole.err
    (listed,) = merrow("evaluations", "--format", "json").json
    assert listed["usage"]["calls"] == counted() >= len(server.requests)


@pytest.mark.thinned(24, "money")
@pytest.mark.parametrize("command", ["run", "evaluate", "optimize", "plan", "suggest", "test"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_pays_with_a_sentence(server: OpenAIServer, command: str, number: signal.Signals) -> None:
    server.answer = only(0, answer)
    running = subprocess.Popen([sys.executable, "-m", "merrow_server", *PAYING[command]], stderr=subprocess.PIPE)
    with running:
        assert running.stderr is not None
        wait_for(server, 1)
        running.send_signal(number)
        told = running.stderr.read().decode()
        assert running.wait(PATIENCE) == 130, told
    assert "Stopped" in told or "Cancelled" in told or "stopped" in told
    # What was in flight may be paid, even where it had not arrived yet.
    assert counted() >= len(server.requests)


def wait_for(server: OpenAIServer, count: int) -> None:
    """Wait until so many requests have come."""
    until = time.monotonic() + PATIENCE
    while len(server.requests) < count:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_second_signal_ends_the_process_whatever_it_computes(server: OpenAIServer, tmp_path: Path) -> None:
    """The second one is the system's to answer: a process that handles the first one, and then computes on, is ended by it."""
    write(
        "busy.py",
        "import asyncio, signal, sys\n"
        "from merrow_server.cli.sessions.signals import ended_by_signals\n"
        "async def main():\n"
        "    def end(number):\n"
        "        signal.setitimer(signal.ITIMER_PROF, 0)\n"
        "        print('heard', flush=True)\n"
        "        while True:\n"
        "            pass\n"
        "    with ended_by_signals(end):\n"
        "        print('ready', flush=True)\n"
        "        await asyncio.sleep(1000)\n"
        "asyncio.run(main())\n",
    )
    with subprocess.Popen([sys.executable, "busy.py"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        assert running.stdout.readline() == "heard\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == -signal.SIGINT


def test_one_signal_ends_a_process_that_only_computes(server: OpenAIServer) -> None:
    write(
        "busy.py",
        "import asyncio\n"
        "from merrow_server.cli.sessions.signals import cancelled_by_signals\n"
        "async def main():\n"
        "    with cancelled_by_signals():\n"
        "        print('ready', flush=True)\n"
        "        while True:\n"
        "            pass\n"
        "asyncio.run(main())\n",
    )
    with subprocess.Popen([sys.executable, "busy.py"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGTERM)
        assert running.wait(PATIENCE) == -signal.SIGPROF


@pytest.mark.thinned(24, "money")
@pytest.mark.parametrize("kind", ["run", "evaluate", "optimize"])
def test_resume_without_an_id_continues_what_was_killed_last_of_whatever_kind(server: OpenAIServer, kind: str) -> None:
    killed(PAYING["evaluate" if kind == "run" else "run"], server)
    killed(PAYING[kind], server)
    merrow("run", "flow.mmd", "--input", "problem=Is 77?")  # what has finished since is not in the way
    server.answer = answer
    done = merrow("resume")
    assert done.code == 0, done.err
    listed = merrow(*LISTED[kind], "--format", "json").json
    assert {one["status"] for one in listed} == {"finished"}
    said = {"run": "Run", "evaluate": "Evaluation", "optimize": "Search"}[kind]
    assert done.err.startswith(f"{said} ")


KILLED = {
    "run": PAYING["run"],
    "evaluate": ("evaluate", "flow.mmd", *OWN, "--concurrency", "1"),
}
"""Commands with one call at a time."""


@pytest.mark.thinned(2, "money")
@pytest.mark.parametrize("kind", KILLED)
def test_a_call_that_was_under_way_when_the_process_was_killed_is_counted_and_told(
    server: OpenAIServer, kind: str
) -> None:
    killed(KILLED[kind], server)
    assert counted() == len(server.requests) == 2
    assert "1 call has no known end" in merrow("costs").out
    done = merrow("resume", *(("--json",) if kind == "run" else ()))
    assert done.code == 0, done.err
    (listed,) = merrow(*LISTED[kind], "--format", "json").json
    assert listed["usage"]["calls"] == len(server.requests) == counted()
    shown = merrow("show", listed.get("run") or listed["evaluation"])
    assert "1 call was under way when the process was killed" in shown.out
    if kind == "run":
        assert json.loads(done.out.splitlines()[-1])["interrupted_calls"] == 1
    # What ends in any other way leaves nothing behind.
    assert sum(row["open"] for row in merrow("costs", "--format", "json").json["rows"]) == 1


@pytest.mark.thinned(2, "money")
@pytest.mark.parametrize("command", ["plan", "suggest", "test", "evaluate", "optimize"])
def test_what_asks_in_any_way_is_in_the_costs_when_its_process_is_killed(server: OpenAIServer, command: str) -> None:
    if command == "suggest":
        server.answer = Model(said(candidate(prompt("Check each step."))))
    killed(PAYING[command], server, answered=0 if command in ("plan", "suggest") else 2)
    assert counted() >= len(server.requests) > 0


def test_a_call_that_was_refused_leaves_no_mark(server: OpenAIServer) -> None:
    server.answer = lambda _: Status(400, "no")
    assert merrow(*PAYING["run"]).code == 1
    (listed,) = merrow("runs", "--format", "json").json
    shown = merrow("show", listed["run"], "--format", "json").json
    assert (shown["lost"], shown["usage"]["calls"], counted()) == ([], 0, 0)


def test_while_a_run_goes_on_its_calls_are_under_way_and_not_lost(server: OpenAIServer) -> None:
    server.answer = only(1, answer)
    with subprocess.Popen(
        [sys.executable, "-m", "merrow_server", *PAYING["run"]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        wait_for(server, 2)
        (listed,) = merrow("runs", "--format", "json").json
        assert merrow("show", listed["run"], "--format", "json").json["lost"] == []
        running.kill()


@pytest.mark.parametrize("kind", ["evaluate", "optimize", "extract"])
def test_the_time_of_a_process_that_was_killed_counts(server: OpenAIServer, kind: str) -> None:
    killed(PAYING[kind], server, seconds=2.0)
    before = len(server.requests)
    done = merrow("resume", "--budget-seconds", "1")
    told = done.out + done.err
    assert "The budget of 1 seconds is over" in told or "seconds already" in told
    assert len(server.requests) == before


LISTED = {"run": ("runs",), "evaluate": ("evaluations",), "optimize": ("optimizations",)}


def killed(command: Sequence[str], server: OpenAIServer, answered: int = 1, seconds: float = 0.0) -> None:
    """A command that was killed while a call was under way, after so many were ``answered``, and so many seconds by what is kept
    of it.
    """
    count = len(server.requests)
    server.answer = only(answered, answer)
    running = subprocess.Popen(
        [sys.executable, "-m", "merrow_server", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(server, count + answered + 1)
    while seconds and worked() < seconds:
        assert running.poll() is None
        time.sleep(0.1)
    running.kill()
    running.wait()
    server.answer = answer


def worked() -> float:
    """The seconds of the only job that is kept."""
    with closing(Store.open()) as store:
        kept = store.evaluations.newest() + store.optimizations.newest() + store.extractions.newest()
        return sum(one.seconds for one in kept)
