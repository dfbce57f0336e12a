"""Runs that call tools: what is sent, what comes back, and that nothing is done twice."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.server.program import Outcome, in_process
from tests.server.terminal import terminals
from tests.tools.mails import CLASS, ONE, ROW, Workspace

from merrow_analysis.tools.pins import PINS_FILE
from merrow_runtime.store.connection import DatabaseConnection


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    return Workspace(tmp_path, tmp_path / "config")


def ran(capsys: pytest.CaptureFixture[str], *more: str) -> Outcome:
    return in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=ann", *more, "--json")


def run_of(outcome: Outcome) -> str:
    return str(json.loads(outcome.out.splitlines()[-1])["run"])


def outputs_of(outcome: Outcome) -> object:
    return json.loads(outcome.out.splitlines()[-1])["outputs"]


def test_a_tool_is_called_with_what_arrives_and_with_constants(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.write(ONE)
    outcome = ran(capsys, "--input", "BODY=hello")
    assert outcome.code == 0, outcome.err
    assert space.mails == [{"to": "ann", "body": "hello", "copies": 3}]
    assert outputs_of(outcome) == {"RETURN": "sent to ann"}
    again = in_process(capsys, "resume", run_of(outcome))
    assert again.code == 0
    assert len(space.mails) == 1


def test_a_dry_run_says_which_tools_are_called_and_calls_none(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.write(ONE)
    dry = in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=ann", "--input", "BODY=hello", "--dry-run")
    assert dry.code == 0
    assert "calls the tool mail.send" in dry.out
    assert "mail.send: it is called without asking you" in dry.out
    assert "never called again" in dry.out
    shown = in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=ann", "--dry-run", "--json").json
    may = [node["may"]["mail.send"] for node in shown["nodes"] if "may" in node]
    assert [(tool["allow"], tool["repeatable"]) for tool in may] == [(True, False)]
    space.settings("repeatable = true")
    asked = in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=ann", "--dry-run").out
    assert "mail.send: you are asked first" in asked
    assert "it may be called again" in asked
    assert space.mails == []


def test_what_is_only_waited_for_is_not_sent(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    space.write(ROW.replace("ONE -->|text| COUNT", "PROBLEM -->|text| COUNT\n    ONE -->|after| COUNT"))
    outcome = ran(capsys)
    assert outcome.code == 0, outcome.out
    assert [mail["to"] for mail in space.mails] == ["ann", "a", "sent to a"]


def test_fields_of_a_result_are_outputs_and_an_absent_one_is_null(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["workflow:", "  tools: [mail.count]"]
    for constants, rest in (("", None), (", with: 'loud: true'", "nn")):
        space.write(
            "\n".join(("---", *lines, "---", "flowchart TD"))
            + f"""
    PROBLEM([Text]):::Interface
    RETURN([Number]):::Interface
    REST([Rest]):::Interface
    COUNT[["Tool<br/>(tool: mail.count{constants})"]]
    PROBLEM -->|text| COUNT
    COUNT -->|letters:result| RETURN
    COUNT -->|rest:result| REST
