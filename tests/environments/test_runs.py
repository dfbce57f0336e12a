"""Runs in which an environment is acted in: what is journalled, and what a resume, `--from` and others make of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.environments.play import CLASSES, ENDS, REACT, next_command, solution
from tests.patience import PATIENCE
from tests.people.flows import PATTERNS
from tests.runtime.engine.fakes import FakeEndpoint
from tests.server.program import in_process

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.environments import shipped
from merrow_runtime.environments.interface import EnvironmentStep
from merrow_runtime.environments.textcraft.game import TextCraft
from merrow_runtime.environments.textcraft.recipes import shipped_book
from merrow_runtime.environments.textcraft.tasks import make_task
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow, check_workflow

TASK = {"seed": 3, "depth": 3}


def prompt_of(request: ModelRequest) -> str:
    return "\n".join(message.content for message in request.messages)


def playing(*tasks: object) -> Callable[[ModelRequest], str]:
    """Who plays tasks well."""
    commands = {make_task(shipped_book(), task).goal: solution(task) for task in tasks}
    return lambda request: next_command(prompt_of(request), commands)


def saying(*commands: str) -> Callable[[ModelRequest], str | Exception]:
    """Who says these, one after the other, and fails then."""
    left = list(commands)
    return lambda _: left.pop(0) if left else EndpointFailure("nothing left to say", fatal=True)


def done(
    flow: Workflow | str,
    answer: Any,
    store: Store | None = None,
    task: object = TASK,
    **options: Any,
) -> RunResult:
    flow = check_workflow(flow, name="game.mmd") if isinstance(flow, str) else flow
    running = merrow_runtime.run(
        flow, {"PROBLEM": json.dumps(task)}, endpoint=FakeEndpoint(answer), store=store, options=RunOptions(**options)
    )
    return asyncio.run(running)


def resumed(run: str, answer: Any, store: Store) -> RunResult:
    async def work() -> RunResult:
        return await merrow_runtime.resume(run, endpoint=FakeEndpoint(answer), store=store).result()

    return asyncio.run(work())


def acts(store: Store, run: str, node: str = "GAME") -> list[tuple[str, str, str]]:
    """What was done by a node: the step, what it was, what was seen."""
    calls = [call for call in store.calls(run) if call.kind == "act" and call.key.node == node]
    return [
        (call.key.step, str(call.request.get("action", call.request.get("task"))), call.result["observation"])
        for call in calls
    ]


@pytest.fixture
def games(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of each session that was opened, a reset as an empty one."""
    opened: list[list[str]] = []

    class Noted(TextCraft):
        def __init__(self, book: Any) -> None:
            super().__init__(book)
            opened.append([])

        def reset(self, task: object) -> EnvironmentStep:
            opened[-1].append("")
            return super().reset(task)

        def step(self, action: str) -> EnvironmentStep:
            opened[-1].append(action)
            return super().step(action)

    monkeypatch.setattr(shipped, "TextCraft", Noted)
    return opened


def test_an_episode_is_played_to_its_end_and_each_act_is_a_call(games: list[list[str]]) -> None:
    store = MemoryStore()
    result = done(REACT, playing(TASK), store)
    commands = solution(TASK)
    assert result.outputs == {"RETURN": f"Crafted 1 {make_task(shipped_book(), TASK).goal}"}
    kept = acts(store, result.run)
    assert [step for step, _, _ in kept] == [f"act {number}" for number in range(len(commands) + 1)]
    assert [action.splitlines()[-1] for _, action, _ in kept[1:]] == [f"> {command}" for command in commands]
    assert json.loads(kept[0][1]) == TASK
    assert kept[0][2].startswith("Crafting commands:\n")
    assert kept[-1][2].startswith("Crafted ")
    # One session shows the task, the other is played in.
    assert [len(game) for game in games] == [1, len(commands) + 1]
    record = next(
        node for node in store.nodes(result.run) if node.node == "GAME" and node.path == f"EPISODE[{len(kept)}]"
    )
    assert record.outputs is not None
    assert (record.outputs["done"], record.outputs["reward"]) == (True, 1.0)


