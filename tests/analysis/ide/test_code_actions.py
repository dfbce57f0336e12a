"""Quick fixes and suppressions: which are offered, in which order, and what they make of the text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.ide.cursor import marked
from tests.strategies import any_flowcharts

from merrow_analysis.check import analyse
from merrow_analysis.difference import line_edits
from merrow_analysis.ide.actions.actions import QUICK_FIX, Action
from merrow_analysis.ide.actions.code_actions import actions
from merrow_analysis.text import apply_edits

FLOW = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Return]):::Interface
    classDef Interface fill:#eee
    classDef ProgrammerOp fill:#eee
    P["Programmer<br/>"]:::ProgrammerOp
"""


def offered(text: str) -> tuple[str, list[Action]]:
    here = marked(text)
    return here.text, actions(here.analysis, here.range, None, QUICK_FIX.__eq__)


def after(text: str, title: str) -> str:
    """The text after the action whose title begins so."""
    plain, found = offered(text)
    action = next(action for action in found if action.title.startswith(title))
    edits = action.edits()
    assert edits is not None
    return apply_edits(plain, edits)


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in analyse(text).diagnostics]


def test_of_several_fixes_none_is_preferred() -> None:
    text = FLOW + "    T[Test]\n    B@{ op: Custom }\n    PROBLEM --> B -<|>-> T --> RETURN\n"
    _, found = offered(text)
    for code in {action.diagnostic.code for action in found if action.diagnostic is not None}:
        safe = [action for action in found if action.preferred and action.diagnostic and action.diagnostic.code == code]
        assert len(safe) <= 1


def test_ignored_here() -> None:
    text = FLOW + "    PROBLEM -<|>-> P --> RETURN\n"
    result = after(text, "Ignore MW202 (missing-port-label) here")
    assert result.endswith("    %% merrow: ignore[MW202]\n    PROBLEM --> P --> RETURN\n")
    assert "MW202" in codes(text.replace("<|>", ""))
    assert not {"MW202", "MW512"} & set(codes(result))


def test_ignored_here_beside_what_is_ignored_already() -> None:
    text = FLOW + "    %% merrow: ignore[MW401] a reason\n    PROBLEM -<|>-> P --> RETURN\n"
    assert "    %% merrow: ignore[MW401, MW202] a reason\n" in after(text, "Ignore MW202 (missing-port-label) here")


def test_in_the_front_matter_only_for_the_file() -> None:
    text = "---\nworkflow:\n  modle<|>: x\n---\n" + FLOW + "    PROBLEM -->|problem| P --> RETURN\n"
    _, found = offered(text)
    titles = [action.title for action in found if action.title.startswith("Ignore")]
    assert len(titles) == 1
    assert titles[0].endswith("in this file")
    result = after(text, titles[0])
    assert codes(result) == []


@given(any_flowcharts)
@settings(max_examples=15, deadline=None)
def test_every_suppression_silences_its_rule(text: str) -> None:
    analysis = analyse(text)
    for diagnostic in analysis.diagnostics:
        for action in actions(analysis, diagnostic.range, (diagnostic,), QUICK_FIX.__eq__):
            edits = action.edits()
            assert edits is not None
            result = apply_edits(text, edits)
            if action.title.startswith("Ignore") and action.title.endswith("in this file"):
                assert diagnostic.code not in codes(result)
            elif action.title.startswith("Ignore"):
                assert codes(result).count(diagnostic.code) < codes(text).count(diagnostic.code), result


@given(
    st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n"])), st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d"]))
)
def test_line_edits_make_the_new_text(old: list[str], new: list[str]) -> None:
    before, now = "".join(old), "".join(new)
    assert apply_edits(before, line_edits(before, now)) == now
