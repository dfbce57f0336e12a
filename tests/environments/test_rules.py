"""What the checker and editors say of Environments."""

from __future__ import annotations

import json

import pytest
from tests.environments.play import CLASSES, ENDS, REACT
from tests.shared import SHARED

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.graph.measures.kept_effects import acting, why_not_kept
from merrow_analysis.text import apply_edits
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.planned import load_planned

GAME = 'GAME[/"Environment<br/>(env: textcraft)"/]'
ACT = 'ACT["Custom<br/>(prompt: Say a command.)"]'


def flow(*lines: str, front: str = "") -> str:
    return front + ENDS + "".join(f"    {line}\n" for line in lines) + CLASSES


def loop(*lines: str, kind: str = "Loop (max: 3)", name: str = "EPISODE") -> list[str]:
    return [f'subgraph {name}["{kind}"]', *lines, "end"]


def found(text: str) -> list[tuple[str, int]]:
    """The codes of what is more than a hint, each with its line."""
    return [
        (one.code, one.range.start.line)
        for one in analyse(text).diagnostics
        if one.severity in (Severity.ERROR, Severity.WARNING)
    ]


def line_of(text: str, words: str) -> int:
    return next(number for number, line in enumerate(text.splitlines()) if words in line)


@pytest.mark.shared("corpus/effects")
def test_the_cases_of_the_corpus() -> None:
    folder = SHARED / "corpus/effects"
    cases = [json.loads(line) for line in (folder / "expected.jsonl").read_text("utf-8").splitlines()]
    ours = {case["file"][:3]: case for case in cases if case["file"][:3] in ("V05", "D10")}
    assert len(ours) == 2
    assert found((folder / ours["V05"]["file"]).read_text("utf-8")) == []
    case = ours["D10"]
    text = (folder / case["file"]).read_text("utf-8")
    (finding,) = (one for one in analyse(text).diagnostics if one.severity is not Severity.HINT)
    assert (finding.code, finding.severity.value, finding.range.start.line + 1) == (
        case["rule"],
        case["severity"],
        case["line"],
    )
    assert finding.message.startswith(case["place"]["node"])
    fix = next(iter(finding.fixes))
    assert case["fix"] in fix.title
    fixed = apply_edits(text, list(fix.edits))
    assert found(fixed) == []
    assert "ACT -->|again:action| GAME" in fixed


def test_an_environment_has_its_ports_and_acts() -> None:
    graph = analyse(REACT).typed
    assert graph is not None
    node = graph.by_id["GAME"]
    assert [(port.name, port.type, port.required) for port in node.input_ports] == [
        ("action", "Text", False),
        ("task", "Any", False),
    ]
    assert dict(node.outputs) == {"observation": "Text", "done": "Bool", "reward": "Number"}
    assert node.spec is not None
    assert (node.spec.effect, node.spec.acts, node.spec.asks_model) == ("environment", True, False)
    assert [one.id for one in acting(graph)] == ["SHOW", "GAME"]


@pytest.mark.parametrize("key", ["samples: 3", "attempts: 2", "retries: 1"])
def test_an_action_is_not_taken_again(key: str) -> None:
    text = REACT.replace("EPISODE", "LIFE", 1).replace(GAME, GAME.replace("env: textcraft", f"env: textcraft, {key}"))
    assert ("MW319", line_of(text, key)) in found(text)


def test_an_action_in_a_map_has_no_episode() -> None:
    wires = ["PROBLEM -->|each:action| GAME", "PROBLEM -->|task| GAME"]
    text = flow(
        'LIST["Custom<br/>(prompt: x, returns: list[Text])"]',
        "PROBLEM -->|input| LIST",
        *loop(GAME, kind="Map (max: 3)"),
        wires[0].replace("PROBLEM", "LIST"),
        wires[1],
        'JOIN["Assemble<br/>(how: concat)"]',
        "GAME --> JOIN",
        "JOIN --> RETURN",
    )
    assert found(text) == [("MW509", line_of(text, GAME))]
    (finding,) = (one for one in analyse(text).diagnostics if one.code == "MW509")
    assert "Map EPISODE" in finding.message
    assert list(finding.fixes) == []


def test_a_reset_needs_no_loop_and_neither_does_one_in_each_item() -> None:
    assert found(flow(GAME, "PROBLEM -->|task| GAME", "GAME --> RETURN")) == []


def test_a_loop_of_arrows_is_an_episode_too() -> None:
    text = flow(
        GAME,
        ACT,
        "DONE{Done?}:::DecisionOp",
        "PROBLEM -->|task| GAME",
        "GAME --> DONE",
        "DONE -->|yes| RETURN",
        "DONE -->|no:input| ACT",
        "ACT -->|again:action| GAME",
        front="---\nworkflow:\n  drawn: true\n---\n",
    )
    assert found(text) == []


def two(*more: str) -> str:
    return flow(
        *loop(GAME, GAME.replace("GAME", "OTHER"), ACT),
        "PROBLEM -->|task| GAME & OTHER",
        "GAME -->|input| ACT",
        "OTHER -->|input| ACT",
        "ACT -.->|again:action| GAME",
        "ACT -->|again:action| OTHER",
        "ACT --> RETURN",
        *more,
    )