"""
            + CLASS
        )
        outcome = ran(capsys)
        assert outcome.code == 0, outcome.err
        assert outputs_of(outcome) == {"RETURN": 3, "REST": rest}


def test_a_tool_that_failed_or_refused_fails_its_node_in_its_words_and_is_not_called_again(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.write(ONE)
    for body, words in (("fail", "sent to ann"), ("refuse", "the mailbox is full")):
        before = len(space.mails)
        outcome = ran(capsys, "--input", f"BODY={body}")
        assert outcome.code == 1, outcome.err
        assert words in outcome.out
        assert len(space.mails) == before + 1


def test_what_came_of_a_call_that_was_begun_is_asked_and_never_guessed(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.write(ONE)
    waiting = ran(capsys, "--input", "BODY=die")
    assert waiting.code == 3, waiting.err
    run = run_of(waiting)
    assert in_process(capsys, "resume", run).code == 3
    assert len(space.mails) == 1
    done = in_process(capsys, "answer", run, "SEND", "done", "--note", "I saw it")
    assert (done.code, done.out) == (0, "I saw it\n"), done.err
    assert len(space.mails) == 1


def test_a_call_that_was_not_done_is_made_when_a_person_says_so(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.write(ONE)
    run = run_of(ran(capsys, "--input", "BODY=early"))
    assert space.mails == []
    once_more = in_process(capsys, "answer", run, "SEND", "not done")
    assert once_more.code == 3, once_more.err  # It died again.
    done = in_process(capsys, "answer", run, "SEND", "done")
    assert done.code == 0, done.err


def test_a_call_that_may_be_repeated_asks_nobody(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    space.settings("allow = true", 'repeatable = ["send"]')
    space.write(ONE)
    outcome = ran(capsys, "--input", "BODY=die")
    assert outcome.code == 1, outcome.err
    assert in_process(capsys, "resume", run_of(outcome)).code == 1
    assert len(space.mails) == 2


def test_a_server_that_is_not_set_up_is_said_before_the_run(
    space: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    space.write(ONE)
    (tmp_path / "config" / "config.toml").write_text("")
    outcome = ran(capsys, "--input", "BODY=hello")
    assert outcome.code == 2, outcome.err
    assert "merrow tools add mail" in outcome.err, outcome.err
    assert "flow.mmd" not in in_process(capsys, "runs").out


def test_a_tool_that_is_not_what_it_was_is_refused_before_it_is_called(
    space: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from merrow_analysis.tools.pins import pinned, read_pins

    space.write(ONE)
    pins = read_pins((tmp_path / PINS_FILE).read_text())
    tool = pins.find("mail.send")
    assert tool is not None
    changed = pinned("mail", {"name": "send", **tool.said, "description": "Sends a mail.\u200b"})
    (tmp_path / PINS_FILE).write_text(pins.with_tools([changed]).text())
    outcome = ran(capsys, "--input", "BODY=hello")
    assert outcome.code == 1, outcome.err
    assert "merrow tools check" in outcome.out
    assert space.mails == []


def test_a_tool_that_the_user_has_not_allowed_is_not_called_before_somebody_agrees(
    space: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from merrow_analysis.tools.pins import pinned, read_pins

    space.settings()
    space.write(ONE)
    outcome = in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=ann", "--input", "BODY=hello")
    assert outcome.code == 2
    assert "calls the tool mail.send" in outcome.err
    with terminals() as terminal:
        arguments = ["run", "flow.mmd", "--input", "problem=ann", "--input"]
        assert "can act for you" in terminal(*arguments, "body=first", typed="n\n")
        assert "Finished" in terminal(*arguments, "body=second", typed="y\n")
    # Agreed to for this tool as it is, in this workspace.
    assert ran(capsys, "--input", "BODY=third").code == 0
    assert [mail["body"] for mail in space.mails] == ["second", "third"]
    pins = read_pins((tmp_path / PINS_FILE).read_text())
    tool = pins.find("mail.send")
    assert tool is not None
    changed = pinned("mail", {"name": "send", **tool.said, "description": "Sends mail."})
    (tmp_path / PINS_FILE).write_text(pins.with_tools([changed]).text())
    assert ran(capsys, "--input", "BODY=fourth").code == 2


def test_a_function_beside_the_workflow_is_a_tool(
    space: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "tools").mkdir()
    file = tmp_path / "tools" / "again.py"
    source = 'def again(text: str, times: int = 2) -> str:\n    """Repeat a text."""\n    return text * times\n'
    file.write_text(source)
    space.write(
        """---
workflow:
  tools: [local.again]
---
flowchart TD
    PROBLEM([Text]):::Interface
    RETURN([Result]):::Interface
    AGAIN[["Tool<br/>(tool: local.again, with: 'times: 3')"]]
    PROBLEM -->|text| AGAIN
    AGAIN --> RETURN
"""
        + CLASS
    )
    assert in_process(capsys, "tools", "pull", "local", "again").code == 0
    refused = ran(capsys)
    assert refused.code == 2
    assert "merrow tools trust local.again" in refused.out
    assert in_process(capsys, "tools", "trust", "local.again", "--yes").code == 0
    outcome = ran(capsys)
    assert outcome.code == 0, outcome.out
    assert outputs_of(outcome) == {"RETURN": "annannann"}
    file.write_text(source + "\n# Changed.\n")
    changed = ran(capsys)
    assert changed.code == 2
    assert "has changed since it was pinned" in changed.out


def echoing(constants: str, more: str = "") -> str:
    return (
        f"""---
workflow:
  tools: [mail.echo]
