"""The shape of a file: outline, folding, selections that grow, links, linked places, call hierarchy."""

from __future__ import annotations

import pytest
from tests.analysis.ide.cursor import marked, slice_of

from merrow_analysis.check import analyse
from merrow_analysis.ide.folding import folds
from merrow_analysis.ide.links import links
from merrow_analysis.ide.names import call_hierarchy
from merrow_analysis.ide.names.linked_editing import linked_places
from merrow_analysis.ide.selection_ranges import selections
from merrow_analysis.ide.symbols import OutlineEntry, flattened, matches, outline

TEXT = """\
---
title: t
workflow:
  prompts:
    solver: Solve.
  libraries: [lib.yaml, "b.yaml"]
---
flowchart TD
    %% one
    %% two
    PROBLEM([Problem]):::Interface
    A@{
      op: Custom
      role: solver
    }
    CHECK{ok?}:::DecisionOp
    classDef Interface fill:#eee
    classDef DecisionOp fill:#eee
    subgraph outer [Outer part]
        PROBLEM --> A
        subgraph inner
            A --> CHECK
        end
    end
    CHECK -- yes --> RETURN
    CHECK -- no --> RETURN
    A --> RETURN
    A ~~~ CHECK
    click A "https://example.org/a" "tip"
    click CHECK "#anchor"
    click RETURN "./notes.md"
    click PROBLEM "javascript:alert(1)"
"""


def tree(entries: list[OutlineEntry]) -> list[object]:
    return [(entry.name, entry.kind, entry.detail, tree(entry.children)) for entry in entries]


def test_outline() -> None:
    assert tree(outline(analyse(TEXT))) == [
        (
            "front matter", "front-matter", "",
            [
                ("title", "key", "", []),
                ("workflow", "key", "", [("prompts", "key", "", [("solver", "prompt", "", [])]), ("libraries", "key", "", [])]),
            ],
        ),
        (
            "outer", "subgraph", "Outer part",
            [
                ("PROBLEM", "interface", "input", []),
                ("inner", "subgraph", "", [("A", "node", "Custom (solver)", []), ("CHECK", "decision", "Decision", [])]),
            ],
        ),
        ("RETURN", "interface", "output", []),
    ]  # fmt: skip


def test_flat_outline() -> None:
    flat = [(entry.name, above) for entry, above in flattened(outline(analyse(TEXT)))]
    assert ("A", "inner") in flat
    assert ("inner", "outer") in flat
    assert ("RETURN", "") in flat


def test_a_subgraph_that_nothing_closes_reaches_to_the_end() -> None:
    (entry,) = outline(analyse("flowchart TD\nsubgraph one\nA --> B"))
    assert slice_of("flowchart TD\nsubgraph one\nA --> B", entry.range) == "subgraph one\nA --> B"
    assert [child.name for child in entry.children] == ["A", "B"]


def test_queries() -> None:
    assert matches("slv", "SOLVER_1")
    assert matches("", "x")
    assert not matches("vls", "SOLVER_1")


def test_folds() -> None:
    assert {(fold.first, fold.last): fold.kind for fold in folds(analyse(TEXT))} == {
        (0, 6): "region",
        (8, 9): "comment",
        (11, 14): None,
        (16, 17): "region",
        (18, 22): None,
        (20, 21): None,
    }


def test_growing_selections() -> None:
    text = TEXT.replace("A --> CHECK\n", 'A["say hel<|>lo"]:::x & B --> CHECK\n')
    found = marked(text)
    said = [slice_of(found.text, place) for place in selections(found.analysis, found.position)]
    assert said[:6] == [
        "hello", "say hello", '["say hello"]', 'A["say hello"]:::x', 'A["say hello"]:::x & B', 'A["say hello"]:::x & B --> CHECK',
    ]  # fmt: skip
    assert said[6].startswith("subgraph inner")
    assert said[7].startswith("subgraph outer")
    assert said[8] == found.text


def test_selections_in_front_matter_and_metadata() -> None:
    found = marked(TEXT.replace("solver: Solve.", "solver: Sol<|>ve."))
    said = [slice_of(found.text, place) for place in selections(found.analysis, found.position)]
    assert said[:4] == ["Solve", "Solve.", "solver: Solve.", "prompts:\n    solver: Solve."]
    found = marked(TEXT.replace("role: solver", "role: sol<|>ver"))
    said = [slice_of(found.text, place) for place in selections(found.analysis, found.position)]
    assert said[:2] == ["solver", "role: solver"]
    assert said[2].startswith("@{")
    assert said[3].startswith("A@{")


def test_links() -> None:
    said = [(slice_of(TEXT, link.range), link.target, link.is_file) for link in links(analyse(TEXT))]
    assert said == [
        ("lib.yaml", "lib.yaml", True),
        ("b.yaml", "b.yaml", True),
        ("https://example.org/a", "https://example.org/a", False),
        ("./notes.md", "./notes.md", True),
    ]
    text = "---\nworkflow:\n  prompts: './p.yaml'\n---\nflowchart TD\n"
    assert [slice_of(text, link.range) for link in links(analyse(text))] == ["./p.yaml"]


def test_linked_places() -> None:
    found = marked("flowchart TD\nA[x] --> B\n<|>A --> C\nclass A y\n")
    linked = linked_places(found.analysis, found.position)
    assert linked is not None
    assert [slice_of(found.text, place) for place in linked.ranges] == ["A", "A", "A"]


@pytest.mark.parametrize(
    "text",
    [
        "flowchart TD\n<|>A\n",
        "flowchart TD\n<|>A --> B\nC---A\n",
        "flowchart TD\n<|>a-b --> B\na-b --> C\n",
        "flowchart TD\n<|>PROBLEM --> A\nA --> RETURN\nPROBLEM --> RETURN\n",
        "flowchart TD\nA --> B:::<|>x\nclassDef x fill:#fff\n",
        "flowchart TD\nA --<|>> B\n",
    ],
)
def test_places_that_are_not_linked(text: str) -> None:
    found = marked(text)
    assert linked_places(found.analysis, found.position) is None


def test_call_hierarchy() -> None:
    found = marked(TEXT.replace("CHECK{ok", "CHE<|>CK{ok"))
    item = call_hierarchy.item_at(found.analysis, found.position)
    assert item is not None
    assert (item.id, item.detail, slice_of(found.text, item.range)) == ("CHECK", "Decision", "CHECK{ok?}:::DecisionOp")
    feeding = call_hierarchy.incoming(found.analysis, "CHECK")
    assert [(n.item.id, [slice_of(found.text, a) for a in n.arrows]) for n in feeding] == [("A", ["-->"])]
    fed = call_hierarchy.outgoing(found.analysis, "CHECK")
    assert [(n.item.id, [slice_of(found.text, a) for a in n.arrows]) for n in fed] == [
        ("RETURN", ["-- yes -->", "-- no -->"])
    ]
    assert call_hierarchy.incoming(found.analysis, "gone") == []
    nothing = marked("flowchart <|>TD\n")
    assert call_hierarchy.item_at(nothing.analysis, nothing.position) is None
