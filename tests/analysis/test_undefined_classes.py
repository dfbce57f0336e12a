"""Classes that are used and not defined: another spelling, if one suits, or a definition. Classes given too early."""

from __future__ import annotations

import pytest
from tests.analysis.workflows import diagnose

from merrow_analysis.check import analyse
from merrow_analysis.text import apply_edits

FRAME = "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n    classDef Interface fill:#eee\n"


def workflow(used: str, *defined: str, operator: str = "Custom") -> str:
    lines = [f"V[{operator}]:::{used}", "PROBLEM --> V --> RETURN", *(f"classDef {name} fill:#fff" for name in defined)]
    return FRAME + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("used", "defined", "near"),
    [
        ("fancy", ("fanzy",), "fanzy"),
        ("fancy", ("other", "fancyy", "more"), "fancyy"),
        ("fancy", ("Fancy",), "Fancy"),
        ("fancy", ("unlike",), None),
        ("fancy", (), None),
        ("CustomOp", ("CustomOpp",), None),
        ("CustomOp", ("customop",), "customop"),
        ("CustomO", ("CustomOp",), "CustomOp"),
        ("ProgrammerO", ("ProgrammerOp",), None),
    ],
)
def test_another_spelling_is_proposed_where_it_suits(used: str, defined: tuple[str, ...], near: str | None) -> None:
    text = workflow(used, *defined)
    (found,) = (one for one in diagnose(text) if f"Class `{used}` is used but not defined" in one.message)
    assert found.message.partition("did you mean ")[2] == (f"`{near}`?" if near else "")
    assert [one.title for one in found.fixes] == [f"Define class {used}", *([f"Write {near}"] if near else [])]
    for fix in found.fixes:
        after = apply_edits(text, fix.edits)
        assert not [one for one in diagnose(after) if "is used but not defined" in one.message], after


@pytest.mark.parametrize(("given", "unused"), [("    class NOBODY look\n", False), ("", True)])
def test_a_class_given_to_a_node_that_is_not_there_has_one_finding(given: str, unused: bool) -> None:
    text = workflow("CustomOp", "CustomOp") + "    classDef look fill:#eee\n" + given
    found = [one for one in diagnose(text) if "look" in one.message or "NOBODY" in one.message]
    assert len(found) == 1
    assert ("nothing has it" in found[0].message) == unused


@pytest.mark.parametrize("place", range(5))
def test_a_class_given_above_the_first_mention_of_a_node_is_forgotten(place: int) -> None:
    """Wherever the statement is among the nodes: exactly those that come below it are named."""
    lines = [f"N{number} --> N{number + 1}" for number in range(4)]
    lines.insert(place, "class N0,N2,N4 big")
    text = "flowchart TD\n" + "".join(f"    {line}\n" for line in [*lines, "classDef big fill:#fff"])
    forgotten = {name for name, first in (("N0", 0), ("N2", 1), ("N4", 3)) if first >= place}
    told = [one.message for one in analyse(text, as_workflow=True).diagnostics if one.code == "MW115"]
    assert {name for name in ("N0", "N2", "N4") if any(f"given to {name} before" in one for one in told)} == forgotten
    assert len(told) == len(forgotten)
