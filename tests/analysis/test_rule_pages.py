"""The page of each rule is run: what stands under Wrong is found where it says, what stands under Right is not."""

import pytest
from tests.analysis.rule_page import SECTIONS, SETTINGS_FILE, Example, GivenFiles, Page, found_in_cases, read_page

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.rules.configuration import parse_configuration
from merrow_analysis.rules.declared.configuration_rules import check_configuration
from merrow_analysis.rules.effects.pin_rules import TOOL_DIFFERS
from merrow_analysis.rules.fault_rules import FAULT
from merrow_analysis.rules.pages import page_codes, page_text
from merrow_analysis.rules.registry import Scope, find_rule

CHECKED = [code for code in page_codes() if (rule := find_rule(code)) is None or rule.scope is not Scope.RUN]
"""Those of rules about runs are run by tests/server/lsp/test_run_rule_pages.py."""


def load(code: str) -> Page:
    text = page_text(code)
    assert text is not None
    return read_page(text)


def check(example: Example) -> list[Diagnostic]:
    config = parse_configuration(example.files.get(SETTINGS_FILE, ""))
    provider = GivenFiles({**example.files, "flow.mmd": example.text})
    return analyse(example.text, path="flow.mmd", provider=provider, config=config).diagnostics


def in_settings(example: Example) -> set[tuple[int, str]]:
    config = parse_configuration(example.files.get(SETTINGS_FILE, ""))
    return {(each.range.start.line, each.code) for each in check_configuration(config)}


def in_cases(example: Example) -> set[tuple[int, str]]:
    return {(each.range.start.line, each.code) for each in found_in_cases(example.text, example.files)}


def described(found: list[Diagnostic]) -> str:
    return "\n".join(
        f"line {each.range.start.line + 1}: {each.code} {each.severity.value}: {each.message}" for each in found
    )


@pytest.mark.parametrize("code", page_codes())
def test_the_page_has_the_title_and_the_summary_of_its_rule(code: str) -> None:
    rule, page = find_rule(code), load(code)
    assert rule is not None, f"{code}.md belongs to no rule"
    assert page.title == f"{rule.code} {rule.name}"
    assert page.summary == rule.summary
    assert page.sections == SECTIONS
    assert page.of("Wrong") or code in (FAULT.code, TOOL_DIFFERS.code), "there is no example under Wrong"
    assert page.of("Right"), "there is no example under Right"


@pytest.mark.parametrize("code", CHECKED)
def test_what_is_wrong_is_found_where_the_page_says(code: str) -> None:
    for example in load(code).of("Wrong"):
        found = check(example)
        places = {(each.range.start.line, each.code) for each in found}
        shown = f"example {example.number}:\n{example.text}\nfound:\n{described(found)}"
        expected = example.expected | example.in_settings | example.in_cases
        assert code in example.anywhere | {each for _, each in expected}, f"nothing is expected in {shown}"
        assert example.expected <= places, f"{sorted(example.expected - places)} was not found in {shown}"
        assert example.anywhere <= {each.code for each in found}, shown
        surprising = [
            each
            for each in found
            if each.severity.value == "error"
            and each.code not in example.anywhere
            and (each.range.start.line, each.code) not in example.expected
        ]
        assert in_settings(example) == example.in_settings, shown
        assert in_cases(example) == example.in_cases, shown
        assert not surprising, f"unexpected:\n{described(surprising)}\nin {shown}"


@pytest.mark.parametrize("code", page_codes())
def test_what_is_right_has_neither_the_finding_nor_an_error(code: str) -> None:
    for example in load(code).of("Right"):
        found = check(example)
        bad = [each for each in found if each.code == code or each.severity.value == "error"]
        assert in_settings(example) == set()
        assert in_cases(example) == set()
        assert not bad, f"example {example.number}:\n{example.text}\nfound:\n{described(bad)}"