def test_a_run_that_stopped_goes_on_in_a_new_session_that_comes_to_the_same_point(games: list[list[str]]) -> None:
    store = MemoryStore()
    commands = solution(TASK)
    first = done(REACT, saying(*commands[:4]), store)
    assert first.status == "failed"
    kept = acts(store, first.run)
    assert len(kept) == 5
    del games[:]
    last = resumed(first.run, saying(*commands[4:]), store)
    assert last.status == "finished"
    assert acts(store, last.run)[:5] == kept
    assert [action for _, action, _ in acts(store, last.run)[1:]] == commands
    assert games == [["", *commands]]


@pytest.mark.parametrize("commands", [2, 99])
def test_sessions_are_closed_when_an_episode_or_its_run_is_over(
    monkeypatch: pytest.MonkeyPatch, commands: int, games: list[list[str]]
) -> None:
    closed: list[object] = []

    async def close(self: shipped.ShippedSession) -> None:
        closed.append(self)

    monkeypatch.setattr(shipped.ShippedSession, "close", close)
    done(REACT, saying(*solution(TASK)[:commands]), MemoryStore())
    assert len(set(map(id, closed))) == len(closed) == len(games) == 2


def test_another_observation_on_the_way_back_fails_the_node_and_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    commands = solution(TASK)
    first = done(REACT, saying(*commands[:3]), store)

    class Other(TextCraft):
        def step(self, action: str) -> EnvironmentStep:
            step = super().step(action)
            return EnvironmentStep(step.observation.replace("Got", "Took\x1b"))

    monkeypatch.setattr(shipped, "TextCraft", Other)
    last = resumed(first.run, saying(*commands[3:]), store)
    assert last.status == "failed"
    assert last.error is not None
    assert commands[0] in last.error
    item = commands[0].removeprefix("get ")
    assert f"Got {item}" in last.error
    assert f"Took {item}" in last.error
    assert "\x1b" not in last.error


def test_an_earlier_result_is_reused_only_where_the_same_was_done_before() -> None:
    store = MemoryStore()
    base = next(command for command in solution(TASK) if command.startswith("get")).split(" ", 2)[2]
    more, look = f"get 1 {base}", "inventory"
    first = done(REACT, saying(more, more, look, more, look), store)
    assert [seen for _, _, seen in acts(store, first.run)[1:]] == [
        f"Got 1 {base}",
        f"Got 1 {base}",
        f"Inventory: [{base}] (2)",
        f"Got 1 {base}",
        f"Inventory: [{base}] (3)",
    ]
    # From the third turn on: `inventory` was said twice before, and is no answer to what was done now.
    again = done(REACT, saying(more, look, look), store, from_run=first.run, from_node="EPISODE[3]/ACT")
    assert [seen for _, _, seen in acts(store, again.run)] == [
        f"Got 1 {base}",
        f"Inventory: [{base}] (3)",
        f"Inventory: [{base}] (3)",
    ]


def test_a_recording_is_replayed_without_a_session(tmp_path: Path, games: list[list[str]]) -> None:
    recording = tmp_path / "game.jsonl"
    first = done(REACT, playing(TASK), MemoryStore(), record=recording)
    del games[:]
    again = done(REACT, saying(), MemoryStore(), replay=recording)
    assert (again.status, again.outputs) == ("finished", first.outputs)
    assert games == []
    # Another task is another episode, of which the recording knows nothing.
    other = done(REACT, saying(), MemoryStore(), replay=recording, task={"seed": 4, "depth": 3})
    assert other.status == "failed"
    assert other.failure is not None
    assert other.failure.code == "replay"


