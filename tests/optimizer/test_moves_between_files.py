"""A part becomes a file that is called, and a Call becomes what its file does: each undoes the other, and nothing is lost."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from tests.composites import composite_workflows
from tests.examples import examples
from tests.optimizer.files import MAIN, beside, opened
from tests.optimizer.mutation_checks import rough_workflows
from tests.workflows import workflows

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.text import apply_edits
from merrow_optimizer.mutations.base import Move, workflow_difference
from merrow_optimizer.mutations.calls.meaning import meaning
from merrow_optimizer.mutations.calls.moves import rewritings
from merrow_optimizer.mutations.subject import Subject

SMALL = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=examples(60))


def of_files(text: str, texts: dict[str, str], start: str = "") -> list[Move]:
    """The moves between files of a workflow whose titles begin so."""
    files = beside(texts)
    subject = Subject(files.open(text).analysis())
    made = [one.make(subject, files) for one in rewritings(subject, files)]
    return [one for one in made if isinstance(one, Move) and one.title.startswith(start)]


def warnings(analysis: Analysis) -> int:
    return sum(found.severity is Severity.WARNING for found in analysis.diagnostics)


def check_extracted(text: str, move: Move) -> tuple[str, dict[str, str]]:
    """Assert that an extraction keeps what is promised, and that its inlining is the start again; the two texts."""
    before = opened(text, {})
    mutant, texts = move.apply(text), {file.path: file.text for file in move.created}
    after = opened(mutant, texts)
    assert after.is_valid, f"{move.title}\n{mutant}\n{texts}"
    for path, new in texts.items():
        alone = beside({MAIN: mutant}).analyse_beside(path, new)
        assert alone.is_valid, f"{move.title}\n{new}"
        assert warnings(alone) + warnings(after) <= warnings(before), f"{move.title}\n{mutant}\n{new}"
    assert apply_edits(mutant, move.reverse) == text
    assert workflow_difference(before, after) == move.difference
    inlined = of_files(mutant, texts, "Inline ")
    assert inlined, f"{move.title}\n{mutant}\n{texts}"
    back = inlined[0].apply(mutant)
    assert meaning(opened(back, {})) == meaning(before), f"{move.title}\n{back}"
    assert opened(back, {}).is_valid
    assert apply_edits(back, inlined[0].reverse) == mutant
    return mutant, texts


@SMALL
@given(st.one_of(composite_workflows(), composite_workflows(), workflows(), rough_workflows()))
def test_what_is_extracted_and_inlined_is_the_start(text: str) -> None:
    assume(analyse(text).is_valid)
    made = of_files(text, {})
    event(f"{min(len(made), 3)} extractions")
    for move in made[:6]:
        check_extracted(text, move)


LOOP = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PLAN["Custom<br/>(role: worker)"]
    subgraph REFINE["Loop (max: 4)"]
        WRITE["Custom<br/>(role: writer)"]
        REVIEW["Review<br/>"]
        CHECK{Good?}:::DecisionOp
    end
    FINISH["Custom<br/>(role: finisher)"]
    PROBLEM --> PLAN
    PLAN --> WRITE
    PROBLEM -->|problem| REVIEW
    WRITE -->|solution| REVIEW
    WRITE -->|value| CHECK
    REVIEW -->|result:when| CHECK
    CHECK -->|no:again:input| WRITE
    REVIEW -.->|again:feedback:input| WRITE
    CHECK -->|yes| FINISH
    WRITE -->|over| FINISH
    FINISH --> RETURN
    classDef Interface fill:#e2e2f2
"""


def test_a_loop_becomes_a_file() -> None:
    (move,) = of_files(LOOP, {}, "Extract the box REFINE")
    mutant, texts = check_extracted(LOOP, move)
    assert move.title == "Extract the box REFINE to the file refine.mmd"
    assert '    RUN_REFINE["Call<br/>(workflow: refine.mmd)"]\n' in mutant
    assert "Loop" not in mutant
    assert "    CHECK -->|yes| RETURN\n    WRITE -->|over| RETURN\n" in texts["refine.mmd"]


def test_a_file_that_is_there_is_not_written_over() -> None:
    (move,) = of_files(LOOP, {"refine.mmd": LOOP}, "Extract the box REFINE")
    assert [file.path for file in move.created] == ["refine_2.mmd"]
