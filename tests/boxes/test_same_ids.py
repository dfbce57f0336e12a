"""Subgraphs that have the same id, also inside of one another: each has one place, and none is around itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.check import analyse

INSIDE_ITSELF = """\
flowchart TD
    PROBLEM([Problem]):::Interface --> C1[Custom]:::CustomOp --> C5[AnswerGenerate]:::AnswerGenerateOp
    C5 --> RETURN([Result]):::Interface
    subgraph W["Map (parallel: 1)"]
        subgraph B["Loop (max: 3)"]
            C1
            subgraph W["Loop (max: 2)"]
                C5
            end
        end
    end
"""


def test_a_box_inside_of_one_with_its_id_is_reported() -> None:
    found = [one for one in analyse(INSIDE_ITSELF).diagnostics if one.code == "MW126"]
    assert found, "nothing says that two boxes have one id"
    assert "Another subgraph has the id W already" in found[0].message


@given(st.lists(st.sampled_from(["A", "B", "C", "D", "end", "n", "m"]), max_size=25))
def test_no_subgraph_is_around_itself(lines: list[str]) -> None:
    text = "flowchart TD\n" + "".join(f"subgraph {one}\n" if one in "ABCD" else f"{one}\n" for one in lines)
    groups = analyse(text).flow.subgraphs
    for name in groups:
        around: list[str] = []
        at = groups[name].parent
        while at is not None:
            assert at != name and at not in around, f"{name} is in {around}, and that in {at}"  # noqa: PT018
            around.append(at)
            at = groups[at].parent


@given(st.lists(st.sampled_from(["A", "B", "C", "D", "end", "n", "m"]), max_size=25))
def test_boxes_with_the_same_ids_are_survived(lines: list[str]) -> None:
    kinds = {"A": 'A["Loop (max: 2)"]', "B": 'B["Map (max: 3)"]', "C": 'C["Loop (max: 3)"]', "D": "D[plain]"}
    body = "".join(f"subgraph {kinds[one]}\n" if one in kinds else f"{one}\n" for one in lines)
    analysis = analyse(
        f"flowchart TD\nPROBLEM([P]):::Interface --> n[Custom]:::CustomOp --> m[Custom]:::CustomOp\n{body}"
    )
    boxes = analysis.typed.composites
    assert {box for node in ("n", "m") for box in boxes.around(node)} <= set(boxes.boxes)
