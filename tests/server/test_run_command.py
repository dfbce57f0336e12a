"""``merrow run`` and the commands of the journal, as a user calls them, against a server on loopback."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.postgres import IN_A_FILE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Status, Step, serving
from tests.runtime.planned.planning import ONCE
from tests.runtime.workflows import CHAIN, layers
from tests.server.program import Outcome, in_process, write
from tests.sizes import sized

Capture = pytest.CaptureFixture[str]
RUN_ID = re.compile(r"merrow show (\S+)")
KILLS = sized(6, 10)
"""Processes killed at random points."""


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serving() as running:
        yield running


def run(capture: Capture, server: OpenAIServer, *arguments: str) -> Outcome:
    return in_process(capture, "run", "flow.mmd", "--base-url", server.base_url, *arguments)


def events(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_a_run_prints_the_output_alone_on_standard_output(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    write("question.txt", "How many legs has a spider?")
    server.script(Reply("It has eight legs."), Reply("eight"))
    outcome = run(capsys, server, "--input", "problem=@question.txt")
    assert (outcome.out, outcome.code) == ("eight\n", 0)
    assert "A finished" in outcome.err
    assert "2 calls" in outcome.err
    assert "cost unknown" in outcome.err
    assert "How many legs has a spider?" in server.requests[0].prompt
    assert "It has eight legs." in server.requests[1].prompt
    assert [body["model"] for body in server.bodies] == ["test-model"] * 2


def test_an_output_that_a_person_set_is_shown_as_theirs(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    server.script(Reply("eight"))
    outcome = run(capsys, server, "--input", "problem=How many legs?", "--set-output", "A=It has eight legs.")
    assert (outcome.out, outcome.code) == ("eight\n", 0)
    assert "A finished (" in outcome.err
    assert "by a person" in outcome.err
    assert "a person" in outcome.err.splitlines()[-1]
    assert "It has eight legs." in server.requests[0].prompt
    shown = in_process(capsys, "show", RUN_ID.findall(outcome.err)[0], "--node", "A")
    assert "answered by a person" in shown.out
    wrong = run(capsys, server, "--input", "problem=x", "--set-output", "A.respnse=x")
    assert (wrong.code, "Did you mean response?" in wrong.err) == (2, True)


def test_the_events_are_printed_a_line_each(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    outcome = run(capsys, server, "--input", "Problem=2+2", "--json")
    shown = events(outcome)
    assert shown[0]["event"] == "run_started"
    assert {event["schema"] for event in shown} == {2}
    assert len({event["run"] for event in shown}) == 1
    finished = [event["node"] for event in shown if event["event"] == "node_finished"]
    assert finished.index("A") < finished.index("B")
    last = shown[-1]
    assert last["event"] == "run_finished"
    assert list(last["outputs"]) == ["RETURN"]
    assert set(last["usage"]) >= {"prompt_tokens", "completion_tokens", "calls", "cost_usd"}
    assert last["usage"]["calls"] == 2
    assert last["seconds"] > 0
    assert any(event["event"] == "node_output" for event in shown)


def test_the_embedded_model_answers_where_nothing_is_set_and_says_that_it_is_none(capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    outcome = in_process(capsys, "run", "flow.mmd", "--input", "problem=What is 6 times 7?")
    assert (outcome.out, outcome.code) == ("42\n", 0)
    assert "Note: The embedded offline model answers, which is not a real model" in outcome.err
    shown = in_process(capsys, "show", RUN_ID.findall(outcome.err)[0])
    assert "not a real model" in shown.out


def test_a_dry_run_names_the_model_that_judges(capsys: Capture) -> None:
    validators = "  validators: {v: {rubric: Good, votes: 2, model: judge}}\n"
    write("flow.mmd", CHAIN.replace("  prompts:", f"{validators}  prompts:") + "    A@{ validate: v }\n")
    shown = in_process(capsys, "run", "flow.mmd", "--dry-run").out
    assert "   validate, asked 2 to 6 times, answered by judge\n" in shown


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("run", "flow.mmd", "--input", "problem=1"), ("doctor",)])
@pytest.mark.parametrize("package", ["openai", "aiohttp"])
def test_without_the_packages_for_real_endpoints_it_is_said_what_to_do(
    package: str, arguments: tuple[str, ...]
) -> None:
    write("flow.mmd", CHAIN)
    command = [*arguments, "--base-url", "http://127.0.0.1:1/v1"]
    script = (
        f"import sys; sys.modules[{package!r}] = None\nfrom merrow_server.cli import main\nsys.exit(main({command!r}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"need the package {package}" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_dry_run_shows_every_prompt_and_calls_nothing(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    outcome = run(capsys, server, "--dry-run", "--input", "problem=How many {braces}?")
    assert outcome.code == 0
    assert "How many {braces}?" in outcome.out
    assert "Shorten the answer." in outcome.out
    assert "calls: 2" in outcome.out
    assert re.findall(r"^\d\. .*", outcome.out, re.MULTILINE) == [
        "1. PROBLEM (Interface)",
        "2. A (Custom, test-model)",
        "3. B (Custom, test-model)",
        "4. RETURN (Interface)",
    ]
    plan = run(capsys, server, "--dry-run", "--json").json
    assert plan["order"] == ["PROBLEM", "A", "B", "RETURN"]
    assert plan["calls"] == {"least": 2, "most": 2}
    assert plan["cost_usd"]["most"] is None
    assert {request.method for request in server.requests} <= {"GET"}


def test_a_dry_run_says_that_it_can_not_know_what_is_planned_on_the_way(server: OpenAIServer, capsys: Capture) -> None:
    write("planned.mmd", ONCE)
    told = in_process(capsys, "run", "planned.mmd", "--dry-run", "--base-url", server.base_url)
    assert told.code == 0, told.err
    lines = told.out.splitlines()
    (place,) = (number for number, line in enumerate(lines) if ". WORK (Call" in line)
    assert lines[place + 1].startswith(
        "   The workflow that it runs is not planned yet: how many calls it makes isn't known"
    )
    (figures,) = (line for line in lines if line.startswith("calls: "))
    assert re.fullmatch(
        r"calls: 1 to unknown; tokens: about \d+ to unknown; cost: unknown, because a workflow is not planned yet",
        figures,
    )
    write("flow.mmd", CHAIN)
    known = in_process(capsys, "run", "flow.mmd", "--dry-run", "--base-url", server.base_url).out
    assert "cost: unknown, because a model has no known price\n" in known
    assert "not planned yet" not in known


def test_a_dry_run_names_no_model_at_a_node_that_asks_none(capsys: Capture) -> None:
    joins = CHAIN.replace('B["Custom<br/>(role: second)"]:::CustomOp', "B@{ op: Assemble, how: concat }")
    write("flow.mmd", joins.replace("A -->|input| B", "A -->|results| B"))
    shown = in_process(capsys, "run", "flow.mmd", "--dry-run").out
    assert "2. A (Custom, test-model)\n" in shown
    assert "3. B (Assemble)\n" in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "The input PROBLEM has no value"),
        (("--input", "problm=1"), "no input problm. Did you mean PROBLEM?"),
        (("--input", "problem"), "lacks its value"),
        (("--input", "problem=@none.txt"), "none.txt"),
        (("--input", "problem=1", "--budget-usd", "0.1"), "The price of `test-model` at http://127.0.0.1:"),
        (("--input", "problem=1", "--replay", "none.jsonl"), "none.jsonl"),
        (("--input", "problem=1", "--from", "A"), "run"),
        (("--input", "problem=1", "--base-url", "no address"), "not an address"),
    ],
)
def test_a_run_that_is_asked_for_wrongly_is_refused_before_any_call(
    server: OpenAIServer, capsys: Capture, arguments: tuple[str, ...], says: str
) -> None:
    write("flow.mmd", CHAIN)
    outcome = run(capsys, server, *arguments)
    assert outcome.code == 2
    assert says in outcome.err
    assert "Traceback" not in outcome.err
    assert server.requests == []


def test_a_workflow_with_errors_is_not_run(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", CHAIN.replace("role: second", "role: secnd"))
    outcome = run(capsys, server, "--input", "problem=1")
    assert outcome.code == 2
    assert "secnd" in outcome.err
    assert server.requests == []


def test_a_failed_run_says_node_endpoint_and_reason_and_goes_on_when_resumed(
    server: OpenAIServer, capsys: Capture
) -> None:
    write("flow.mmd", CHAIN)
    server.script(Reply("long answer"), Status(401, "bad key"))
    failed = run(capsys, server, "--input", "problem=1", "--json")
    assert failed.code == 1
    last = events(failed)[-1]
    assert last["event"] == "run_failed"
    assert "B" in last["error"]
    assert server.origin in last["error"]
    write("flow.mmd", "flowchart TD\n  the file may say what it wants now")
    resumed = in_process(capsys, "resume", last["run"])
    assert resumed.code == 0
    assert len(server.requests) == 3
    assert "long answer" in resumed.out
    assert "2 calls" in resumed.err


def test_what_a_file_of_the_workspace_may_not_set_is_told_when_the_run_begins(
    server: OpenAIServer, capsys: Capture
) -> None:
    write("flow.mmd", CHAIN.replace("model: test-model", "model: test-model\n  base_url: http://127.0.0.1:9/v1"))
    outcome = run(capsys, server, "--input", "problem=1")
    assert outcome.code == 0
    assert "Note: " in outcome.err
    assert "http://127.0.0.1:9" in outcome.err
    assert len(server.requests) == 2


def test_nothing_is_asked_twice_for_the_same(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    for said in ("Finished: 2 calls, ", "Finished: 0 calls (earlier answers were used), "):
        outcome = run(capsys, server, "--input", "problem=1")
        assert (outcome.code, said in outcome.err) == (0, True), outcome.err
    assert len(server.requests) == 2
    assert run(capsys, server, "--input", "problem=1", "--fresh").code == 0
    assert len(server.requests) == 4


def test_without_a_store_nothing_is_left_behind(server: OpenAIServer, capsys: Capture, state: Path) -> None:
    write("flow.mmd", CHAIN)
    assert run(capsys, server, "--input", "problem=secret", "--no-store").code == 0
    assert not state.exists()


def test_a_run_is_recorded_and_replayed_without_the_server(capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    with serving() as server:
        recorded = run(capsys, server, "--input", "problem=1", "--record", "run.jsonl")
    assert recorded.code == 0
    replayed = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--replay", "run.jsonl")
    assert (replayed.out, replayed.code) == (recorded.out, 0)
    changed = in_process(capsys, "run", "flow.mmd", "--input", "problem=2", "--replay", "run.jsonl")
    assert changed.code == 1
    assert "node A" in changed.err
    assert "another request" in changed.err


def test_from_a_node_on_the_rest_is_taken_over(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    first = events(run(capsys, server, "--input", "problem=1", "--json"))[-1]["run"]
    write("flow.mmd", CHAIN.replace("Shorten the answer.", "Make it rhyme."))
    again = run(capsys, server, "--from", "B", "--run", first, "--json")
    assert again.code == 0
    assert [event["node"] for event in events(again) if event["event"] == "node_reused"] == ["A"]
    assert len(server.requests) == 3
    assert "Make it rhyme." in server.requests[2].prompt


def test_one_node_runs_alone_with_what_is_set(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    write("draft.txt", "a long draft")
    outcome = run(capsys, server, "--only", "B", "--set", "B.input=@draft.txt")
    assert outcome.code == 0
    assert len(server.requests) == 1
    assert "a long draft" in server.requests[0].prompt


def test_runs_are_listed_shown_and_deleted(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    server.script(Reply("first answer"), Reply("second answer"))
    assert run(capsys, server, "--input", "problem=the question").code == 0
    listed = in_process(capsys, "runs", "--format", "json").json
    assert [one["status"] for one in listed] == ["finished"]
    identity = listed[0]["run"]
    assert listed[0]["workflow"] == str(Path("flow.mmd").absolute())
    assert in_process(capsys, "runs", "--workflow", "flow.mmd", "--format", "json").json == listed
    assert in_process(capsys, "runs", "--workflow", "other.mmd", "--format", "json").json == []
    assert identity in in_process(capsys, "runs").out
    shown = in_process(capsys, "show", identity[:8])
    assert "second answer" in shown.out
    node = in_process(capsys, "show", identity, "--node", "B").out
    assert "Shorten the answer." in node
    assert "first answer" in node
    report = in_process(capsys, "show", identity, "--format", "json").json
    assert report["text"] == CHAIN
    assert {one["node"]: one["status"] for one in report["nodes"]}["B"] == "finished"
    assert "Did you mean PROBLEM?" in in_process(capsys, "show", identity, "--node", "PROBLM").err
    assert in_process(capsys, "runs", "--delete", identity).code == 0
    assert in_process(capsys, "show", identity).code == 2


def test_a_budget_of_tokens_stops_the_run_before_the_call_that_is_too_much(
    server: OpenAIServer, capsys: Capture
) -> None:
    write("flow.mmd", CHAIN.replace("model: test-model", "model: test-model\n  max_tokens: 50"))
    server.script(Reply("x", usage={"prompt_tokens": 900, "completion_tokens": 200}))
    outcome = run(capsys, server, "--input", "problem=1", "--budget-tokens", "1000")
    assert outcome.code == 1
    assert "budget" in outcome.err
    assert len(server.requests) == 1


@IN_A_FILE
def test_a_key_is_never_shown(server: OpenAIServer, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-test-51f0a7c3d9e24b68"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    write("flow.mmd", CHAIN)
    server.script(Status(401, f"Incorrect API key provided: {key}"))
    outcome = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--record", "run.jsonl")
    assert outcome.code == 1
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    shown = outcome.out + outcome.err + Path("run.jsonl").read_text()
    shown += in_process(capsys, "show", in_process(capsys, "runs", "--format", "json").json[0]["run"]).out
    assert key not in shown
    with sqlite3.connect(Path(os.environ["MERROW_STATE_DIR"]) / "runs.sqlite") as database:
        assert key not in "\n".join(database.iterdump())


def begun(server: OpenAIServer, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--base-url", server.base_url, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def the_run(capture: Capture) -> dict[str, Any]:
    found: dict[str, Any] = in_process(capture, "runs", "--format", "json").json[0]
    return found


class Stops:
    """Answers ``count`` requests; the next ones hang, and it is told that they came."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.reached = threading.Event()

    def __call__(self, request: Received) -> Step:
        if self.count > 0:
            self.count -= 1
            return Reply(f"answer to {hash(request.prompt)}")
        self.reached.set()
        return Hang()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
