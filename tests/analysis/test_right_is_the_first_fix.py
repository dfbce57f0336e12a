"""What a rule page shows under *Right* is what the first fix makes of what it shows under *Wrong*."""

from __future__ import annotations

import pytest
from tests.analysis.rule_page import Example, GivenFiles, read_page

from merrow_analysis.check import analyse
from merrow_analysis.rules.pages import page_codes, page_text
from merrow_analysis.rules.registry import all_rules
from merrow_analysis.text import apply_edits

OTHERWISE = {
    "MW001": "what an unfinished arrow was to lead to only its author knows",
    "MW109": "the page shows two steps; the first fix keeps the declaration that Mermaid draws, and adds no edge",
    "MW212": "where the rest is to go only its author knows; the page shows a way without another edge",
    "MW301": "the page shows how to add the prompt; the fix writes the name that is there",
    "MW323": "the page shows a note as a comment, which only its author would make of it",
    "MW306": "the page says the value once; the fix that changes least writes the same value twice",
    "MW309": "a fix can only write a prompt to be filled in",
    "MW311": "how much may be spent only the author knows; the fix removes it",
    "MW520": "the finding is in the settings file, where tests/server/test_settings_fixes.py applies it",
    "MW521": "the finding is in the cases file, where tests/server/lsp/test_cases.py applies it",
    "MW522": "the finding is in the cases file, where tests/analysis/test_cases_files.py applies it",
}
"""Pages that show something else, and why."""
_MOST_FIXES = 20


def lines(text: str) -> list[str]:
    """The lines that say something."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def repaired(code: str, example: Example) -> str | None:
    """The text after the first fix of each finding of the rule in turn; None where there is no fix."""
    text = example.text
    for _ in range(_MOST_FIXES):
        found = analyse(text, path="flow.mmd", provider=GivenFiles({**example.files, "flow.mmd": text})).diagnostics
        first = next((fix for one in found if one.code == code for fix in one.fixes), None)
        if first is None:
            return text if text != example.text else None
        text = apply_edits(text, first.edits)
    raise AssertionError(f"the fixes of {code} never end")


def follows(code: str) -> bool:
    page = read_page(page_text(code) or "")
    right = [lines(one.text) for one in page.of("Right")]
    made = [repaired(code, one) for one in page.of("Wrong")]
    return any(text is not None and lines(text) in right for text in made)


@pytest.mark.parametrize("code", page_codes())
def test_right_is_what_the_first_fix_of_wrong_gives(code: str) -> None:
    without = {rule.code for rule in all_rules() if rule.fix == "none"}
    assert follows(code) == (code not in OTHERWISE and code not in without)
