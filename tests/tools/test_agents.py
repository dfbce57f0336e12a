"""What the checker and editors say of agents that use tools, and what machines may change of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.analysis.ide.cursor import marked
from tests.people.kept import FILES, acting_nodes, assert_kept, graph_of
from tests.shared import SHARED
from tests.sizes import sized
from tests.tools.flows import checked, flow, found
from tests.tools.pinned import PINS
from tests.tools.test_rules import fixed
from tests.tools.test_rules import marked as marked_texts

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.graph.measures.kept_effects import why_not_kept
from merrow_analysis.ide.completion.completion import complete
from merrow_analysis.ide.hover import hover
from merrow_analysis.ide.names.references import references
from merrow_analysis.ide.semantic_tokens import semantic_tokens
from merrow_analysis.text import apply_edits
from merrow_analysis.tools.permissions import NamedPermissions
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.moves import DEFAULT, MoveFilter, random_mutants
from merrow_optimizer.repair.search import repair
from merrow_runtime.program.workspace import WorkspaceFinder

NAMES = ["mail.send", "shop.order", "shop.price", "web.fetch", "web.search"]


def agent(tools: str, more: str = "", declared: str = "web.search, web.fetch") -> str:
    """A workflow with one agent that is offered these tools."""
    return flow(
        declared,
        f"A[\"ToolAgent<br/>(prompt: Find out., tools: '{tools}'{more})\"]",
        "PROBLEM -->|input| A",
        "A --> RETURN",
    )


@pytest.mark.shared("corpus/effects")
def test_the_case_of_the_corpus() -> None:
    folder = SHARED / "corpus/effects"
    text = (folder / "V03_agent.mmd").read_text("utf-8")
    case = next(one for one in map(json.loads, (folder / "expected.jsonl").open()) if one["file"] == "V03_agent.mmd")
    analysis = analyse(text, path="V03_agent.mmd", provider=WorkspaceFinder().provider(folder))
    assert analysis.is_valid is case["valid"]
    assert [one.code for one in analysis.diagnostics if one.severity is not Severity.HINT] == []


def test_an_agent_answers_with_what_it_returns_and_tells_its_steps() -> None:
    graph = graph_of(agent("web.search", ", returns: list[Number], max: 3"))
    assert graph.by_id["A"].own_outputs == {"response": "list[Number]", "steps": "list[Json]"}


@pytest.mark.parametrize(
    ("tools", "code", "place", "fix"),
    [
        ("web.search, web.serch", "MW503", "web.serch", "web.search, web.search"),
        ("web.search,mail.send", "MW506", "mail.send", "[web.search, web.fetch, mail.send]"),
    ],
)
def test_each_tool_must_be_pinned_and_declared(tools: str, code: str, place: str, fix: str) -> None:
    text = agent(tools)
    assert [one for one, _ in found(text)] == [code]
    assert marked_texts(checked(text), code) == [place]
    assert fix in fixed(text, code)


def test_a_tool_by_the_wrong_name_is_fixed_in_the_list_too() -> None:
    text = agent("web.serch, web.fetch", declared="web.fetch, web.serch")
    right = fixed(text, "MW503")
    assert "web.serch" not in right
    assert found(right) == []


def test_an_agent_without_tools_is_an_error_and_one_that_only_asks_people_is_not() -> None:
    assert [
        code
        for code, _ in found(flow("web.search", 'A["ToolAgent<br/>(prompt: Find out.)"]', "PROBLEM --> A --> RETURN"))
    ] == ["MW503"]
    assert found(agent("person", declared="web.search")) == []


@pytest.mark.parametrize("key", ["samples", "attempts"])
def test_nothing_does_its_tools_again(key: str) -> None:
    text = agent(
        "web.search", f", {key}: 3, validate: V", declared="web.search]\n  validators: {V: {check: '1 == 1'}}\n  x: ["
    )
    assert ("MW319", f"`{key}`") in [(code, f"`{key}`") for code, message in found(text) if f"`{key}`" in message]


def test_its_model_may_be_asked_again() -> None:
    assert found(agent("web.search", ", retries: 2")) == []


@pytest.mark.parametrize("steps", ["0", "101", "2.5", "many"])
def test_the_number_of_steps_is_bounded(steps: str) -> None:
    assert [code for code, _ in found(agent("web.search", f", max: {steps}"))] == ["MW305"]


def test_in_a_map_a_tool_that_may_not_be_repeated_is_remarked_on() -> None:
    text = flow(
        "web.search, mail.send",
        'subgraph EACH["Map (max: 7)"]',
        "A[\"ToolAgent<br/>(tools: 'web.search, mail.send')\"]",
        "end",
        'LIST["Custom<br/>(returns: list[Text])"]',
        "PROBLEM --> LIST",
        "LIST -->|each:input| A",
        "A -->|steps| RETURN",
    )
    allowed = NamedPermissions(repeatable=("web.search",))
    (message,) = [message for code, message in found(text, permissions=allowed) if code == "MW508"]
    assert "7" in message
    assert "mail.send" in message
    every = NamedPermissions(repeatable=("web.search", "mail.send"))
    assert [code for code, _ in found(text, permissions=every) if code == "MW508"] == []


def test_a_person_is_asked_before_its_tools_so_no_approval_is_missed() -> None:
    assert "MW507" not in [one.code for one in checked(agent("mail.send", declared="mail.send")).diagnostics]


@pytest.mark.parametrize(
    ("list_", "offered"),
    [
        ("'<|>'", [*NAMES, "person"]),
        ("'web.search, <|>'", [*(name for name in NAMES if name != "web.search"), "person"]),
        ("'web.search, we<|>'", [*(name for name in NAMES if name != "web.search"), "person"]),
        ("'<|>, person, mail.send'", [name for name in NAMES if name != "mail.send"]),
    ],
)
@pytest.mark.parametrize("node", ['A["ToolAgent<br/>(tools: LIST)"]', "A@{ op: ToolAgent, tools: LIST }"])
def test_the_tools_that_are_not_in_its_list_are_offered(node: str, list_: str, offered: list[str]) -> None:
    here = marked(flow("web.fetch", node.replace("LIST", list_)), FILES)
    assert {item.label for item in complete(here.analysis, here.position).items} == set(offered)


def test_a_name_in_the_middle_of_the_list_is_written_in_its_place() -> None:
    here = marked(flow("web.fetch", "A@{ op: ToolAgent, tools: 'web.search, we<|>b, person' }"), FILES)
    item = next(item for item in complete(here.analysis, here.position).items if item.label == "web.fetch")
    assert "'web.search, web.fetch, person'" in apply_edits(here.text, [item.edit])


def test_a_whole_agent_is_offered() -> None:
    here = marked(flow("web.search", "<|>"), FILES)
    item = next(item for item in complete(here.analysis, here.position).items if item.label == "ToolAgent")
    assert "(role: role, tools: 'web.search')" in apply_edits(here.text, [item.edit])


def test_hover_shows_each_tool_with_its_pin() -> None:
    for place in ("web.se<|>arch", 'A["Tool'):
        text = agent("web.search, web.fetch").replace(
            "web.search, web.fetch'", f"{place.replace('A[', '')}, web.fetch'"
        )
        if place.startswith("A["):
            text = agent("web.search, web.fetch").replace('A["', 'A<|>["')
        here = marked(text, FILES)
        shown = hover(here.analysis, here.position)
        assert shown is not None
        markdown = shown.text.markdown()
        assert PINS.servers["web"]["search"].sha256[:12] in markdown
        assert (PINS.servers["web"]["fetch"].sha256[:12] in markdown) == place.startswith("A[")


def test_its_tools_are_names_of_tools_everywhere() -> None:
    here = marked(agent("web.fetch, web.sea<|>rch, person"), FILES)
    assert [one.range.start.line for one in references(here.analysis, here.position)] == [2, 7]
    lines = here.text.split("\n")
    named = [
        lines[t.line][t.column : t.column + t.length] for t in semantic_tokens(here.analysis) if t.kind == "prompt"
    ]
    assert sorted(named) == ["web.fetch", "web.fetch", "web.search", "web.search"]


HELP = flow(
    "web.search, mail.send",
    'LOOK["Custom<br/>(role: find)"]',
    'CHECK["Custom<br/>(role: check)"]',
    "DECIDE[\"Human<br/>(ask: 'Go on?', returns: Bool)\"]",
    "GO{Go on?}:::DecisionOp",
    "A[\"ToolAgent<br/>(role: write, tools: 'web.search, mail.send, person', max: 5)\"]",
    'SORRY["Custom<br/>(role: shorten)"]',
    "PROBLEM -->|input| LOOK",
    "LOOK -->|input| CHECK & DECIDE",
    "CHECK -->|value| GO",
    "DECIDE -->|when| GO",
    "GO -->|yes:input| A",
    "GO -->|no:input| SORRY",
    "A --> RETURN",
    "SORRY --> RETURN",
    "classDef DecisionOp fill:#eee",
    more="  prompts: {find: Say what to look for., check: Check it., write: Write and send it., shorten: Make it shorter.}\n",
)


PATTERNS = sorted(
    path
    for path in (Path(__file__).parents[2] / "examples" / "patterns").glob("*.mmd")
    if "ToolAgent" in path.read_text("utf-8")
)


@pytest.mark.parametrize("text", [HELP, *(path.read_text("utf-8") for path in PATTERNS)])
def test_mutants_keep_what_an_agent_does(text: str) -> None:
    before = graph_of(text)
    assert "ToolAgent" in [node.operator for node in acting_nodes(before)]
    beside = MoveFilter(DEFAULT.operators, files=Files("flow.mmd", FILES))
    made = 0
    for seed in range(sized(1, 6)):
        for mutant in random_mutants(text, sized(12, 50), seed, beside):
            assert_kept(before, graph_of(mutant.text), mutant.text)
            made += 1
    assert made >= sized(3, 200)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("'web.search, mail.send, person'", "'web.search, mail.send'", "A would ask or do something else"),
        ("max: 5", "max: 6", "A would ask or do something else"),
        ("role: write, tools", "role: check, tools", "A would ask or do something else"),
        ("GO -->|yes:input| A", "GO -->|yes:input| A\n    CHECK -->|input| A", "A would be given something else"),
    ],
)
def test_changes_that_touch_an_agent_are_refused(old: str, new: str, said: str) -> None:
    assert old in HELP
    assert said in str(why_not_kept(graph_of(HELP), graph_of(HELP.replace(old, new))))


@pytest.mark.parametrize(("old", "new"), [("mail.send, person", "mail.sned, person"), ("max: 5", "max: 500")])
def test_no_repair_changes_what_an_agent_may_do(old: str, new: str) -> None:
    broken = HELP.replace(old, new)
    assert not checked(broken).is_valid
    assert new in repair(broken, limit=2, opener=Files("flow.mmd", FILES).open).text
