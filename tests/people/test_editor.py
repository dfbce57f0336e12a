"""What an editor shows and offers about nodes that ask people."""

from __future__ import annotations

import pytest
from tests.analysis.ide.cursor import marked
from tests.people.flows import CLASSES, ENDS, with_people

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.ide.actions.actions import INSERT_APPROVAL
from merrow_analysis.ide.actions.code_actions import actions
from merrow_analysis.ide.completion.completion import complete
from merrow_analysis.ide.hover import hover
from merrow_analysis.text import Range, apply_edits

FRONT = """---
workflow:
  types:
    Size: [small, large]
    Address: {street: Text, town: Text}
    Order: {to: Address}
    Note: Text
  prompts: {write: Write it., check: Check it.}
---
"""
FLOW = (
    FRONT
    + ENDS
    + """    WRITE["Custom<br/>(role: write)"]
    CHECK["Review<br/>"]
    WHICH{Good?}:::DecisionOp
    LAST["Custom<br/>(role: check)"]
    PROBLEM -->|input| WRITE
    PROBLEM -->|problem| CHECK
    WRITE -->|solution| CHECK
    WRITE -->|value| WHICH
    CHECK -->|result:when| WHICH
    WHICH -->|yes| RETURN
    WHICH -->|no:input| LAST
    CHECK -->|feedback:input| LAST
    LAST --> RETURN
"""
    + CLASSES
)


def offered(line: str) -> list[str]:
    here = marked(FRONT + ENDS + line + "\n" + CLASSES)
    return [item.label for item in complete(here.analysis, here.position).items]


def test_the_keys_of_a_human_are_offered_and_no_others() -> None:
    for line in ("    ASK@{ op: Human, <|> }", '    ASK["Human<br/>(<|>)"]'):
        keys = offered(line)
        assert keys[:2] == ["ask", "deadline"]
        assert {"returns", "on_error", "default", "validate", "template"} <= set(keys)
        assert not {"samples", "retries", "attempts", "model", "temperature", "role", "prompt", "memory"} & set(keys)


def test_only_types_that_a_form_can_have_are_offered() -> None:
    types = offered("    ASK@{ op: Human, ask: What?, returns: <|> }")
    assert {"Bool", "Text", "Number", "Size", "Address", "Note"} <= set(types)
    assert not {"Order", "Json", "Any"} & set(types)
    assert "Json" in offered("    ASK@{ op: Custom, returns: <|> }")


def test_deadlines_are_offered() -> None:
    assert offered("    ASK@{ op: Human, deadline: <|> }") == ["2h", "2d", "1w"]


def test_a_whole_human_is_offered() -> None:
    here = marked(FLOW.replace(CLASSES, "    Hum<|>\n" + CLASSES))
    item = next(item for item in complete(here.analysis, here.position).items if item.label == "Human")
    text = apply_edits(here.text, [item.edit])
    assert "HUMAN[\"Human<br/>(ask: 'Do you approve?', returns: Bool)\"]" in text
    assert "--> HUMAN" in text
    assert {one.code for one in analyse(text).errors} <= {"MW102", "MW221"}, "it leads nowhere yet"
    assert item.snippet is not None
    assert "${2:Do you approve?}" in item.snippet
    assert "${3:Bool}" in item.snippet


@pytest.mark.parametrize(
    ("parameters", "edge", "lines"),
    [
        (
            "ask: 'May it be sent?', returns: Bool, deadline: 2d",
            "input",
            ["A person is asked:", "May it be sent?", "The answer is yes or no; a note may", "2 days after the question"],
        ),
        ("returns: Size", "input", ["Which one?", "The answer is one of small, large;", "There is no deadline"]),
        ("ask: 'Edit it.', deadline: 90", "draft", ["The person edits the text that arrives at `draft`.", "90 seconds after"]),
        ("ask: Where?, returns: Address", "input", ["The person fills in a form:", "`street`: a text", "`town`: a text"]),
    ],
)  # fmt: skip
def test_hover_says_what_is_asked_how_and_until_when(parameters: str, edge: str, lines: list[str]) -> None:
    body = f"    AS<|>K@{{ op: Human, {parameters} }}\n    PROBLEM -->|{edge}| ASK\n    ASK --> RETURN\n"
    here = marked(FRONT + ENDS + body + CLASSES)
    shown = hover(here.analysis, here.position)
    assert shown is not None
    text = shown.text.markdown()
    for line in lines:
        assert line in text
    assert "promises" not in text
    assert "model" not in text.casefold()


