"""What always holds of drawings with arrows between any of their nodes: they end with a result, and do the same once their
operators are written out, and as a program.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from tests.plain.turns import Went, carry_out, drawn_by, scripted
from tests.shared import SHARED
from tests.sizes import ALL, sized

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.text import apply_edits
from merrow_runtime.compiled.flow import workflow_of
from merrow_runtime.compiled.lines import missing
from merrow_runtime.compiling.compiler import compile_workflow
from merrow_runtime.workflow import check_workflow

SHAPES = ["[{}]", "[{}]", "[{}]", "({})", "{{{}}}", "{{{}}}", "{{{}}}", "([{}])", "[({})]"]
TEXTS = ["Write it", "Read it", "Is it good?", "Done", "Start", "Send a message", "Plan"]
WAYS = ["-->", "-->", "-->", "-->|yes|", "-->|no|", "-->|no|", "-.->|later|", "---", "==>"]


def tangle(seed: int) -> str:
    """A drawing with up to eight nodes, some in a box, and arrows between any of them or a few of them, the box included."""
    random = Random(seed)
    count = random.randint(2, 8)
    boxed = random.randint(0, count) if random.random() < 0.5 else 0
    nodes = [f"N{number}{random.choice(SHAPES).format(random.choice(TEXTS))}" for number in range(count)]
    lines = ["flowchart TD"]
    if boxed:
        lines += ["    subgraph G1", *(f"        {node}" for node in nodes[:boxed]), "    end"]
    lines += [f"    {node}" for node in nodes[boxed:]]
    names = [*(f"N{number}" for number in range(count)), *(["G1"] if boxed else [])]
    few = random.sample(names, min(len(names), random.randint(2, 4))) if random.random() < 0.3 else names
    for _ in range(random.randint(1, 2 * count)):
        source, target = (random.choice(few if random.random() < 0.8 else names) for _ in range(2))
        lines.append(f"    {source} {random.choice(WAYS)} {target}")
    return "\n".join(lines) + "\n"


def written_out(analysis: Analysis, text: str) -> str:
    [hint] = [one for one in analysis.diagnostics if one.code == "MW313"]
    assert hint.fixes, text
    return apply_edits(text, hint.fixes[0].edits)


def told(went: Went) -> object:
    return Counter(went.asked), went.steps, went.outputs


def check(text: str, seeds: Iterable[int]) -> None:
    """Read a drawing, write it out and compile it, and let all three go the same ways."""
    analysis = analyse(text, as_workflow=True)
    assert analysis.errors == [], text
    assert analysis.typed is not None
    written = written_out(analysis, text)
    after = analyse(written)
    assert after.errors == [], written
    assert after.typed is not None
    program = compiled(text)
    for seed in seeds:
        went = carry_out(analysis.typed, drawn_by(seed))
        assert went.outputs, text
        assert told(carry_out(after.typed, drawn_by(seed))) == told(went), written
        again = carry_out(program, drawn_by(seed))
        assert (Counter(again.asked), again.steps) == (Counter(went.asked), went.steps), text
        assert again.outputs.keys() == went.outputs.keys(), text


def compiled(text: str) -> Any:
    """The graph of the program that a drawing is compiled to."""
    source = compile_workflow(check_workflow(text, name="flow.mmd"))
    lines = source.replace("async def workflow", "def workflow").replace("return await flow.run()", "return flow")
    names: dict[str, Any] = {}
    exec(compile(lines, "flow.py", "exec"), names)  # noqa: S102 (it was made a moment ago)
    return workflow_of(names["workflow"](*missing(names["workflow"]))).graph


PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_any_tangle_ends_with_a_result_and_is_written_out_the_same(part: int) -> None:
    for seed in range(part, sized(160, 1_000), PARTS):
        check(tangle(seed), range(3))


ENTERED_BEHIND_ITS_HEAD = "N0[Write it]\nN4{Which?} --> N1\nN4 -->|yes| N0\nN0 --> N1\nN1 --> N0\nN0 --> N2\n"
CLOSED_AND_SO_THE_OTHER = "N4{Which?} --> N2{Any}\nN4 -->|yes| N0\nN0 --> N0 & N1 & N2\nN2 --> N4\n"
ORDER_OF_THE_TEXT = (
    "N0 & N1{Which?} & N2 & N3\nN4 --> N0 & N3\nN0 --> N0 & N3\nN1 -->|yes| N3\nN1 -->|no| N1\n"
    "N3 --> N0 & N1 & N2\nN2 --> N2 & N0 & N1\n"
)
SAME_TWICE = "N3{Write it} -->|no| N1\nN3 -->|no| N1\n"
SAME_BACK_TWICE = "N0{Plan} --> N0\nN0 --> N0\nN0 --> N1[Done]\nN2 --> N0\nN1 --> N2\n"
ELSE_TWICE = "N7{Send?} --> N7\nN7 -->|yes| N7\nN5[Plan] --> N7\nN7 --> N7\nN7 --> N5\n"
QUESTIONS_WITHOUT_A_WAY_OUT = (
    "N1{Good?}\nN2{Start?}\nN1 --> N2\nN2 -->|no| N1\nN0 --> N2\nN1 -->|no| N1\nN2 --> N1\nN2 --> N2\n"
)


@pytest.mark.parametrize(
    "arrows",
    [
        ENTERED_BEHIND_ITS_HEAD, CLOSED_AND_SO_THE_OTHER, ORDER_OF_THE_TEXT, SAME_TWICE, SAME_BACK_TWICE, ELSE_TWICE,
        QUESTIONS_WITHOUT_A_WAY_OUT,
    ],
)  # fmt: skip
def test_what_tangles_once_found(arrows: str) -> None:
    check(f"flowchart TD\n{arrows}", range(3))


@pytest.mark.shared("field/drawings.jsonl")
def test_drawings_of_the_field_end_with_a_result_and_are_written_out_the_same() -> None:
    lines = (SHARED / "field" / "drawings.jsonl").read_text("utf-8").splitlines()
    for line in lines[:: 1 if ALL else 12]:
        check(json.loads(line)["text"], range(2))


@pytest.mark.parametrize("seed", [0, 3])
def test_a_knot_of_loops_deeper_than_any_are_kept_apart_has_no_errors_and_is_written_out_the_same(seed: int) -> None:
    """What only an arrow back of the innermost Loops leads to would get nothing in the first turn."""
    random = Random(seed)
    diamonds = [random.randrange(200) for _ in range(1_000)]
    lines = [
        f"N{source}{{q?}} -->|{random.choice(['yes', 'no', 'x'])}| N{target}"
        for source, target in zip(diamonds[::2], diamonds[1::2], strict=True)
    ]
    analysis = analyse("\n".join(["flowchart TD", *lines, ""]), as_workflow=True)
    assert analysis.errors == []
    assert analysis.typed is not None
    assert carry_out(analysis.typed, drawn_by(seed)).outputs


def test_what_two_arrows_bring_from_one_step_to_another_is_brought_once_and_written_out_without_a_finding() -> None:
    text = (
        "flowchart TD\nA[Read it] -->|Tickets| B[Print it]\nA -.->|Notes| B\nB --> C{Good?}\nC -->|no| A\nC -->|no| A\n"
    )
    text += "C -->|yes| D[Done]\nC -->|well| D\n"
    analysis = analyse(text, as_workflow=True)
    written = written_out(analysis, text)
    assert "Notes" in written, "and keeps its label"
    for one in (analysis, analyse(written)):
        assert one.typed is not None
        assert [edge.source.id for edge in one.typed.by_id["B"].incoming] == ["A"]
        assert [cases.labels for node in one.typed.decisions if (cases := node.cases)] == [("no", "yes", "well")]
        assert {finding.code for finding in one.diagnostics} <= {"MW313"}
    check(text, range(3))


SLOW_BESIDE = """flowchart TD
    S[Start here] --> A[Write it] & X[Look it up]
    A --> C{Good?}
    C -->|no| A
    C -->|yes| Q{Which?}
    Q -->|short| B[Print it]
    Q -->|long| D[Write more]
    X --> D
    B & D --> J[Send it]
