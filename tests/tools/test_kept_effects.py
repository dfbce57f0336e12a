"""What a machine changes never uses tools more often, otherwise, or without what must have let them through."""

from __future__ import annotations

import pytest
from tests.people.kept import FILES, acting_nodes, assert_kept, graph_of
from tests.sizes import sized
from tests.tools.flows import checked, flow

from merrow_analysis.graph.measures.kept_effects import why_not_kept
from merrow_optimizer.mutations.base import MoveRefusal
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.moves import DEFAULT, MoveFilter, changes, make, random_mutants
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.repair.search import repair
from merrow_optimizer.suggestions.allowed import what_is_forbidden

MORE = """  types: {Verdict: [send, shorten, stop]}
  prompts: {find: Say what to look for., write: Write a mail., check: Say what is wrong with it., shorten: Make it shorter.}
"""
MAIL = flow(
    "web.search, mail.send, shop.price",
    'LOOK["Custom<br/>(role: find)"]',
    "FIND[\"Tool<br/>(tool: web.search, with: 'limit: 3')\"]",
    'WRITE["Custom<br/>(role: write)"]',
    'REVIEW["Custom<br/>(role: check)"]',
    "DECIDE[\"Human<br/>(ask: 'What now?', returns: Verdict)\"]",
    "VERDICT{What now?}:::DecisionOp",
    'SHORT["Custom<br/>(role: shorten)"]',
    "SEND[\"Tool<br/>(tool: mail.send, with: 'to: team@example.org')\"]",
    'SORRY["Custom<br/>(role: check)"]',
    "PROBLEM -->|input| LOOK",
    "LOOK -->|query| FIND",
    "FIND -->|summary:input| WRITE & REVIEW",
    "WRITE -->|input| REVIEW",
    "REVIEW -->|input| DECIDE",
    "WRITE -->|value| VERDICT",
    "DECIDE -->|when| VERDICT",
    "VERDICT -->|send:subject| SEND",
    "VERDICT -->|shorten:input| SHORT",
    "SHORT -->|subject| SEND",
    "VERDICT -->|stop:input| SORRY",
    "SEND --> RETURN",
    "SORRY --> RETURN",
    "classDef DecisionOp fill:#eee",
    more=MORE,
)
BESIDE = MoveFilter(DEFAULT.operators, files=Files("flow.mmd", FILES))


def test_a_thousand_mutants_keep_what_tools_do() -> None:
    before = graph_of(MAIL)
    assert len(acting_nodes(before)) == 3
    made = 0
    for seed in range(sized(2, 20)):
        for mutant in random_mutants(MAIL, sized(15, 50), seed, BESIDE):
            assert_kept(before, graph_of(mutant.text), mutant.text)
            made += 1
    assert made >= sized(25, 1_000)


@pytest.mark.parametrize("title", ["Remove SEND", "Remove FIND", "Remove DECIDE", "Remove LOOK"])
def test_nothing_is_taken_away_from_a_tool(title: str) -> None:
    refused = [make(change) for change in changes(Original(checked(MAIL))) if change.title == title]
    assert all(isinstance(one, MoveRefusal) for one in refused)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("to: team@example.org", "to: all@example.org", "SEND would ask or do something else"),
        ("tool: web.search, with: 'limit: 3'", "tool: shop.price", "FIND would ask or do something else"),
        ("SHORT -->|subject| SEND", "WRITE -->|subject| SEND", "SEND would be given something else"),
        (
            "VERDICT -->|shorten:input| SHORT",
            "VERDICT -->|stop:input| SHORT",
            "SEND could run in other cases of VERDICT",
        ),
        ("mail.send, shop", "mail.send, web.fetch, shop", "The workflow could use web.fetch"),
        (
            "    SEND --> RETURN\n",
            '    SEND --> RETURN\n    COST["Tool<br/>(tool: shop.price)"]\n    LOOK -->|article| COST\n'
            "    COST -->|currency:input| SORRY\n",
            "COST would be a new Tool",
        ),
        (
            "    LOOK -->|query| FIND\n",
            '    subgraph TURNS["Loop (max: 3)"]\n    FIND\n    end\n    LOOK -->|query| FIND\n'
            "    FIND -->|again:summary:query| FIND\n",
            "FIND would be in other Loops or Maps than now",
        ),
    ],
)
def test_changes_that_touch_tools_are_refused(old: str, new: str, said: str) -> None:
    assert old in MAIL
    before, after = checked(MAIL), checked(MAIL.replace(old, new))
    assert before.typed is not None
    assert after.typed is not None
    assert said in str(why_not_kept(before.typed, after.typed))
    assert any(said in sentence for sentence in what_is_forbidden(before, after))


def test_an_author_may_let_it_use_fewer_tools() -> None:
    assert why_not_kept(graph_of(MAIL), graph_of(MAIL.replace(", shop.price]", "]"))) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tool: mail.send", "tool: mail.sned"),
        ("web.search, mail.send, shop.price]", "web.search]"),
        ("with: 'to: team@example.org'", "with: 'too: team@example.org'"),
        ("with: 'limit: 3'", "with: 'limit: many'"),
    ],
)
def test_no_repair_changes_which_tool_is_used_or_how(old: str, new: str) -> None:
    broken = MAIL.replace(old, new)
    assert not checked(broken).is_valid
    found = repair(broken, limit=2, opener=Files("flow.mmd", FILES).open)
    assert new in found.text
