"""A part becomes a file that is called, and a Call becomes what its file does: each undoes the other, and nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from tests.composites import composite_workflows
from tests.optimizer.files import MAIN, beside, opened
from tests.optimizer.mutation_checks import rough_workflows
from tests.workflows import workflows

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.text import apply_edits
from merrow_optimizer.mutations.base import Move, workflow_difference
from merrow_optimizer.mutations.calls.meaning import meaning
from merrow_optimizer.mutations.calls.moves import rewritings
from merrow_optimizer.mutations.original import Original

SMALL = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=5)


def of_files(text: str, texts: dict[str, str], start: str = "", chosen: Sequence[str] | None = None) -> list[Move]:
    """The moves between files of a workflow, or of chosen nodes, whose titles begin so."""
    files = beside(texts)
    original = Original(files.open(text).analysis())
    nodes = None if chosen is None else [original.typed.by_id[name] for name in chosen]
    made = [one.make(original, files) for one in rewritings(original, files, nodes)]
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


BRANCH = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    JUDGE["Review<br/>"]
    DRAFT["Custom<br/>(role: drafter)"]
    CHECK{Good?}:::DecisionOp
    FIX["Custom<br/>(role: fixer)"]
    FACTS["Review<br/>"]
    WRITE["Revise<br/>"]
    PROBLEM --> DRAFT
    PROBLEM -->|problem| JUDGE
    DRAFT -->|solution| JUDGE
    DRAFT -->|value| CHECK
    JUDGE -->|result:when| CHECK
    CHECK -->|yes| RETURN
    CHECK -->|no| FIX
    FIX -->|solution| WRITE
    PROBLEM -->|problem| FACTS & WRITE
    SOURCE -->|solution| FACTS
    FACTS -->|feedback| WRITE
    WRITE --> RETURN
    classDef Interface fill:#e2e2f2
    classDef DecisionOp fill:#fff
"""


def test_a_part_runs_as_a_whole_or_stays() -> None:
    """Reviewed whatever is chosen, or only where it is needed: a Call would run both or neither."""
    always, when_needed = BRANCH.replace("SOURCE", "DRAFT"), BRANCH.replace("SOURCE", "FIX")
    assert analyse(always).is_valid
    assert analyse(when_needed).is_valid
    title = "Extract FACTS and WRITE to"
    chosen = ["FACTS", "WRITE"]
    assert not of_files(always, {}, title, chosen)
    (move,) = of_files(when_needed, {}, title, chosen)
    check_extracted(when_needed, move)


def test_a_prompt_goes_with_its_role_however_both_are_capitalised() -> None:
    front = "---\nworkflow:\n  prompts:\n    WRITER: Write it well.\n    worker: Do it well.\n---\n"
    text = front + LOOP.replace("(role: writer)", "(role: Writer)")
    (move,) = of_files(text, {}, "Extract the box REFINE")
    (file,) = move.created
    assert "    WRITER: Write it well.\n" in file.text
    assert "WRITER" not in move.apply(text)
    assert "    worker: Do it well.\n" in move.apply(text)


def test_what_remembers_or_survives_failures_is_not_moved() -> None:
    assert of_files(LOOP, {})
    assert not of_files(LOOP.replace("(role: worker)", "(role: worker, memory: all)"), {})
    kept = LOOP.replace("(role: writer)", "(role: writer, on_error: skip)")
    assert not of_files(kept, {}, "Extract the box REFINE")


def test_files_that_say_different_things_for_all_nodes_stay_apart() -> None:
    (move,) = of_files(LOOP, {}, "Extract the box REFINE")
    mutant, (file,) = move.apply(LOOP), move.created
    assert of_files(mutant, {file.path: file.text}, "Inline ")
    front = "---\nworkflow:\n  temperature: 1\n---\n"
    assert not of_files(mutant, {file.path: front + file.text}, "Inline ")
    kept = mutant.replace("(workflow: refine.mmd)", "(workflow: refine.mmd, on_error: skip)")
    assert not of_files(kept, {file.path: file.text}, "Inline ")


def test_names_prompts_and_operators_of_a_file_are_told_apart() -> None:
    main = """---
workflow:
  prompts:
    worker: Do the whole.
---
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    A["Custom<br/>(role: worker)"]
    PART["Call<br/>(workflow: part.mmd)"]
    PROBLEM --> PART --> A --> RETURN
    classDef Interface fill:#e2e2f2
"""
    part = (
        main.replace("the whole", "a part")
        .replace('    PART["Call<br/>(workflow: part.mmd)"]\n', "")
        .replace("PART --> ", "")
    )
    (move,) = of_files(main, {"part.mmd": part}, "Inline PART")
    mutant = move.apply(main)
    after = opened(mutant, {})
    assert after.is_valid, mutant
    told = {name: work.told for name, work in meaning(after).nodes.items() if work.operator == "Custom"}
    assert told == {"A": "Do the whole.", "A_2": "Do a part."}
    assert apply_edits(mutant, move.reverse) == main
