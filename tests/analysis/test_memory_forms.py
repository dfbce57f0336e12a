"""The forms of `memory:` that are legal where it is written, and what is offered for one that is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.ide.cursor import marked

from merrow_analysis.check import analyse
from merrow_analysis.definitions.settings import Memory
from merrow_analysis.graph.instructions import memory_of
from merrow_analysis.ide.completion.completion import complete
from merrow_analysis.text import apply_edits

FLOW = """---
workflow:
  prompts: {{solver: "Solve it."}}{front}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    {node}
    RETURN([Return]):::Interface
    classDef Interface fill:#eee
    PROBLEM -->|input| A --> RETURN
"""
IN_LABEL = 'A["Custom<br/>(role: solver, memory: {memory})"]'
ON_ONE_LINE = "A@{{ op: Custom, role: solver, memory: {memory} }}"
ON_LINES = "A@{{\n      op: Custom\n      role: solver\n      memory: {memory}\n    }}"
PLACES = {"label": IN_LABEL, "one line": ON_ONE_LINE, "lines": ON_LINES}


def flow(node: str, memory: str) -> str:
    return FLOW.format(front="", node=node.format(memory=memory))


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        (flow(IN_LABEL, "{last: 2}"), Memory("last", 2)),
        (flow(IN_LABEL, "{ tokens : 90 }"), Memory("tokens", 90)),
        (flow(ON_ONE_LINE, '"{last: 2}"'), Memory("last", 2)),
        (flow(ON_LINES, '"{tokens: 2000}"'), Memory("tokens", 2000)),
        (flow(ON_LINES, "\n        last: 4"), Memory("last", 4)),
        (flow(ON_ONE_LINE, "summary"), Memory("summary")),
        (FLOW.format(front="\n  memory: {last: 3}", node='A["Custom<br/>(role: solver)"]'), Memory("last", 3)),
    ],
)
def test_each_form_is_read(text: str, memory: Memory) -> None:
    analysis = analyse(text)
    assert not analysis.errors
    assert analysis.typed is not None
    assert memory_of(analysis.typed.by_id["A"], analysis.settings) == memory


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("wrong", ["last", "last 2", "'last: 2'", "'{last: 0}'", "tokens", "'{tokens: n}'", "al"])
def test_whatever_is_offered_is_legal_there_and_a_message_names_what_could_be_written(place: str, wrong: str) -> None:
    text = flow(PLACES[place], wrong if place == "label" else wrong.replace("'", '"'))
    found = next(one for one in analyse(text).diagnostics if one.code == "MW305")
    assert ('"{last: n}"' in found.message) == (place != "label")
    assert len(found.fixes) > 4
    for fix in found.fixes:
        assert not analyse(apply_edits(text, fix.edits)).errors, fix.title


def test_the_first_fix_is_what_was_meant() -> None:
    text = flow(ON_ONE_LINE, "last 2")
    found = next(one for one in analyse(text).diagnostics if one.code == "MW305")
    assert 'memory: "{last: 2}" }' in apply_edits(text, found.fixes[0].edits)


def test_a_mapping_on_lines_of_its_own_that_is_wrong_inside_can_be_written_anew() -> None:
    text = flow(ON_LINES, "\n        last: 0")
    found = next(one for one in analyse(text).diagnostics if one.code == "MW305")
    after = apply_edits(text, found.fixes[0].edits)
    assert '"{last: 3}"' in after
    assert not analyse(after).errors


@pytest.mark.parametrize("place", PLACES)
def test_completion_offers_every_form_and_each_is_legal(place: str) -> None:
    here = marked(flow(PLACES[place], "<|>"))
    items = complete(here.analysis, here.position).items
    assert {"none", "all", "summary", "agent"} < {item.label for item in items}
    assert sum("last" in item.label or "tokens" in item.label for item in items) == 2
    for item in items:
        assert not analyse(apply_edits(here.text, [item.edit])).errors, item.label


@given(st.text(max_size=60))
def test_any_text_is_either_a_memory_or_a_finding(said: str) -> None:
    quoted = "".join(char for char in said if char.isalnum() or char in "{}: ")
    analysis = analyse(flow(ON_ONE_LINE, f'"{quoted}"'))
    assert analysis.typed is not None
    memory = memory_of(analysis.typed.by_id["A"], analysis.settings)
    wrong = any(one.code == "MW305" for one in analysis.diagnostics)
    assert wrong or memory.kind in ("none", "all", "summary", "agent") or (memory.amount or 0) > 0
