"""*Bind to a tool*: a step of a drawing is done by a pinned tool, in one edit after which all else is read as before."""

from __future__ import annotations

import pytest
from tests.analysis.rule_page import GivenFiles
from tests.tools.pinned import PINS, TEXT, schema

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.ide.actions.binding import bind_to_tool, nearness
from merrow_analysis.text import Position, Range, apply_edits
from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, Pins, pinned

CHAT = {
    "name": "post_message",
    "description": "Posts a message to a channel.",
    "inputSchema": schema(["text"], text=TEXT),
}
ALL = PINS.with_tools([pinned("slack", CHAT)])
DRAWING = """flowchart TD
    A([Customer writes]) --> B[Read the mail]
    B --> C{Is it a complaint?}
    C -->|Yes| D[Send a Slack message]
    C -->|No| E[Search the web for it]
    D & E --> F[Polish the reply]
    F --> G([Reply])
"""
LOOP = """flowchart TD
    A[Draft] --> B{Good?}
    B -->|no| A
    B -->|yes| D[Post a note]
    D --> X[Thank them]
    D --> Y[Log it]
"""


def read(text: str, pins: Pins = ALL, *, as_workflow: bool = False) -> Analysis:
    files = GivenFiles({PINS_FILE: pins.text()})
    return analyse(text, path="flow.mmd", provider=files, as_workflow=as_workflow)


def bindings(text: str, at: str, pins: Pins = ALL) -> dict[str, str]:
    """The texts after each binding that is offered at a place, by the tool, in the order in which they are offered."""
    start = text.index(at)
    line = text.count("\n", 0, start)
    place = Position(line, start - (text.rfind("\n", 0, start) + 1))
    actions = bind_to_tool(read(text, pins, as_workflow=True), Range(place, place), lambda after: read(after, pins))
    made = [(action.title.removeprefix("Bind to the tool "), action.edits()) for action in actions]
    return {tool: apply_edits(text, edits or ()) for tool, edits in made}


def test_a_played_step_is_offered_the_tools_that_fit_near_names_first() -> None:
    offered = bindings(DRAWING, "D[")
    # What needs more than the one text that arrives here can't be fed.
    assert list(offered) == ["slack.post_message", "shop.price", "web.fetch", "web.search"]
    after = read(offered["slack.post_message"])
    assert (after.errors, after.settings.tools) == ([], ("slack.post_message",))
    assert after.typed is not None
    node = after.typed.by_id["D"]
    assert (node.spec and node.spec.name, node.resolution.tool and node.resolution.tool.name) == (
        "Tool",
        "slack.post_message",
    )
    assert [edge.source.id for edge in node.sources("text")] == ["C"]
    assert (after.typed.inputs[0].id, after.typed.outputs[0].id) == ("A", "G")


@pytest.mark.parametrize(
    ("place", "tools"), [("E[", ["web.search", "web.fetch"]), ("B[", []), ("C{", []), ("A(", []), ("G(", [])]
)
def test_other_steps_are_offered_tools_of_near_names_only(place: str, tools: list[str]) -> None:
    assert list(bindings(DRAWING, place)) == tools


def test_loops_and_several_ends_stay_as_they_were() -> None:
    (after,) = [text for tool, text in bindings(LOOP, "D[").items() if tool == "slack.post_message"]
    before, now = read(LOOP, as_workflow=True).typed, read(after).typed
    assert before is not None
    assert now is not None
    assert read(after).errors == []
    assert [box.id for box in now.composites] == [box.id for box in before.composites]
    assert {node.id for node in now.outputs} == {node.id for node in before.outputs}


def test_a_second_tool_is_added_to_the_list_and_a_known_one_is_not_twice() -> None:
    once = bindings(DRAWING, "D[")["slack.post_message"]
    twice = bindings(once, "E[")["web.search"]
    assert read(twice).settings.tools == ("slack.post_message", "web.search")
    assert read(twice).errors == []
    same = bindings(once.replace("E[Search the web for it]", "E[Post a message]"), "E[")["slack.post_message"]
    assert read(same).settings.tools == ("slack.post_message",)


def test_nothing_is_offered_without_pins_or_that_is_not_whole() -> None:
    assert bindings(DRAWING, "D[", NO_PINS) == {}
    broken = ALL.text().replace("Posts a message", "Posts another message")
    files = GivenFiles({PINS_FILE: broken})
    analysis = analyse(DRAWING, path="flow.mmd", provider=files, as_workflow=True)
    place = Position(3, DRAWING.splitlines()[3].index("D["))
    titles = [action.title for action in bind_to_tool(analysis, Range(place, place), read)]
    assert titles
    assert not any("slack" in title for title in titles)


@pytest.mark.parametrize(
    ("text", "near"),
    [("Send a Slack message", 12), ("Post messages", 16), ("Say a word", 0), ("Channel", 0), ("POSTING", 8), ("", 0)],
)
def test_names_count_more_than_what_is_said(text: str, near: int) -> None:
    found = nearness(text, pinned("slack", CHAT))
    assert found >= near
    assert (found == 0) == (near == 0)