def test_two_that_act_in_one_episode_have_an_order() -> None:
    text = two()
    assert found(text) == [("MW509", line_of(text, "OTHER[/"))]
    (finding,) = (one for one in analyse(text).diagnostics if one.code == "MW509")
    assert "GAME" in finding.message
    ordered = text.replace("PROBLEM -->|task| GAME & OTHER", "PROBLEM -->|task| GAME\n    GAME -->|task| OTHER")
    assert found(ordered) == []
    # Two environments are two episodes.
    assert (
        found(
            text.replace('OTHER[/"Environment<br/>(env: textcraft)', 'OTHER[/"Environment<br/>(env: house)').replace(
                "flowchart TD", "---\nworkflow:\n  environments: {house: {server: alfworld}}\n---\nflowchart TD", 1
            )
        )
        == []
    )


def test_two_of_which_one_runs_need_no_order() -> None:
    text = flow(
        *loop(
            'ACT["Custom<br/>(prompt: Say a command., returns: Bool)"]',
            "WHICH{Which?}:::DecisionOp",
            GAME,
            GAME.replace("GAME", "OTHER"),
        ),
        "PROBLEM -->|input| ACT",
        "ACT --> WHICH",
        "WHICH -->|yes:task| GAME",
        "WHICH -->|no:task| OTHER",
        "GAME -->|again:input| ACT",
        "OTHER -->|again:input| ACT",
        "GAME --> RETURN",
        "OTHER --> RETURN",
    )
    assert "MW509" not in [code for code, _ in found(text)]


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ("{house: {server: alfworld}}", None),
        ("{cart: {gymnasium: CartPole-v1}}", None),
        ("{cart: {gymnasium: 'my_games:House-v0'}}", None),
        ("{cart: {gymnasium: 'import os; x'}}", "MW311"),
        ("{cart: {server: a, gymnasium: b}}", "MW311"),
        ("{cart: {}}", "MW311"),
        ("[house]", "MW311"),
    ],
)
def test_environments_are_declared_by_server_or_id(declared: str, code: str | None) -> None:
    text = f"---\nworkflow:\n  environments: {declared}\n---\n" + flow(
        GAME, "PROBLEM -->|task| GAME", "GAME --> RETURN"
    )
    assert [one.code for one in analyse(text).diagnostics if one.severity is Severity.ERROR] == [code] * (
        code is not None
    )


def test_a_change_by_a_machine_adds_no_environment_and_lets_none_act_more_often() -> None:
    before = analyse(REACT).typed
    assert before is not None

    def after(text: str) -> str | None:
        graph = analyse(text).typed
        assert graph is not None
        return why_not_kept(before, graph)

    assert after(REACT) is None
    assert after(REACT.replace("Say the next command.", "Say what comes next.")) is None
    assert "more often" in str(after(REACT.replace("max: 60", "max: 61")))
    assert after(REACT.replace("max: 60", "max: 59")) is None
    assert "new Environment" in str(
        after(
            REACT.replace(
                "    PROBLEM -->|task| SHOW\n",
                f"    {GAME.replace('GAME', 'MORE')}\n    PROBLEM -->|task| SHOW & MORE\n",
            )
        )
    )
    declared = REACT.replace("workflow:\n", "workflow:\n  environments: {house: {server: alfworld}}\n")
    assert "house" in str(after(declared))
    assert after(REACT.replace("    PROBLEM -->|task| GAME\n", "    SHOW -->|task| GAME\n")) is not None


def test_a_plan_acts_in_no_environment() -> None:
    with pytest.raises(AnswerFailure, match="Environment"):
        load_planned(flow(GAME, "PROBLEM -->|task| GAME", "GAME --> RETURN"))


@pytest.mark.parametrize(
    ("env", "front", "titles"),
    [
        ("textkraft", "", ["Write textcraft", "Declare environment textkraft in the front matter"]),
        ("hose", "{house: {server: alfworld}}", ["Write house", "Declare environment hose in the front matter"]),
        ("zoo", "", ["Declare environment zoo in the front matter"]),
        ("", "", ["Write env: textcraft"]),
        ("", "{house: {server: alfworld}}", ["Write env: house"]),
    ],
)
def test_an_environment_is_shipped_or_declared(env: str, front: str, titles: list[str]) -> None:
    head = f"---\nworkflow:\n  environments: {front}\n---\n" if front else ""
    game = 'GAME["Environment<br/>(env: %s)"]' % env if env else 'GAME["Environment<br/>"]'  # noqa: UP031
    text = flow(game, "PROBLEM -->|task| GAME", "GAME --> RETURN", front=head)
    (finding,) = (one for one in analyse(text).diagnostics if one.severity is Severity.ERROR)
    assert (finding.code, finding.range.start.line) == ("MW505", line_of(text, "GAME["))
    fixes = list(finding.fixes)
    assert [one.title for one in fixes] == titles
    for one in fixes:
        assert found(apply_edits(text, list(one.edits))) == []
