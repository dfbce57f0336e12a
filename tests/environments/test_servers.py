"""Environments of servers: consent, sessions, what a hostile one may send, and new sessions after a crash."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.environments.play import REACT, player, solution
from tests.runtime.compiling.programs import run_program
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, serving
from tests.server.program import Outcome, in_process

from merrow_runtime.store.database import Store

TASK = {"seed": 3, "depth": 3}
HOUSE = REACT.replace("workflow:\n", "workflow:\n  environments: {house: {server: craft}}\n").replace(
    "env: textcraft", "env: house"
)
HOSTILE = Path(__file__).with_name("hostile.py")


class Space:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.settings("allow = true")
        (folder / "house.mmd").write_text(HOUSE)

    def settings(self, *lines: str, how: str = "") -> None:
        config = self.folder / "config"
        config.mkdir(exist_ok=True)
        command = json.dumps([sys.executable, str(HOSTILE), str(self.log), how])
        (config / "config.toml").write_text("\n".join(("[servers.craft]", f"command = {command}", *lines, "")))

    @property
    def called(self) -> list[list[Any]]:
        """What the server was asked: the tool and its arguments, for each process of it."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Space:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    return Space(tmp_path)


def ran(capsys: pytest.CaptureFixture[str], server: OpenAIServer, *more: str) -> Outcome:
    given = ["run", "house.mmd", "--input", f"problem={json.dumps(TASK)}", "--base-url", server.base_url]
    return in_process(capsys, *given, "--json", *more)


def last(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(outcome.out.splitlines()[-1])
    return found


def test_an_episode_is_played_at_a_server(space: Space, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(player(TASK)) as model:
        outcome = ran(capsys, model)
    assert outcome.code == 0, outcome.out
    commands = solution(TASK)
    calls = [call[1:] for call in space.called]
    assert [tool for tool, _ in calls].count("reset") == 2
    steps = [arguments for tool, arguments in calls if tool == "step"]
    assert [step["action"].splitlines()[-1] for step in steps] == [f"> {command}" for command in commands]
    assert len({step["session"] for step in steps}) == 1
    assert len({call[0] for call in space.called}) == 1  # one process


def test_a_server_that_the_user_does_not_allow_is_not_started(space: Space, capsys: pytest.CaptureFixture[str]) -> None:
    space.settings()
    with serving(player(TASK)) as model:
        outcome = ran(capsys, model)
        assert outcome.code != 0
        assert "craft.reset" in outcome.out
        assert "craft.step" in outcome.out
        space.settings('allow = ["reset"]')
        assert "craft.step" in ran(capsys, model).out
        assert model.requests == []
    assert space.called == []


def test_an_unknown_server_is_refused_before_the_first_call(space: Space, capsys: pytest.CaptureFixture[str]) -> None:
    (space.folder / "house.mmd").write_text(HOUSE.replace("server: craft", "server: crafts"))
    with serving(player(TASK)) as model:
        assert "Did you mean craft?" in last(ran(capsys, model))["error"]
        assert model.requests == []


def test_after_a_crash_a_new_session_is_given_the_same_actions(
    space: Space, capsys: pytest.CaptureFixture[str]
) -> None:
    play, commands = player(TASK), solution(TASK)
    asked: list[Received] = []

    def failing(request: Received) -> Step:
        asked.append(request)
        return Status(418) if len(asked) == 5 else play(request)

    with serving(failing) as model:
        outcome = ran(capsys, model)
        assert outcome.code != 0
        before = len(space.called)
        again = in_process(capsys, "resume", last(outcome)["run"], "--json")
    assert again.code == 0, again.out
    calls = space.called[before:]
    assert {call[0] for call in calls}.isdisjoint({call[0] for call in space.called[:before]})
    assert [tool for _, tool, _ in calls] == ["reset", *["step"] * len(commands)]
    said = [arguments["action"].splitlines()[-1] for _, tool, arguments in calls if tool == "step"]
    assert said == [f"> {command}" for command in commands]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("no session", "gave no `session`"),
        ("long session", "gave no `session`"),
        ("no observation", "gave no `observation`"),
        ("list", "gave no `observation`"),
        ("no object", "did not answer with an object"),
        ("reward text", "`reward` that is not a number"),
        ("reward huge", "`reward` that is not a number"),
        ("done text", "true or false"),
        ("info", "true or false"),
        ("unlike", "did not answer with an object"),
        ("error", "It says: no\n"[:-1]),
        ("large", "max_result"),
        ("crash", "craft"),
    ],
)
def test_what_a_server_may_not_answer_fails_the_node(
    space: Space, capsys: pytest.CaptureFixture[str], how: str, says: str
) -> None:
    space.settings("allow = true", how=how)
    with serving(lambda _: Reply("inventory")) as model:
        outcome = ran(capsys, model)
    assert outcome.code != 0
    error = last(outcome)["error"]
    assert says in error
    assert len(error) < 1_000
    assert "\x1b" not in outcome.out


def test_an_evaluation_needs_tools_that_may_be_repeated(space: Space, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["evaluate", "house.mmd", "--dataset", "textcraft", "--limit", "1", "--format", "json"]
    with serving(lambda _: Reply("inventory")) as model:
        refused = in_process(capsys, *given, "--base-url", model.base_url)
        assert refused.code != 0
        assert "repeatable" in refused.err
        assert model.requests == []
        space.settings("allow = true", "repeatable = true")
        outcome = in_process(capsys, *given, "--base-url", model.base_url)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["episodes"]["steps"] == 59


def test_a_journal_keeps_what_a_server_said(space: Space, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(player(TASK)) as model:
        outcome = ran(capsys, model)
    del space
    store = Store.open()
    try:
        kept = [call for call in store.calls(last(outcome)["run"]) if call.kind == "act" and call.key.node == "GAME"]
    finally:
        store.close()
    assert kept[0].request["of"] == {"server": "craft"}
    assert kept[-1].result["terminated"] is True
    assert kept[-1].result["info"] == {"left": 0}


def test_a_program_plays_at_a_server_as_the_workflow_does(space: Space, capsys: pytest.CaptureFixture[str]) -> None:
    compiled = in_process(capsys, "compile", "house.mmd", "-o", "house.py")
    assert compiled.code == 0, compiled.err
    program = Path("house.py").read_text()
    given = ("--input", f"problem={json.dumps(TASK)}")
    with serving(player(TASK)) as model:
        done = run_program(program, *given, "--base-url", model.base_url, "--record", "calls.jsonl")
        assert done.code == 0, done.err
        assert last(ran(capsys, model, "--replay", "calls.jsonl"))["outputs"]["RETURN"] == done.out.rstrip("\n")
        assert len({call[0] for call in space.called}) == 1
        space.settings()  # Nothing is allowed without the user.
        refused = run_program(program, *given, "--base-url", model.base_url)
        assert refused.code != 0
        assert "craft.reset" in refused.err
    assert run_program(program, *given, "--replay", "calls.jsonl").out == done.out