def test_a_program_acts_in_a_shipped_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replays = Path(__file__).parents[2] / "examples" / "replays" / "patterns" / "react_textcraft.jsonl"
    program = tmp_path / "game.py"
    assert in_process(capsys, "compile", str(PATTERNS / "react_textcraft.mmd"), "-o", str(program)).code == 0
    task = 'problem={"seed": 25, "depth": 3}'
    command = [sys.executable, str(program), "--input", task, "--replay", str(replays)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE * 2)
    assert "Crafted 1 fishing rod" in ran.stdout, ran.stderr


def test_an_action_is_replayed_only_after_the_same(tmp_path: Path) -> None:
    recording = tmp_path / "game.jsonl"
    # The model is not shown what was seen, so that only the acts can differ.
    flow = REACT.replace("|no:input|", "|no:after|").replace("{last: 60}", "none").replace("max: 60", "max: 4")
    more = next(command for command in solution(TASK) if command.startswith("get"))
    assert done(flow, lambda _: more, MemoryStore(), record=recording).status == "finished"
    assert done(flow, saying(), MemoryStore(), replay=recording).status == "finished"
    lines = recording.read_text().splitlines()
    number = next(at for at, line in enumerate(lines) if '"act 1"' in line)
    assert "Got " in lines[number]
    recording.write_text("\n".join([*lines[:number], lines[number].replace("Got ", "Had "), *lines[number + 1 :], ""]))
    again = done(flow, saying(), MemoryStore(), replay=recording)
    assert again.status == "failed"
    assert again.failure is not None
    assert again.failure.code == "replay"


def looped(*lines: str, turns: int = 3) -> str:
    inside = [
        f'    subgraph EPISODE["Loop (max: {turns})"]',
        '        GAME[/"Environment<br/>(env: textcraft)"/]',
        '        ACT["Custom<br/>(prompt: act)"]',
        "    end",
    ]
    return ENDS + "\n".join([*inside, *(f"    {line}" for line in lines), CLASSES])


def test_an_action_before_the_episode_began_is_refused() -> None:
    flow = looped("PROBLEM -->|action| GAME", "GAME -->|input| ACT", "ACT -->|again:input| ACT", "ACT --> RETURN")
    result = done(flow, saying("a"))
    assert result.status == "failed"
    assert "GAME" in str(result.error)
    assert "before its episode began" in str(result.error)


def test_an_action_after_the_end_changes_nothing(games: list[list[str]]) -> None:
    task = {"seed": 1, "depth": 1}
    commands = solution(task)
    flow = looped(
        "PROBLEM -->|task| GAME",
        "GAME -->|input| ACT",
        "ACT -->|again:action| GAME",
        "GAME --> RETURN",
        turns=len(commands) + 3,
    )
    store = MemoryStore()
    result = done(flow, saying(*commands, "inventory", "inventory", "inventory"), store, task)
    assert str(result.outputs["RETURN"]).startswith("Crafted ")
    seen = [seen for _, _, seen in acts(store, result.run)]
    assert seen[-1] == seen[-2] == seen[-3]
    assert [len(game) for game in games] == [len(commands) + 1]
    assert [node.outputs["reward"] for node in store.nodes(result.run) if node.node == "GAME" and node.outputs][
        -3:
    ] == [1.0] * 3