def approved(text: str) -> str:
    here = marked(text)
    (action,) = actions(here.analysis, here.range, (), INSERT_APPROVAL.__eq__)
    edits = action.edits()
    assert edits
    after = apply_edits(here.text, edits)
    before, now = here.analysis, analyse(after)
    assert [one.code for one in now.errors] == [one.code for one in before.errors], after
    assert not [one for one in now.diagnostics if one.severity is Severity.WARNING]
    return after


@pytest.mark.parametrize(
    ("edge", "before", "behind"),
    [
        ("WRITE <|>-->|solution| CHECK", "WRITE -->|draft| APPROVE", "APPROVE -->|solution| CHECK"),
        ("WRITE -<|>->|value| WHICH", "WRITE -->|draft| APPROVE", "APPROVE -->|value| WHICH"),
        ("CHECK -->|feed<|>back:input| LAST", "CHECK -->|feedback:draft| APPROVE", "APPROVE -->|input| LAST"),
        ("WHICH -<|>->|yes| RETURN", "WHICH -->|yes:draft| APPROVE", "APPROVE --> RETURN"),
        ("LAST <|>--> RETURN", "LAST -->|draft| APPROVE", "APPROVE --> RETURN"),
    ],
)
def test_an_approval_is_put_on_an_edge_with_text(edge: str, before: str, behind: str) -> None:
    plain = edge.replace("<|>", "")
    after = approved(FLOW.replace(plain, edge))
    assert before in after
    assert behind in after
    assert plain not in after
    graph = analyse(after).typed
    assert graph is not None
    human = graph.by_id["APPROVE"]
    assert human.operator == "Human"
    assert human.outputs["answer"] == ("Feedback" if "feed" in edge else "Text")


@pytest.mark.parametrize(
    "edge", ["CHECK -->|res<|>ult:when| WHICH", "WHICH -->|no:in<|>put| LAST", "WR<|>ITE -->|solution| CHECK"]
)
def test_no_approval_is_put_where_there_is_no_text_or_what_follows_would_run_anyway(edge: str) -> None:
    here = marked(FLOW.replace(edge.replace("<|>", ""), edge))
    assert not list(actions(here.analysis, here.range, (), INSERT_APPROVAL.__eq__))


def test_no_approval_is_put_on_the_way_out_of_a_loop() -> None:
    """Inside of it, the choice would no longer end the Loop."""
    loop = with_people()["write_approve_send"].replace("VERDICT -->|send:input| SEND", "VERDICT -->|send<|>| RETURN")
    here = marked(loop)
    assert not list(actions(here.analysis, here.range, (), INSERT_APPROVAL.__eq__))
    beside = marked(with_people()["row"].replace("VERDICT -->|publish| RETURN", "VERDICT -->|publish<|>| RETURN"))
    assert list(actions(beside.analysis, beside.range, (), INSERT_APPROVAL.__eq__))


def test_every_approval_that_is_offered_leaves_a_sound_workflow() -> None:
    offered = 0
    for text in with_people().values():
        analysis = analyse(text)
        assert analysis.typed is not None
        for edge in analysis.typed.edges:
            place = Range(edge.flow.range.start, edge.flow.range.start)
            for action in actions(analysis, place, (), INSERT_APPROVAL.__eq__):
                edits = action.edits()
                assert edits
                now = analyse(apply_edits(text, edits))
                assert not [one for one in now.diagnostics if one.severity is not Severity.HINT], action.title
                offered += 1
    assert offered > 15
