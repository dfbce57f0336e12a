"""Programs of workflows with tools: the same settings, consent and refusals as for runs, and what is in the program itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.compiling.programs import Done, run_program
from tests.runtime.openai_server import OpenAIServer, Reply, serving
from tests.server.program import Outcome, in_process
from tests.tools.agents import AGENT, call, calls, mail, write
from tests.tools.mails import CLASS, ONE, ROW, Workspace

from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, pinned
from merrow_runtime.outside.packages import NEEDED

INPUTS = ("--input", "problem=ann", "--input", "body=hello")


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    return Workspace(tmp_path, tmp_path / "config")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serving() as server:
        yield server


class Programs:
    """What is compiled, imported and run in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Outcome:
        return in_process(self._capsys, *arguments)

    def made(self, name: str = "flow") -> str:
        done = self("compile", f"{name}.mmd", "-o", f"{name}.py")
        assert done.code == 0, done.err
        return Path(f"{name}.py").read_text("utf-8")


@pytest.fixture
def merrow(capsys: pytest.CaptureFixture[str]) -> Programs:
    return Programs(capsys)


def test_a_program_calls_a_tool_as_the_workflow_does_and_replays_without_its_server(
    space: Workspace, merrow: Programs
) -> None:
    space.settings("allow = true", "repeatable = true")
    space.write(ONE)
    program = merrow.made()
    Path(PINS_FILE).unlink()  # What is pinned is in the program.
    done = run_program(program, *INPUTS, "--record", "calls.jsonl")
    assert done == (0, "sent to ann\n", "")
    assert space.mails == [{"to": "ann", "body": "hello", "copies": 3}]
    Path("config/config.toml").unlink()
    assert run_program(program, *INPUTS, "--replay", "calls.jsonl") == done
    assert len(space.mails) == 1
    space.pin()
    assert merrow("run", "flow.mmd", *INPUTS, "--replay", "calls.jsonl").out == done.out


@pytest.mark.parametrize("lines", [("allow = true",), ()])
def test_a_tool_that_may_not_be_repeated_is_refused_where_nobody_can_be_asked(
    space: Workspace, merrow: Programs, lines: tuple[str, ...]
) -> None:
    space.settings(*lines)
    space.write(ONE)
    done = run_program(merrow.made(), *INPUTS)
    assert (done.code, done.out) == (2, "")
    assert "Node SEND calls the tool mail.send" in done.err
    assert "add send to `repeatable` in [servers.mail]" in done.err
    assert space.starts == 0


def test_a_tool_that_nobody_has_agreed_to_is_refused_as_in_a_run(space: Workspace, merrow: Programs) -> None:
    space.settings("repeatable = true")
    space.write(ONE)
    program = merrow.made()
    of_a_run = merrow("run", "flow.mmd", *INPUTS)
    done = run_program(program, *INPUTS)
    assert (done.code, of_a_run.code) == (2, 2)
    assert done.err.removeprefix("program.py: ") == of_a_run.err.removeprefix("merrow: ")
    assert space.starts == 0


def test_at_a_terminal_what_came_of_a_call_is_asked_and_it_is_not_made_again(
    space: Workspace, merrow: Programs
) -> None:
    space.write(ONE)
    said = json.dumps({"answer": "done", "note": "I saw it"})
    done = run_program(merrow.made(), *INPUTS[:2], "--input", "body=die", typed=f"{said}\n")
    assert (done.code, done.out) == (0, "I saw it\n"), done.err
    assert len(space.mails) == 1


TWO_MAILS = (
    """---
workflow:
  tools: [mail.send]
---
flowchart TD
    PROBLEM([To]):::Interface
    RETURN([Result]):::Interface
    ONE[["Tool<br/>(tool: mail.send, with: 'body: first')"]]
    TWO[["Tool<br/>(tool: mail.send, with: 'body: wait', timeout: 2)"]]
    PROBLEM -->|to| ONE -->|to| TWO --> RETURN
"""
    + CLASS
)
SEEN = json.dumps({"answer": "done", "note": "I saw it"}) + "\n"


