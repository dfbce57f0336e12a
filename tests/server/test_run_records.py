"""What the journal's commands say of runs: who answered, what was paid, what arrived where, and what can't be read any more."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from rich.cells import cell_len
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import flowchart
from tests.runtime.openai_server import Received, Reply, Status, Step, serving
from tests.runtime.workflows import CHAIN
from tests.server.program import in_process, write
from tests.server.test_run_command import Stops, begun, the_run

pytestmark = pytest.mark.thinned(8, "robustness")

Capture = pytest.CaptureFixture[str]
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and terminals are of POSIX")


@POSIX
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_run_so_that_it_can_be_resumed(capsys: Capture, number: str) -> None:
    write("flow.mmd", CHAIN)
    with serving(stops := Stops(1)) as server:
        process = begun(server, "--input", "problem=1")
        assert stops.reached.wait(PATIENCE)
        process.send_signal(getattr(signal, number))
        _, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, b"Traceback" in err) == (130, False)
        assert the_run(capsys)["status"] == "cancelled"
        show = ("show", the_run(capsys)["run"])
        lost = [{"node": "B", "step": "answer", "why": "cancelled"}]
        # Of a node whose only call was lost there is nothing else to show.
        for only, expected in (((), lost), (("--node", "A"), []), (("--node", "B"), lost)):
            assert in_process(capsys, *show, *only, "--format", "json").json["lost"] == expected
        assert "\nB: a call was lost at answer: cancelled\n" in in_process(capsys, *show).out
        server.answer = lambda _: Reply("done")
        assert in_process(capsys, "resume", the_run(capsys)["run"]).code == 0


@POSIX
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_a_process_whose_run_is_over_and_whose_reader_does_not_read(capsys: Capture, number: str) -> None:
    write("flow.mmd", CHAIN)
    text = "long " * 40_000  # more than a pipe takes
    command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--base-url", "offline", "--json"]
    process = subprocess.Popen([*command, "--input", f"problem=@{write('problem.txt', text)}"], stdout=subprocess.PIPE)
    try:
        end = time.monotonic() + PATIENCE
        while not (runs := in_process(capsys, "runs", "--format", "json").json) or runs[0]["status"] == "running":
            assert time.monotonic() < end
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(getattr(signal, number))
        assert process.wait(PATIENCE) != 0
    finally:
        process.kill()
        process.communicate()


@POSIX
def test_a_run_under_nohup_goes_on_when_its_terminal_is_closed(capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    with serving(stops := Stops(1)) as server:
        command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--base-url", server.base_url]
        shell = 'trap "" HUP; exec "$@"'
        process = subprocess.Popen(
            ["sh", "-c", shell, "sh", *command, "--input", "problem=1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert stops.reached.wait(PATIENCE)
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert the_run(capsys)["status"] == "cancelled"


@POSIX
def test_what_a_killed_process_paid_is_counted(capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    with serving(stops := Stops(1)) as server:
        process = begun(server, "--input", "problem=1")
        assert stops.reached.wait(PATIENCE)
        going_on = the_run(capsys)
        process.kill()
        process.communicate(timeout=PATIENCE)
    dead = the_run(capsys)
    assert (going_on["status"], dead["status"]) == ("running", "failed")
    assert going_on["usage"] == dead["usage"]
    assert dead["usage"]["calls"] == 2  # the endpoint may have charged for the one under way, too
    assert dead["usage"]["prompt_tokens"] > 0
    assert dead["answered_by"] == f"test-model @ {server.origin.removeprefix('http://')}"
    assert "2 calls  " in in_process(capsys, "runs").out


def test_a_finished_run_that_is_resumed_says_so_and_stays_as_it_is(capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    with serving(lambda _: Reply("first answer", delay=0.3)) as server:
        first = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", server.base_url)
        before = the_run(capsys)
        asked = len(server.requests)
        again = in_process(capsys, "resume", before["run"])
        shown = in_process(capsys, "resume", before["run"], "--json")
        assert len(server.requests) == asked
    assert (again.code, again.out) == (0, first.out)
    assert "Finished before; nothing was called. When it ran: 2 calls" in again.err
    assert the_run(capsys) == before
    events = [json.loads(line) for line in shown.out.splitlines()]
    assert events[-1]["event"] == "run_finished"
    assert events[0]["finished_before"] is events[-1]["finished_before"] is True
    assert events[-1]["seconds"] == before["seconds"]


VOTE = flowchart(
    *(f'{name}@{{op: Custom, prompt: "{name}"}}' for name in "ABC"),
    "V[ScEnsemble]:::ScEnsembleOp",
    "P[Programmer]:::ProgrammerOp",
    "PROBLEM --> A & B & C --> V --> RETURN",
    "PROBLEM -->|problem| P",
    "OTHER([Code]):::Interface",
    "P -->|code:result| OTHER",
    front="{model: some-model}",
)


def test_a_node_is_shown_with_its_inputs_and_why_it_made_no_call(capsys: Capture) -> None:
    def answer(request: Received) -> Step:
        if "program" in request.prompt:
            return Reply("```python\ndef solve():\n    return 6 * 7\n```")
        return Reply("41" if request.prompt.startswith("C") else "42")

    write("flow.mmd", VOTE)
    with serving(answer) as server:
        ran = in_process(capsys, "run", "flow.mmd", "--input", "problem=6 times 7?", "--base-url", server.base_url)
    assert ran.code == 0, ran.err
    run = the_run(capsys)["run"]
    vote = in_process(capsys, "show", run, "--node", "V").out
    assert "Why no call\n2 of 3 candidates are equal." in vote
    assert "Inputs\n\ninput solutions (from A.response)\n42\n\ninput solutions (from B.response)\n42\n" in vote
    assert "input solutions (from C.response)\n41\n" in vote
    solver = in_process(capsys, "show", run, "--node", "A").out
    assert "input input (from PROBLEM)\n6 times 7?" in solver or "(from PROBLEM." in solver
    assert "Why no call" not in solver
    overview = in_process(capsys, "show", run).out
    programmer = in_process(capsys, "show", run, "--node", "P").out
    assert re.search(
        r"\nrun 1 \(sandbox, from sandbox, [^)]+\): request\n\{\n.*\"code\": \"def solve", programmer, re.DOTALL
    )
    assert re.search(r"\nrun 1 \(sandbox, [^)]+\): answer\n\{\n  \"outcome\": \"ok\"", programmer)
    assert "): request\n" not in programmer.partition("\nrun 1 (")[0]
    (node,) = in_process(capsys, "show", run, "--node", "P", "--format", "json").json["nodes"]
    assert len(node["outputs"]) == 2
    assert all(f"{name}: " in overview for name in node["outputs"])
    (node,) = in_process(capsys, "show", run, "--node", "V", "--format", "json").json["nodes"]
    assert (node["why_no_call"], node["model"], node["sources"]) == ("2 of 3 candidates are equal.", None, [])
    assert [given["node"] for given in node["inputs"]["solutions"]] == ["A", "B", "C"]


def test_nothing_says_that_an_endpoint_or_its_model_answered_where_the_embedded_one_did(capsys: Capture) -> None:
    write("flow.mmd", CHAIN.replace("test-model", "gpt-4o-mini"))
    ran = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--json")
    run = the_run(capsys)["run"]
    report = in_process(capsys, "show", run, "--format", "json").json
    assert "gpt-4o-mini" in report.pop("text"), "the workflow asks for it"
    texts = {
        "events": ran.out,
        "runs": in_process(capsys, "runs").out,
        "runs as JSON": in_process(capsys, "runs", "--format", "json").out,
        "show": in_process(capsys, "show", run).out,
        "show a node": in_process(capsys, "show", run, "--node", "A").out,
        "show as JSON": json.dumps(report),
        "the end": in_process(capsys, "run", "flow.mmd", "--input", "problem=2").err,
    }
    for name, text in texts.items():
        assert "gpt-4o-mini" not in text, name
        assert "from endpoint" not in text, name
        assert "offline" in text or "embedded model" in text, name
    node = next(node for node in report["nodes"] if node["node"] == "A")
    assert node["answered_by"] == "embedded model"
    assert {call["origin"] for call in node["calls"]} == {"offline"}


@pytest.mark.parametrize("base_url", ["http://no-such-name.invalid/v1", "http://127.0.0.1:9/v1"])
def test_calls_that_were_never_sent_count_nothing(capsys: Capture, base_url: str) -> None:
    lines = [f'N{n}@{{op: Custom, prompt: "N{n}"}}' for n in range(6)]
    nodes = " & ".join(f"N{n}" for n in range(6))
    write("flow.mmd", flowchart(*lines, 'J@{op: Custom, prompt: "J"}', f"PROBLEM --> {nodes} --> J --> RETURN"))
    outcome = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", base_url)
    assert outcome.code == 1
    assert "Failed: 0 calls, 0 tokens, $0, " in outcome.err
    assert the_run(capsys)["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "calls": 0, "cost_usd": 0.0}


def test_a_damaged_run_hides_only_itself_in_every_command(capsys: Capture, state: Path) -> None:
    write("flow.mmd", CHAIN)
    for number in range(2):
        assert in_process(capsys, "run", "flow.mmd", "--input", f"problem={number}").code == 0
    sound, hurt = (run["run"] for run in in_process(capsys, "runs", "--format", "json").json)
    with sqlite3.connect(state / "runs.sqlite") as database:
        database.execute("UPDATE runs SET snapshot = '{' WHERE id = ?", (hurt,))
    listed = in_process(capsys, "runs")
    assert sound in listed.out
    assert hurt not in listed.out
    sentence = (
        f"The record of run {hurt} is damaged in the journal. To remove the run, use: merrow runs --delete {hurt}"
    )
    assert sentence in listed.err
    for command in (
        ("show", hurt),
        ("resume", hurt),
        ("run", "flow.mmd", "--from", "B", "--run", hurt),
    ):
        outcome = in_process(capsys, *command)
        assert (outcome.code, outcome.out, outcome.err) == (2, "", f"merrow: {sentence}\n")
    with sqlite3.connect(state / "runs.sqlite") as database:
        database.execute("UPDATE calls SET result = '{' WHERE node = 'A'")
    shown = in_process(capsys, "show", sound)
    assert shown.code == 0
    assert "A call of node A" in shown.err
    assert in_process(capsys, "runs", "--delete", hurt).code == 0
    assert in_process(capsys, "runs").err == ""


def on_a_terminal(answer: bytes, *arguments: str) -> tuple[int, str]:
    """The program with a terminal of its own, where ``answer`` is typed when it asks."""
    here, there = pty.openpty()
    command = [sys.executable, "-m", "merrow_server", *arguments]
    process = subprocess.Popen(command, stdin=there, stdout=there, stderr=there, start_new_session=True)
    os.close(there)
    shown = b""
    typed = False
    while select.select([here], [], [], 60)[0]:
        try:
            shown += os.read(here, 4096)
        except OSError:  # the terminal is closed with the process
            break
        if not typed and b"(run, keep)" in shown:
            typed = True
            os.write(here, answer)
    os.close(here)
    return process.wait(PATIENCE), shown.decode()


@POSIX
@pytest.mark.parametrize(("answer", "code", "asked"), [(b"run\n", 0, 2), (b"keep\n", 0, 1), (b"\x04", 130, 0)])
def test_on_a_terminal_the_user_is_asked_about_results_of_another_endpoint(
    capsys: Capture, answer: bytes, code: int, asked: int
) -> None:
    write("flow.mmd", CHAIN)
    assert in_process(capsys, "run", "flow.mmd", "--input", "problem=1").code == 0
    first = the_run(capsys)["run"]
    with serving() as server:
        again = ("run", "flow.mmd", "--from", "B", "--run", first, "--base-url", server.base_url)
        assert "Choose --reuse same" in in_process(capsys, *again).err
        ended, shown = on_a_terminal(answer, *again)
        assert (ended, len(server.requests)) == (code, asked), shown
        assert "A was answered by the embedded offline model" in shown


def test_a_recording_that_can_not_be_written_any_more_ends_the_run_as_one_that_began(
    capsys: Capture, tmp_path: Path
) -> None:
    """A pipe takes the first line, and its reader goes; a disk that fills up is the same."""
    pipe = tmp_path / "record.jsonl"
    os.mkfifo(pipe)

    def read() -> None:
        with pipe.open() as lines:
            lines.readline()

    reader = Thread(target=read, daemon=True)
    reader.start()
    flow = write("chain.mmd", CHAIN)
    done = in_process(capsys, "run", str(flow), "--input", "problem=x", "--base-url", "offline", "--record", str(pipe))
    reader.join(PATIENCE)
    assert done.code == 1
    assert f"The recording {pipe} can't be written (Broken pipe)." in done.err
    [one] = in_process(capsys, "runs", "--format", "json").json
    assert one["status"] == "failed"
    assert in_process(capsys, "resume", one["run"]).code == 0


def test_two_processes_run_at_once_in_one_journal(capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    with serving(lambda request: Reply(f"to {request.prompt[-6:]}", delay=0.05)) as server:
        processes = [begun(server, "--input", f"problem=number {number}") for number in range(4)]
        assert [process.communicate(timeout=120) and process.returncode for process in processes] == [0] * 4
    listed = in_process(capsys, "runs", "--format", "json").json
    assert [(run["status"], run["usage"]["calls"]) for run in listed] == [("finished", 2)] * 4


def test_a_node_that_failed_is_shown_with_what_went_wrong_and_one_that_did_not_without(capsys: Capture) -> None:
    def first_only(request: Received) -> Step:
        return Reply("12") if "Answer the question" in request.prompt else Status(400)

    write("flow.mmd", CHAIN)
    with serving(first_only) as server:
        ran = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", server.base_url)
    assert ran.code == 1
    run = the_run(capsys)["run"]
    nodes = in_process(capsys, "show", run, "--format", "json").json["nodes"]
    assert {node["status"] for node in nodes} == {"finished", "failed"}
    overview = in_process(capsys, "show", run).out.splitlines()
    for node in nodes:
        head, *rest = in_process(capsys, "show", run, "--node", node["node"]).out.splitlines()
        assert head.startswith(f"{node['node']}  {node['status']}")
        # Below the heading: what went wrong, if anything did; then what belongs to the node, after an empty line.
        said = rest[: rest.index("")] if "" in rest else rest
        assert said == ([node["error"]] if node["error"] else [])
        assert bool(node["error"]) == (node["status"] == "failed")
        (line,) = (line for line in overview if line.split()[:2] == [node["node"], node["status"]])
        assert (node["error"] or "") in line


CHECKED = flowchart(
    'A@{op: Custom, prompt: "Say.", validate: v, attempts: 2, on_invalid: accept}',
    "PROBLEM --> A --> RETURN",
    front="{model: some-model, validators: {v: {rubric: It is short.}}}",
)


@pytest.mark.parametrize("first", [True, False])
def test_what_was_said_of_each_attempt_is_shown(capsys: Capture, first: bool) -> None:
    """Where the second one passes, it is said which it was; where none does, that the result is used all the same."""
    verdicts = [{"pass": False, "reasons": ["Too\nlong.", "No verb."], "feedback": "Cut\n it."}]
    verdicts.append({"pass": True, "reasons": [], "feedback": ""} if first else verdicts[0])
    said: list[str] = []

    def answer(request: Received) -> Step:
        if "response_format" in request.body:
            return Reply(json.dumps(verdicts.pop(0)))
        said.append(request.prompt)
        return Reply(f"answer {len(said)}")

    write("flow.mmd", CHECKED)
    with serving(answer) as server:
        ran = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", server.base_url)
    assert (ran.code, ran.out, len(said)) == (0, "answer 2\n", 2)
    assert ("Note: the result of A is used although it is not valid.\n" in ran.err) is not first
    overview = in_process(capsys, "show").out
    (row,) = [line for line in overview.splitlines() if line.startswith("A ")]
    assert row.endswith("attempt 2" if first else "not valid, attempt 2")
    assert "\n" + " " * (len("PROBLEM") + 22) + "answer 2\n" in overview
    shown = in_process(capsys, "show", "--node", "A").out
    wrong = "\nattempt {}: not valid\n  - Too\n    long.\n  - No verb.\n  feedback: Cut it.\n"
    assert wrong.format(1) in shown
    assert ("\nattempt 2: valid\n" if first else wrong.format(2)) in shown
    assert shown.count("\nattempt ") == 2
    (node,) = in_process(capsys, "show", "--node", "A", "--format", "json").json["nodes"]
    assert (node["attempt"], node["valid"]) == (2, first)
    assert [one["valid"] for one in node["attempts"]] == [False, first]


def test_results_are_below_each_other_however_wide_the_names(capsys: Capture) -> None:
    steps = "PROBLEM --> LONGER[AnswerGenerate] --> 手紙[AnswerGenerate] --> RETURN"
    write("flow.mmd", flowchart(steps))
    ran = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", "offline")
    assert ran.code == 0, ran.err
    told = in_process(capsys, "show").out.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    heads = [line for line in told if "finished" in line]
    assert [line.split()[0] for line in heads] == ["PROBLEM", "LONGER", "手紙", "RETURN"]
    assert {cell_len(line.partition("finished")[0]) for line in heads} == {len("PROBLEM  ")}
    before = [
        cell_len(line.partition(f" {name}: ")[0]) for line in told for name in ("thought", "answer") if name in line
    ]
    assert (len(before), len(set(before))) == (4, 1)


def test_that_a_loop_has_used_up_its_budget_is_no_call_of_a_node(capsys: Capture) -> None:
    loop = ('subgraph REFINE["Loop (max: 3)"]', 'A@{op: Custom, prompt: "Say."}', "end")
    budget = ("REFINE@{", "  budget:", "    tokens: 150", "}")
    edges = ("PROBLEM -->|input| A", "A -.->|again:input| A", "A -->|over| RETURN")
    write("flow.mmd", flowchart(*loop, *budget, *edges, front="{model: some-model}"))
    usage = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
    with serving(lambda _: Reply("said", usage=usage)) as server:
        ran = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", server.base_url, "--fresh")
        assert len(server.requests) == 2, ran.err
    assert (ran.code, ran.out) == (0, "said\n"), ran.err
    nodes = in_process(capsys, "show", "--format", "json").json["nodes"]
    assert {node["node"]: len(node["calls"]) for node in nodes} == {
        "PROBLEM": 0, "REFINE[1]/A": 1, "REFINE[2]/A": 1, "RETURN": 0,
    }  # fmt: skip
    assert {call["kind"] for node in nodes for call in node["calls"]} == {"model"}


def test_the_choice_of_a_decision_is_shown(capsys: Capture) -> None:
    ways = "    C -->|billing| D[About the bill]\n    C -->|technical| E[About it]\n"
    write("flow.mmd", f"flowchart TD\n    A([Mail]) --> C{{Which team?}}\n{ways}")
    assert in_process(capsys, "run", "flow.mmd", "--input", "a=1", "--base-url", "offline").code == 0
    run = the_run(capsys)["run"]
    (row,) = [line for line in in_process(capsys, "show", run).out.splitlines() if line.startswith("C ")]
    assert row.endswith("chose billing")
    assert "chose billing" in in_process(capsys, "show", run, "--node", "C").out
    (node,) = in_process(capsys, "show", run, "--node", "C", "--format", "json").json["nodes"]
    assert (node["case"], node["choice"]) == (0, "billing")
