"""A finding that follows from another is told where that one is suppressed, and only there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.workflows import workflow

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.rules.configuration import parse_configuration
from merrow_analysis.rules.registry import is_refused

C = ":::CustomOp"
WAITING = workflow(f"PROBLEM --> A{C} & B{C}", "A --> V:::ScEnsembleOp --> RETURN")
"""B is a dead end, for which the ensemble V waits."""
NO_PROBLEM = "flowchart TD\nRETURN([R]):::Interface\nX --> A:::ProgrammerOp --> RETURN\nX:::CustomOp\n"
NO_ENTRY = workflow(
    "ENTRY_POINT([E]):::Interface", "G:::CustomCodeGenerateOp", "PROBLEM -->|problem| G & T:::TestOp",
    "G -->|solution| T --> RETURN",
)  # fmt: skip
UNREADABLE = workflow(f"PROBLEM --> A{C}", "A --> [x", "A ~~~ RETURN")


def codes(text: str, settings: str = "") -> list[str]:
    found: Analysis = analyse(text, config=parse_configuration(settings))
    assert not any(one.because for one in found.diagnostics)
    return [one.code for one in found.diagnostics if one.severity is not Severity.HINT]


@pytest.mark.parametrize(
    ("text", "cause", "consequence"),
    [
        (WAITING, "MW102", "MW105"),
        (NO_PROBLEM, "MW101", "MW204"),
        (NO_ENTRY, "MW102", "MW204"),
        (UNREADABLE, "MW001", "MW102"),
    ],
)
def test_a_consequence_is_told_where_its_cause_is_not(text: str, cause: str, consequence: str) -> None:
    assert cause in codes(text)
    assert consequence not in codes(text)
    commented = codes(text.replace("flowchart TD\n", f"flowchart TD\n%% merrow: ignore-file[{cause}]\n"))
    ways = [codes(text, f'ignore = ["{cause}"]'), codes(text, f'[severity]\n{cause} = "hint"')]
    if is_refused(cause):
        assert cause in commented
        assert consequence not in commented
    else:
        ways.append(commented)
    for suppressed in ways:
        assert cause not in suppressed
        assert consequence in suppressed
    both = f'ignore = ["{cause}", "{consequence}"]'
    assert consequence not in codes(text, both)


@given(st.sets(st.sampled_from(["MW001", "MW101", "MW102", "MW105", "MW204"])), st.sampled_from(
    [WAITING, NO_PROBLEM, NO_ENTRY, UNREADABLE]
))  # fmt: skip
def test_a_file_with_errors_is_valid_only_where_all_of_them_are_silenced(ignored: set[str], text: str) -> None:
    settings = f"ignore = [{', '.join(repr(code) for code in sorted(ignored))}]"
    analysis = analyse(text, config=parse_configuration(settings))
    everything = {code for code in ("MW001", "MW101", "MW102", "MW105", "MW204") if code in codes(text)}
    if not everything <= ignored:
        assert not analysis.is_valid
    assert not ignored & {one.code for one in analysis.diagnostics}