---
flowchart TD
    PROBLEM([Text]):::Interface
    RETURN([Result]):::Interface
    ECHO[["Tool<br/>(tool: mail.echo{constants})"]]
    PROBLEM -->|text| ECHO
{more or "    ECHO --> RETURN"}
"""
        + CLASS
    )


def test_numbers_are_whole_where_the_schema_wants_them_and_what_must_be_given_may_be_null(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.write(echoing(", with: 'size: 2.0'"))
    assert outputs_of(ran(capsys)) == {"RETURN": '{"nothing": null, "size": 2, "text": "ann"}!!'}
    half = echoing(
        "", '    PROBLEM --> NUMBER["Custom (prompt: x, returns: Number)"] -->|size| ECHO\n    ECHO --> RETURN'
    )
    space.write(half)
    outcome = ran(capsys, "--set-output", "NUMBER=2.5")
    assert outcome.code == 1
    assert "takes whole numbers" in outcome.out


def test_a_result_that_is_too_large_fails_the_node_and_says_what_to_raise(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.settings("allow = true", "max_result = 1000")
    space.write(echoing(", with: 'size: 2000'"))
    outcome = ran(capsys)
    assert outcome.code == 1
    assert "raise `max_result`" in outcome.out


def test_no_tool_is_given_the_key_of_the_endpoint(
    space: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-24-characters-x")
    space.write(echoing("", '    ECHO -->|input| SAY["Custom (prompt: Say it.)"] --> RETURN'))
    arguments = ["run", "flow.mmd", "--input", "PROBLEM=see a-key-of-24-characters-x", "--json"]
    outcome = in_process(capsys, *arguments, "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert outcome.code == 1
    assert "hold the key of an endpoint" in outcome.out


def test_a_server_that_does_not_answer_in_time_leaves_a_question(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.settings("allow = true", "timeout = 1.5")
    space.write(ONE)
    assert ran(capsys, "--input", "BODY=wait").code == 3
    assert len(space.mails) == 1


def test_what_was_begun_is_known_even_after_a_loss_of_power(
    space: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[int] = []
    outlast_power = DatabaseConnection.outlast_power

    def observed(database: DatabaseConnection) -> None:
        outlast_power(database)
        levels.append(database.execute("PRAGMA synchronous").fetchone()[0])

    monkeypatch.setattr(DatabaseConnection, "outlast_power", observed)
    monkeypatch.delenv("MERROW_JOURNAL", raising=False)
    space.write(ONE)
    assert ran(capsys, "--input", "BODY=hello").code == 0
    assert levels == [2]  # FULL: each commit is on the disk


def test_evaluations_refuse_tools_before_the_first_call(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    space.write(ONE.replace("BODY([Body]):::Interface\n", 'BODY["Custom (prompt: Write)"]\n    PROBLEM --> BODY\n'))
    (space.folder / "data.jsonl").write_text('{"problem": "ann", "answer": "x"}\n')
    outcome = in_process(capsys, "evaluate", "flow.mmd", "--dataset", "data.jsonl", "--gold", "answer")
    assert outcome.code == 2, outcome.err
    assert "calls the tool mail.send" in outcome.err, outcome.err
    assert space.mails == []


@pytest.mark.parametrize("more", [(), ("repeatable = true",)])
def test_a_recording_answers_in_the_place_of_tools(
    space: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path, more: tuple[str, ...]
) -> None:
    space.settings("allow = true", *more)
    space.write(ROW)
    assert ran(capsys, "--record", "row.jsonl").code == 0
    assert len(space.mails) == 3
    (tmp_path / "config" / "config.toml").write_text("")
    outcome = ran(capsys, "--replay", "row.jsonl")
    assert outcome.code == 0, outcome.err
    assert len(space.mails) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="a process is killed here")
def test_no_server_is_left_behind(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    space.write(ONE)
    assert ran(capsys, "--input", "BODY=hello").code == 0
    left = [
        process for process in Path("/proc").glob("[0-9]*/cmdline") if os.fsencode(space.log) in process.read_bytes()
    ]
    assert left == []


def test_a_call_of_a_tool_is_two_commits_and_one_where_it_may_be_repeated(
    space: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[list[str]] = []
    transaction = DatabaseConnection.transaction

    def counted(database: DatabaseConnection, *given: Any, **named: Any) -> Any:
        commits.append([])
        database.set_trace_callback(commits[-1].append)
        return transaction(database, *given, **named)

    monkeypatch.setattr(DatabaseConnection, "transaction", counted)
    space.write(ONE)
    for lines, most in ((("allow = true",), 2), (("allow = true", 'repeatable = ["send"]'), 1)):
        space.settings(*lines)
        commits.clear()
        assert ran(capsys, "--input", "BODY=hello").code == 0
        assert sum(any("INTO calls" in statement for statement in commit) for commit in commits) == most


def test_a_node_that_runs_alone_needs_no_agreement_to_other_tools(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.settings('allow = ["count"]')
    space.write(ROW)
    one = in_process(capsys, "run", "flow.mmd", "--only", "COUNT", "--set", "COUNT.text=four", "--json")
    assert one.code == 0, one.err
    other = in_process(capsys, "run", "flow.mmd", "--only", "TWO", "--set", "TWO.to=ann", "--json")
    assert other.code == 2
    assert "mail.send" in other.err
    assert space.mails == []


def test_a_run_continues_from_another_folder_with_the_tools_of_its_own(
    space: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (space.folder / "tools").mkdir()
    (space.folder / "tools" / "twice.py").write_text(
        'def twice(text: str) -> str:\n    """Says it twice."""\n    return text * 2\n'
    )
    assert in_process(capsys, "tools", "pull", "local", "twice").code == 0
    assert in_process(capsys, "tools", "trust", "local.twice", "--yes").code == 0
    space.write(
        "---\nworkflow:\n  tools: [local.twice]\n---\nflowchart TD\n"
        "    PROBLEM([To]):::Interface\n    RETURN([Result]):::Interface\n"
        '    ASK@{op: Human, ask: "What?"}\n    TWICE[["Tool<br/>(tool: local.twice)"]]\n'
        "    PROBLEM --> ASK -->|text| TWICE --> RETURN\n" + CLASS
    )
    run = run_of(ran(capsys))
    (space.folder / "elsewhere").mkdir()
    monkeypatch.chdir(space.folder / "elsewhere")
    done = in_process(capsys, "answer", run, "ASK", "ha")
    assert (done.code, done.out) == (0, "haha\n"), done.err
