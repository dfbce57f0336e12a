"""A text that is edited for hours keeps no more than one that was just opened: whatever comes and goes leaves nothing behind."""

from __future__ import annotations

import gc
import weakref
from collections import Counter

import pytest
from tests.growth.steps import forget
from tests.sizes import sized

from merrow_analysis import shared_values
from merrow_analysis.check import Analyser
from merrow_analysis.graph import language
from merrow_analysis.text import Position, Range, TextEdit

pytestmark = pytest.mark.thinned(8, "memory")

EDITS = sized(60, 240)
"""Edits of each kind."""

HEAD = [
    "flowchart TD",
    "    PROBLEM([Problem]):::Interface --> A",
    '    A["Custom<br/>(role: solver, returns: Bool)"]:::CustomOp -->|when| D',
    "    D{Good?}:::DecisionOp",
    "    D -->|yes:after| Y & Z",
    "    PROBLEM --> Y & Z --> RETURN",
    '    Y["Custom<br/>(role: solver)"]:::CustomOp',
    '    Z["Custom<br/>(role: solver)"]:::CustomOp',
    "    classDef Interface fill:#fff",
    "    RETURN([Return]):::Interface",
]
BOX = [
    '    subgraph TURNS["Loop<br/>(max: 3)"]',
    '    L["Custom<br/>(role: solver)"]:::CustomOp',
    "    L -->|again:input| L",
    "    end",
    "    PROBLEM -->|first:input| L",
    "    L --> Y",
]
LINE = 8
"""Where the edits are made."""

KINDS = {
    "new words": lambda n: f'    Y["Custom<br/>(role: solver, prompt: word{n})"]:::CustomOp',
    "new ids": lambda n: f"    Y --> New{n}",
    "new edges": lambda n: f"    Y -->|out{n}| RETURN",
    "new roles": lambda n: f'    Y["Custom<br/>(role: r{n})"]:::CustomOp',
    "new cases": lambda n: f"    D -->|case{n}| RETURN",
    "new classes": lambda n: f"    classDef C{n} fill:#fff",
    "broken statements": lambda n: f"    Y --> [ word{n}",
    "comments": lambda n: f"    %% merrow: ignore[MW404] {n}",
    "subgraphs": lambda n: f"    subgraph S{n}",
    "edges with ids": lambda n: f"    Y e{n}@--> RETURN",
    "metadata": lambda n: f"    Y@{{ op: Custom, prompt: 'p{n}' }}",
    "Decisions": lambda n: f"    D{n}{{Good?}}:::DecisionOp",
    "operators": lambda n: f'    New{n}["Opp{n}<br/>"]:::Opp{n}Op',
    "lines": lambda n: "\n" * (n % 5),
}


def _edited(analyser: Analyser, kind: str, first: int, count: int) -> None:
    """Put a line in, look at the findings, and take it away, again and again."""
    for number in range(first, first + count):
        text = KINDS[kind](number) + "\n"
        end = LINE + text.count("\n")
        analyser.edit(TextEdit(Range(Position(LINE, 0), Position(LINE, 0)), text))
        analyser.analysis()
        analyser.edit(TextEdit(Range(Position(LINE, 0), Position(end, 0)), ""))
        analyser.analysis()


def _objects() -> Counter[str]:
    """How many objects of each class there are, memories of pure functions aside: those have a limit each."""
    forget()
    gc.collect()
    return Counter(type(one).__name__ for one in gc.get_objects())


@pytest.mark.parametrize("kind", KINDS)
def test_edits_leave_nothing_behind(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_values, "_MOST_RECENT", 10)
    monkeypatch.setattr(language, "_FEW", 10)
    analyser = Analyser("\n".join(HEAD) + "\n")
    analyser.analysis()
    _edited(analyser, kind, 0, EDITS)
    before = _objects()
    _edited(analyser, kind, EDITS, EDITS)
    more = _objects() - before
    # What is kept for a while (as many handles of nodes gone as a graph may have, say) may come at another time.
    assert sum(more.values()) <= 600, more.most_common(12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_version_ends_with_its_last_reader(kind: str) -> None:
    """No version waits for the garbage collector, which comes seldom while somebody types."""
    analyser = Analyser("\n".join([*HEAD, *BOX]) + "\n")
    analyser.analysis()
    versions: list[weakref.ref[object]] = []
    gc.collect()
    gc.disable()
    try:
        for number in range(5):
            text = KINDS[kind](number) + "\n"
            analyser.edit(TextEdit(Range(Position(LINE, 0), Position(LINE, 0)), text))
            analysis = analyser.analysis()
            versions += [weakref.ref(analysis.flow), *([weakref.ref(analysis.typed)] if analysis.typed else [])]
            analyser.edit(TextEdit(Range(Position(LINE, 0), Position(LINE + text.count("\n"), 0)), ""))
            del analysis
            analyser.analysis()
        analyser.analysis()  # The last one but one is kept to compare with.
        assert [one() for one in versions if one() is not None] == []
    finally:
        gc.enable()