"""


def test_behind_a_loop_that_has_ended_what_no_answer_leads_to_is_waited_for_by_nothing() -> None:
    analysis = analyse(SLOW_BESIDE, as_workflow=True)
    assert analysis.typed is not None
    went = carry_out(analysis.typed, scripted({"C": ["no", "yes"], "Q": ["short"]}), last="X")
    assert [step for step in went.steps if step in "JX"] == ["J", "X"]


HOURGLASS = """flowchart TD
    S[Start here] --> A[Read one] & B[Read two] & C[Read three]
    A & B & C --> M[Merge them]
    M --> X[Print one] & Y[Print two] & Z[Print three]
"""


def test_a_drawing_that_is_written_out_gets_no_advice_to_be_quicker() -> None:
    analysis = analyse(HOURGLASS, as_workflow=True)
    assert [one.code for one in analyse(written_out(analysis, HOURGLASS)).diagnostics] == []
    hasty = written_out(analysis, HOURGLASS).replace("memory: all", "memory: none")
    assert [one.code for one in analyse(hasty).diagnostics] == ["MW402"], "these could begin sooner"


@pytest.mark.shared("field/drawings.jsonl")
def test_the_drawings_of_the_field_are_written_out_without_new_findings() -> None:
    for line in (SHARED / "field" / "drawings.jsonl").read_text("utf-8").splitlines():
        text = json.loads(line)["text"]
        analysis = analyse(text, as_workflow=True)
        known = {one.code for one in analysis.diagnostics}
        assert {one.code for one in analyse(written_out(analysis, text)).diagnostics} <= known, text