def killed_at_its_second_mail(space: Workspace) -> None:
    """Run the program at a terminal, and kill it where its second mail was sent and nobody knows it yet."""
    here, there = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "flow.py", *INPUTS[:2]], stdin=there, stderr=there, stdout=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + PATIENCE
        while len(space.mails) < 2 and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        process.kill()
        process.wait()
    finally:
        os.close(here)
        os.close(there)
    assert [one["body"] for one in space.mails] == ["first", "wait"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal of its own")
def test_a_program_that_was_killed_is_continued_and_does_nothing_twice(space: Workspace, merrow: Programs) -> None:
    space.write(TWO_MAILS)
    program, file = merrow.made(), space.folder / "flow.py"
    killed_at_its_second_mail(space)
    other = run_program(program, "--input", "problem=bob", file=file, typed=SEEN)
    assert (other.code, "--again" in other.err) == (0, False), other.err
    sent = len(space.mails)
    done = run_program(program, *INPUTS[:2], file=file, typed=SEEN)
    assert (done.code, done.out) == (0, "I saw it\n"), done.err
    assert "--again" in done.err
    assert len(space.mails) == sent
    # It has ended by now, so the next one is a new one; so is one that is to be.
    assert "--again" not in run_program(program, *INPUTS[:2], file=file, typed=SEEN).err
    assert len(space.mails) == sent + 2
    space.log.unlink()
    killed_at_its_second_mail(space)
    again = run_program(program, *INPUTS[:2], "--again", file=file, typed=SEEN)
    assert (again.code, len(space.mails)) == (0, 4), again.err


def test_a_program_whose_question_nobody_answered_asks_again(space: Workspace, merrow: Programs) -> None:
    space.write(ONE)
    given = (*INPUTS[:2], "--input", "body=die")
    program = merrow.made()
    left = run_program(program, *given, typed="")
    assert (left.code, "nobody answers here" in left.err) == (1, True)
    done = run_program(program, *given, typed=SEEN)
    assert (done.code, done.out) == (0, "I saw it\n"), done.err
    assert "--again" in done.err
    assert len(space.mails) == 1


def test_a_server_that_says_something_else_than_its_pin_is_not_called(space: Workspace, merrow: Programs) -> None:
    space.settings("allow = true", "repeatable = true")
    space.pin(description="What it was.")
    space.write(ONE)
    program = merrow.made()
    space.pin()  # The program goes by its own.
    done = run_program(program, *INPUTS)
    assert done.code == 1
    assert "is not as it was pinned" in done.err
    assert space.mails == []


def test_a_pin_that_was_changed_in_the_program_is_refused(space: Workspace, merrow: Programs) -> None:
    space.settings("allow = true", "repeatable = true")
    space.write(ONE)
    program = merrow.made()
    done = run_program(program.replace("Sends a mail.", "Sends a mail to all."), *INPUTS)
    assert done.code == 2
    assert "mail.send" in done.err
    assert space.starts == 0


def test_pins_that_a_program_does_not_use_leave_it_up_to_date(space: Workspace, merrow: Programs) -> None:
    space.write(ONE)
    merrow.made()
    pins = json.loads(Path(PINS_FILE).read_text())
    del pins["servers"]["mail"]["tools"]["echo"]
    Path(PINS_FILE).write_text(json.dumps(pins))
    assert merrow("compile", "--check", "flow.py").code == 0
    space.pin(description="Another.")
    changed = merrow("compile", "--check", "flow.py")
    assert changed.code == 1
    assert "has changed since it was compiled" in changed.err


def test_a_program_is_read_back_with_its_tools(space: Workspace, merrow: Programs) -> None:
    space.write(ROW, "row.mmd")
    write(space, more="max: 3", name="agent.mmd")
    for name in ("row", "agent"):
        merrow.made(name)
        back = merrow("import", f"{name}.py", "-o", f"{name}_back.mmd")
        assert back.code == 0, back.err
        assert merrow("diff", f"{name}.mmd", f"{name}_back.mmd", "--format", "json").code == 0


def test_an_agent_asks_at_a_terminal_and_is_refused_elsewhere(
    space: Workspace, merrow: Programs, server: OpenAIServer
) -> None:
    space.settings()
    write(space, tools="mail.send")
    program = merrow.made()
    asked = ("--input", "problem=Write.", "--base-url", server.base_url, "--model", "m")
    refused = run_program(program, *asked)
    assert refused.code == 2
    assert "add send to `allow` and `repeatable`" in refused.err
    assert server.requests == []
    server.script(calls(mail("hello")), Reply("It is sent."))
    done = run_program(program, *asked, typed=json.dumps({"answer": "once"}) + "\n")
    assert (done.code, done.out) == (0, "It is sent.\n"), done.err
    assert [sent["body"] for sent in space.mails] == ["hello"]
    space.settings("allow = true", "repeatable = true")
    server.script(calls(mail("again")), Reply("It is sent."))
    assert run_program(program, *asked) == (0, "It is sent.\n", "")
    assert [sent["body"] for sent in space.mails] == ["hello", "again"]


LOCAL_TOOL = (
    """---
workflow:
  tools: [local.twice]
---
flowchart TD
    PROBLEM([Text]):::Interface
    RETURN([Result]):::Interface
    TWICE[["Tool<br/>(tool: local.twice)"]]
    PROBLEM -->|text| TWICE --> RETURN
"""
    + CLASS
)
TWICE = 'def twice(text: str) -> str:\n    """Repeat a text."""\n    return text * 2\n'


def _with_local_tool(space: Workspace, merrow: Programs) -> None:
    (space.folder / "tools").mkdir()
    (space.folder / "tools" / "twice.py").write_text(TWICE)
    space.write(LOCAL_TOOL)
    space.settings("allow = true", "[servers.local]", 'repeatable = ["twice"]')
    for more in (("pull", "local", "twice"), ("trust", "local.twice", "--yes")):
        done = merrow("tools", *more)
        assert done.code == 0, done.err


def test_a_tool_that_is_a_file_is_beside_the_program(
    space: Workspace, merrow: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_local_tool(space, merrow)
    program = merrow.made()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ran = run_program(program, "--input", "problem=ab", file=tmp_path / "flow.py")
    assert (ran.code, ran.out) == (0, "abab\n"), ran.err
    (tmp_path / "tools" / "twice.py").write_text(TWICE.replace("2", "3"))
    changed = run_program(program, "--input", "problem=ab", file=tmp_path / "flow.py")
    assert changed.code == 2
    assert "twice" in changed.err


CALLS = """flowchart TD
    PROBLEM([To]):::Interface
    RETURN([Result]):::Interface
    INNER@{ op: Call, workflow: ./inner/flow.mmd }
    SEND[["Tool<br/>(tool: mail.send, with: 'body: hello')"]]
    SENT([Sent]):::Interface
    PROBLEM -->|to| SEND --> SENT
    PROBLEM -->|PROBLEM| INNER --> RETURN
"""


def test_a_program_that_waited_for_a_person_still_finds_what_is_beside_it(
    space: Workspace, merrow: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_local_tool(space, merrow)
    asked = "PROBLEM -->|input| ASK -->|text| TWICE"
    space.write(
        LOCAL_TOOL.replace("PROBLEM -->|text| TWICE", asked).replace(
            "    TWICE[[", '    ASK@{ op: Human, ask: "Which?" }\n    TWICE[['
        )
    )
    program = merrow.made()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    done = run_program(program, "--input", "problem=x", file=tmp_path / "flow.py", typed="ab\n")
    assert (done.code, done.out) == (0, "abab\n"), done.err


def test_an_agent_may_use_a_tool_that_is_a_file_which_its_user_trusts(
    space: Workspace, merrow: Programs, server: OpenAIServer
) -> None:
    _with_local_tool(space, merrow)
    space.write(
        AGENT.replace("mail.send, mail.count, mail.echo", "local.twice").replace("'TOOLS'MORE", "'local.twice'")
    )
    server.script(calls(call("local__twice", text="ab")), Reply("It is abab."))
    asked = ("--input", "problem=Double it.", "--base-url", server.base_url, "--model", "m")
    assert run_program(merrow.made(), *asked) == (0, "It is abab.\n", "")
    assert "abab" in server.bodies[-1]["messages"][-1]["content"]


def test_types_that_a_workflow_has_from_its_tools_are_not_declared_by_it(space: Workspace, merrow: Programs) -> None:
    text, word = {"type": "string"}, {"type": "string", "enum": ["ann", "bob"]}
    schema = {"type": "object", "properties": {"to": word, "body": text}, "required": ["to", "body"]}
    pins = [pinned("mail", {"name": "send", "inputSchema": schema})]
    Path(PINS_FILE).write_text(NO_PINS.with_tools(pins).text())
    space.write(
        ONE.replace("PROBLEM -->|to|", "PROBLEM -->|body|")
        .replace("    BODY -->|body| SEND\n", "")
        .replace("    BODY([Body]):::Interface\n", "")
        .replace("copies: 3", "to: ann")
    )
    assert "TYPES" not in merrow.made()
    assert merrow("import", "flow.py", "-o", "back.mmd").code == 0
    assert merrow("diff", "flow.mmd", "back.mmd", "--format", "json").code == 0


def test_a_called_file_in_another_folder_has_no_tools_that_are_files(space: Workspace, merrow: Programs) -> None:
    _with_local_tool(space, merrow)
    inner = space.folder / "inner"
    inner.mkdir()
    (inner / "flow.mmd").write_text(LOCAL_TOOL)
    send = "    SEND[[\"Tool<br/>(tool: mail.send, with: 'body: hello')\"]]\n"
    outer = (
        CALLS.replace(send, "")
        .replace("    SENT([Sent]):::Interface\n", "")
        .replace("    PROBLEM -->|to| SEND --> SENT\n", "")
    )
    space.write(outer + CLASS)
    refused = merrow("compile", "flow.mmd")
    assert (refused.code, refused.out) == (2, "")
    assert "the tool local.twice of inner/flow.mmd" in refused.err


def test_tools_of_one_name_that_are_not_the_same_are_not_compiled(space: Workspace, merrow: Programs) -> None:
    outer = "---\nworkflow:\n  tools: [mail.send]\n---\n" + CALLS + CLASS
    space.write(outer)
    inner = space.folder / "inner"
    inner.mkdir()
    (inner / "flow.mmd").write_text(
        ONE.replace("    BODY -->|body| SEND\n", "")
        .replace("    BODY([Body]):::Interface\n", "")
        .replace("copies: 3", "body: x")
    )
    space.settings("allow = true", "repeatable = true")
    done = run_program(merrow.made(), "--input", "problem=ann")
    assert (done.code, done.out) == (0, "sent to ann\nsent to ann\n"), done.err
    assert sorted(sent["body"] for sent in space.mails) == ["hello", "x"]
    pins = (space.folder / PINS_FILE).read_text()
    space.pin(description="Another.")
    (inner / PINS_FILE).write_text(pins)
    refused = merrow("compile", "flow.mmd")
    assert (refused.code, refused.out) == (2, "")
    assert "the tool mail.send of inner/flow.mmd" in refused.err


def alone(*arguments: str, packages: bool = False) -> Done:
    flags = [] if packages else ["-I", "-S"]
    done = subprocess.run([sys.executable, *flags, "flow.pyz", *arguments], capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
def test_a_standalone_program_starts_servers_and_says_what_it_lacks(space: Workspace, merrow: Programs) -> None:
    space.settings("allow = true", "repeatable = true")
    space.write(ONE)
    assert merrow("compile", "flow.mmd", "--standalone", "-o", "flow.pyz").code == 0
    done = alone(*INPUTS, "--record", "calls.jsonl", packages=True)
    assert (done.code, done.out) == (0, "sent to ann\n"), done.err
    assert alone(*INPUTS, "--replay", "calls.jsonl") == done
    lacking = alone(*INPUTS)
    assert (lacking.code, lacking.out) == (2, "")
    assert f"pip install '{NEEDED}'" in lacking.err
    assert len(space.mails) == 1
    _with_local_tool(space, merrow)
    assert merrow("compile", "flow.mmd", "--standalone", "-o", "flow.pyz").code == 0
    local = alone("--input", "problem=ab", packages=True)
    assert (local.code, local.out) == (0, "abab\n"), local.err


def test_what_a_standalone_program_asks_for_is_what_the_extra_needs() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert NEEDED in project["optional-dependencies"]["tools"]