def test_each_item_and_each_visit_of_a_loop_has_an_episode_of_its_own() -> None:
    flow = (
        "---\nworkflow:\n  memory: {last: 60}\n  prompts: {act: Act., split: Split.}\n---\n"
        + ENDS
        + """    SPLIT["Custom<br/>(role: split, returns: 'list[Json]')"]
    subgraph PARTS["Map (max: 100, parallel: 100)"]
        SHOW[/"Environment<br/>(env: textcraft)"/]
        subgraph EPISODE["Loop (max: 60, until: GAME.done)"]
            GAME[/"Environment<br/>(env: textcraft)"/]
            ACT["Custom<br/>(role: act)"]
        end
    end
    PROBLEM -->|input| SPLIT
    SPLIT -->|each:task| SHOW
    SPLIT -->|each:task| GAME
    SHOW -->|input| ACT
    GAME -->|input| ACT
    ACT -.->|again:action| GAME
    JOIN["Assemble<br/>(how: concat)"]
    GAME --> JOIN
    JOIN --> RETURN
"""
        + CLASSES
    )
    tasks = [{"seed": seed, "depth": 2} for seed in range(12)]
    play = playing(*tasks)

    def answer(request: ModelRequest) -> str:
        return json.dumps({"response": tasks}) if "Split." in prompt_of(request) else play(request)

    store = MemoryStore()
    result = done(flow, answer, store)
    assert result.status == "finished", result.error
    ends = [node for node in store.nodes(result.run) if node.node == "GAME" and node.outputs and node.outputs["done"]]
    assert len(ends) == len(tasks)
    assert {node.path.split("/")[0] for node in ends} == {f"PARTS[{number}]" for number in range(1, 13)}
    for number, task in enumerate(tasks, 1):
        own = [
            call
            for call in store.calls(result.run)
            if call.kind == "act" and call.key.node == "GAME" and call.key.path.startswith(f"PARTS[{number}]/")
        ]
        said = [str(call.request["action"]).splitlines()[-1].removeprefix("> ") for call in own[1:]]
        assert said == solution(task)


def test_an_outer_loop_begins_the_inner_episode_again() -> None:
    flow = (
        ENDS
        + """    subgraph TRIALS["Loop (max: 2)"]
        subgraph EPISODE["Loop (max: 3)"]
            GAME[/"Environment<br/>(env: textcraft)"/]
            ACT["Custom<br/>(prompt: act)"]
        end
        JUDGE["Custom<br/>(prompt: judge)"]
    end
    PROBLEM -->|task| GAME
    GAME -->|input| ACT
    ACT -.->|again:action| GAME
    GAME -->|input| JUDGE
    JUDGE -.->|again:input| ACT
    JUDGE --> RETURN
"""
        + CLASSES
    )
    store = MemoryStore()
    result = done(flow, lambda _: "inventory", store)
    assert result.status == "finished", result.error
    assert [step for step, _, _ in acts(store, result.run)] == ["act 0", "act 1", "act 2"] * 2


def test_what_is_revised_on_the_way_stands_on_what_was_done(games: list[list[str]]) -> None:
    """The box is renamed and the player asked otherwise while the third action is awaited: nothing is asked twice for what was
    done before, and the episode goes on.
    """
    base = next(command for command in solution(TASK) if command.startswith("get")).split(" ", 2)[2]
    said: list[str] = []
    flow = check_workflow(REACT, name="game.mmd")
    renamed = check_workflow(REACT.replace("EPISODE", "LIFE"), name="game.mmd")
    store = MemoryStore()

    async def work() -> RunResult:
        reached, go = asyncio.Event(), asyncio.Event()

        async def answer(_: ModelRequest) -> str | Exception:
            said.append("")
            if len(said) == 3:
                reached.set()
                await go.wait()
            return (
                f"get 1 {base}" if len(said) < 5 else "inventory" if len(said) == 5 else EndpointFailure("", fatal=True)
            )

        endpoint = FakeEndpoint(answer)
        run = merrow_runtime.start(flow, {"PROBLEM": json.dumps(TASK)}, endpoint=endpoint, store=store)
        await reached.wait()
        asked = asyncio.ensure_future(run.revise(renamed))
        await asyncio.sleep(0.05)
        go.set()
        revision = await asked
        assert revision.state == "applied", revision
        return await run.result()

    result = asyncio.run(work())
    seen = [node for node in store.nodes(result.run) if node.node == "GAME" and node.path.startswith("LIFE")]
    assert seen[-1].outputs is not None
    assert seen[-1].outputs["observation"] == f"Inventory: [{base}] (4)"
    assert len(said) == 6
