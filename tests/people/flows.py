"""Workflows in which people are asked: in branches, Loops, Maps, called files, one after the other."""

from __future__ import annotations

from pathlib import Path

from merrow_analysis.check import analyse

PATTERNS = Path(__file__).parents[2] / "examples" / "patterns"
CLASSES = """    classDef Interface fill:#eee
    classDef DecisionOp fill:#eee
"""
ENDS = """flowchart TD
    PROBLEM([Task]):::Interface
    RETURN([Result]):::Interface
"""
EACH = (
    """---
workflow:
  prompts: {split: Split it., work: Work on it., merge: Put it together., again: Work on it by the remark.}
---
"""
    + ENDS
    + """    SPLIT["Custom<br/>(role: split, returns: 'list[Text]')"]
    subgraph PARTS["Map (max: 5)"]
        WORK["Custom<br/>(role: work)"]
        CHECK["Human<br/>(ask: 'Is this part right?', returns: Bool)"]
        RIGHT{Right?}:::DecisionOp
        AGAIN["Custom<br/>(role: again)"]
        DONE["Pass<br/>"]
    end
    MERGE["Custom<br/>(role: merge)"]
    PROBLEM -->|input| SPLIT
    SPLIT -->|each:input| WORK
    WORK -->|input| CHECK
    WORK -->|value| RIGHT
    CHECK -->|when| RIGHT
    RIGHT -->|no:input| AGAIN
    CHECK -->|note:input| AGAIN
    RIGHT -->|yes| DONE
    AGAIN --> DONE
    DONE -->|input| MERGE
    MERGE --> RETURN
"""
    + CLASSES
)
ROW = (
    """---
workflow:
  types: {Verdict: [publish, shorten, stop]}
  prompts: {write: Write it., check: Say what is wrong with it., shorten: Make it shorter., sorry: Say that it stopped.}
---
"""
    + ENDS
    + """    WRITE["Custom<br/>(role: write)"]
    REVIEW["Custom<br/>(role: check)"]
    EDIT["Human<br/>(ask: 'Edit it.')"]
    DECIDE["Human<br/>(ask: 'What now?', returns: Verdict)"]
    VERDICT{What now?}:::DecisionOp
    SHORT["Custom<br/>(role: shorten)"]
    LAST["Human<br/>(ask: 'Is it short enough?')"]
    SORRY["Custom<br/>(role: sorry)"]
    PROBLEM -->|input| WRITE & REVIEW
    WRITE -->|input| REVIEW
    WRITE -->|draft| EDIT
    REVIEW -->|input| EDIT
    EDIT -->|input| DECIDE
    EDIT -->|answer:value| VERDICT
    DECIDE -->|answer:when| VERDICT
    VERDICT -->|publish| RETURN
    VERDICT -->|shorten:input| SHORT
    SHORT -->|draft| LAST
    LAST --> RETURN
    VERDICT -->|stop:after| SORRY
    PROBLEM -->|input| SORRY
    SORRY --> RETURN
"""
    + CLASSES
)


def with_people() -> dict[str, str]:
    """By name: these, and the patterns that come with Merrow in which people are asked."""
    flows = {"each": EACH, "row": ROW}
    for path in sorted(PATTERNS.glob("*.mmd")):
        typed = analyse(path.read_text("utf-8")).typed
        if typed is not None and any(node.operator == "Human" for node in typed.nodes):
            flows[path.stem] = path.read_text("utf-8")
    return flows
