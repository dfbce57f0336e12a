"""Crossover of workflows with Loops and Maps: a child is valid, and has each box of its parts whole."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from tests.composites import composite_workflows
from tests.optimizer.files import beside
from tests.workflows import workflows

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.graph.liveness.frames import unit_order
from merrow_optimizer.crossover.children import CrossoverRefusedError, children, crossover

SMALL = settings(suppress_health_check=list(HealthCheck), max_examples=6)


def boxes_of(analysis: Analysis) -> Counter[tuple[object, ...]]:
    """Each Loop and Map: its kind, the operators in it, and the words on edges at its nodes."""
    assert analysis.typed is not None
    graph = analysis.typed
    found: Counter[tuple[object, ...]] = Counter()
    for box in graph.composites:
        inside = graph.composites.members(box.id)
        operators = sorted(graph.by_id[name].operator or "" for name in inside)
        words = sorted(
            said.word for edge, said in graph.core.words.items() if edge.source in inside or edge.target in inside
        )
        found[box.kind, tuple(operators), tuple(words)] += 1
    return found


def test_children_keep_boxes_whole() -> None:
    crossed = with_boxes = 0

    @SMALL
    @given(composite_workflows(), composite_workflows() | workflows(), st.integers(0, 99))
    def check_pair(first: str, second: str, seed: int) -> None:
        nonlocal crossed, with_boxes
        parents = analyse(first), analyse(second)
        try:
            found = crossover(*parents, seed)
        except CrossoverRefusedError:
            reject()
        known = boxes_of(parents[0]) + boxes_of(parents[1])
        for child in found:
            after = analyse(child.text)
            assert after.is_valid, f"{child.title}\n{child.text}"
            assert boxes_of(after) <= known, f"{child.title}\n{child.text}"
            assert after.typed is not None
            assert unit_order(after.typed.core) is not None, child.text
            with_boxes += bool(after.typed.composites)
        crossed += 1

    check_pair()
    assert crossed >= 6
    assert with_boxes > crossed // 4


LOOPED = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PLAN["Custom<br/>(role: worker)"]
    subgraph REFINE["Loop (max: 4)"]
        WRITE["Custom<br/>(role: writer)"]
        REVIEW["Review<br/>"]
    end
    READ["Custom<br/>(role: reader)"]
    PROBLEM --> PLAN
    PLAN --> WRITE
    PROBLEM -->|problem| REVIEW
    WRITE -->|solution| REVIEW
    REVIEW -.->|again:feedback:input| WRITE
    REVIEW -->|feedback:input| READ
    WRITE --> READ
    READ --> RETURN
    classDef Interface fill:#e2e2f2
"""
PLAIN = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    WRITE["Custom<br/>(role: other)"]
    POLISH["Custom<br/>(role: polisher)"]
    PROBLEM --> WRITE
    WRITE --> POLISH
    POLISH --> RETURN
    classDef Interface fill:#e2e2f2
"""


def test_no_cut_goes_through_a_loop() -> None:
    found = list(children(analyse(LOOPED), analyse(PLAIN)))
    assert found
    kept = 0
    for child in found:
        after = analyse(child.text)
        assert after.is_valid, child.text
        assert after.typed is not None
        for box in after.typed.composites:
            assert len(box.nodes) == 2
            assert [edge.word for edge in after.typed.again] == ["again"]
            kept += 1
    assert kept


def test_a_call_goes_to_no_other_folder() -> None:
    """Its path would lead elsewhere from there."""
    flow = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    A["Custom<br/>(role: first)"]
    B["{second}"]
    PROBLEM -->|input| A --> B --> RETURN
    classDef Interface fill:#e2e2f2
"""
    files = beside({"part.mmd": flow.format(second="Custom<br/>(role: inner)") + "    PROBLEM@{ type: Text }\n"})
    calling = files.open(flow.format(second="Call<br/>(workflow: part.mmd)")).analysis()
    plain = files.open(flow.format(second="Custom<br/>(role: second)")).analysis()
    assert any(child.host == 1 and "workflow: part.mmd" in child.text for child in children(calling, plain))
    apart = list(children(calling, plain, together=False))
    assert apart
    # The file with the Call may have parts of the other one.
    assert all(child.host == 0 for child in apart if "workflow: part.mmd" in child.text)
    for seed in range(10):
        for child in crossover(calling, plain, seed, together=False):
            assert child.host == 0 or "workflow: part.mmd" not in child.text