def test_ctrl_c_stops_the_run_and_keeps_what_is_finished(capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    with serving(stops := Stops(1)) as server:
        process = begun(server, "--input", "problem=1")
        assert stops.reached.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert b"Stopped" in err
        assert b"Traceback" not in err
    assert the_run(capsys)["status"] == "cancelled"
    with serving() as server:
        again = ("resume", the_run(capsys)["run"], "--base-url", server.base_url)
        refused = in_process(capsys, *again)
        assert (refused.code, server.requests) == (2, [])
        assert "Choose --reuse same" in refused.err
        assert in_process(capsys, *again, "--reuse", "any").code == 0
        assert len(server.requests) == 1


@pytest.mark.slow
def test_another_process_cancels_the_run(capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    with serving(stops := Stops(1)) as server:
        process = begun(server, "--input", "problem=1")
        assert stops.reached.wait(PATIENCE)
        identity = the_run(capsys)["run"]
        taken = in_process(capsys, "resume", identity)
        assert taken.code != 0
        assert f"process {process.pid}" in taken.err
        assert in_process(capsys, "cancel", identity).code == 0
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
    *_, last = err.decode().splitlines()
    assert last.startswith("Stopped: ")
    assert last.endswith(f"What is finished is kept; continue it with: merrow resume {identity}")
    assert "merrow: " not in err.decode()
    assert the_run(capsys)["status"] == "cancelled"
    assert in_process(capsys, "cancel", identity).code == 1


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is of POSIX")
@IN_A_FILE
def test_a_process_killed_at_any_moment_loses_no_finished_call(capsys: Capture, state: Path) -> None:
    calls = 4 * 3 + 1
    write("flow.mmd", layers(4, 3))
    chance = random.Random(7)
    asked: Counter[str] = Counter()
    lock = threading.Lock()
    served = threading.Condition(lock)

    def answer(request: Received) -> Step:
        with served:
            asked[request.prompt] += 1
            served.notify_all()
        return Reply(f"answer {zlib.crc32(request.prompt.encode())}", delay=0.004)

    killed = 0
    with serving(answer) as server:
        for kill in range(KILLS):
            with lock:
                asked.clear()
            process = begun(server, "--input", f"problem=number {kill}")
            wanted = chance.randrange(calls)
            with served:
                assert served.wait_for(lambda least=wanted: sum(asked.values()) >= least, timeout=PATIENCE)
            try:
                process.wait(chance.random() * 0.02)
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate(timeout=PATIENCE)
            looked = in_process(capsys, "runs", "--format", "json", "--limit", "1")
            assert looked.code == 0, looked.err
            listed = looked.json
            if not listed or listed[0]["status"] == "finished" or process.returncode != -signal.SIGKILL:
                continue
            killed += 1
            with sqlite3.connect(state / "runs.sqlite") as database:
                assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                kept = database.execute(
                    "SELECT request FROM calls JOIN runs ON runs.number = run WHERE id = ?", (listed[0]["run"],)
                ).fetchall()
            finished = {
                "\n".join(message["content"] for message in json.loads(request)["messages"]) for (request,) in kept
            }
            with lock:
                asked.clear()
            resumed = in_process(capsys, "resume", listed[0]["run"])
            assert resumed.code == 0, resumed.err
            assert finished.isdisjoint(asked), "a call that was finished is made again"
            assert len(finished) + len(asked) == calls
            assert set(asked.values()) <= {1}
    assert killed > KILLS // 3


def test_a_run_that_is_not_kept_names_no_command_that_would_not_find_it(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    finished = run(capsys, server, "--input", "problem=x", "--no-store")
    server.script(Status(400))
    failed = run(capsys, server, "--input", "problem=y", "--no-store")
    assert (finished.code, failed.code) == (0, 1)
    for outcome in (finished, failed):
        assert "Nothing of it is kept" in outcome.err
        assert "merrow show" not in outcome.err
        assert "merrow resume" not in outcome.err


def test_standard_input_that_is_no_text_is_refused(server: OpenAIServer) -> None:
    write("flow.mmd", CHAIN)
    command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--base-url", server.base_url]
    given = subprocess.run([*command, "--input", "problem=@-"], input=b"caf\xe9", capture_output=True, check=False)
    assert given.returncode == 2
    assert given.stderr.decode() == (
        "merrow: standard input is not UTF-8: line 1 has a byte that doesn't belong there; save it as UTF-8.\n"
    )
    assert server.requests == []
