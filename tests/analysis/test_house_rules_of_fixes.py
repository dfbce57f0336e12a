"""What holds for the fixes of all rules: a message that says what to write offers it, and the registry says who has fixes.

That the best fix is preferred, and suppressions come last, is asserted of the editor's menu in tests/server/test_fix_sweep.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from tests.analysis.rule_page import SETTINGS_FILE, GivenFiles, found_in_cases, read_page
from tests.boxes.defects import DEFECTS
from tests.breakage import broken

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import NO_FIXES, Applicability, Diagnostic, Fix, Fixes, Severity
from merrow_analysis.rules.configuration import parse_configuration
from merrow_analysis.rules.declared.configuration_rules import check_configuration
from merrow_analysis.rules.pages import page_codes, page_text
from merrow_analysis.rules.registry import all_rules
from merrow_analysis.text import TextEdit

SAID = re.compile(
    r"(?:did you mean|\b[Ww]rite|\bdraw|\badd) (?:`([^`]+)`|“([^”]+)”|(RETURN|PROBLEM|end)\b)(?: or `([^`]+)`)?"
)
TO_REMOVE = re.compile(r"\bremove (?:it|this edge|the edges|one of (?:them|these)|`\w+`|the box)\b")
REMOVING = re.compile(r"^(?:Remove|Keep|Make \w+ a plain group|Lead|Draw)")
FORMS = (
    "key: value",
    "%% merrow: ignore[MW402] reason",
    "%% merrow: ignore-file[MW402] reason",
    "classDef name",
    "class A,B name",
    "workflow: ./file.mmd",
    "workflow: prompts:",
    "RETURN@{ type:",
    "---",
    "again",
)
"""What messages show of the form of something: what is to be written in it, nobody but the author knows."""


def examples() -> Iterator[tuple[str, str, dict[str, str]]]:
    for code in page_codes():
        for example in read_page(page_text(code) or "").examples:
            yield f"{code}-{example.number}", example.text, example.files
    for defect in DEFECTS:
        yield f"composite: {defect.name}", defect.text, {}


def found(text: str, files: dict[str, str]) -> list[Diagnostic]:
    provider = GivenFiles({**files, "flow.mmd": text})
    return analyse(text, path="flow.mmd", provider=provider).diagnostics


def promised(one: Diagnostic) -> list[str]:
    """What a message says to write."""
    said = [words for match in SAID.finditer(one.message) for words in match.groups() if words]
    return [words for words in said if not words.startswith(FORMS)]


def bare(text: str) -> str:
    return re.sub(r"[\s\"'|]", "", text).casefold()


def keeps_its_word(one: Diagnostic) -> bool:
    """Whether a fix of a finding writes what its message says, or the part of it that is not there yet."""
    said = [bare(words) for words in promised(one)]
    offered = [bare(fix.title + "".join(edit.new_text for edit in fix.edits)) for fix in one.fixes]
    parts = [bare(edit.new_text) for fix in one.fixes for edit in fix.edits if len(edit.new_text) > 3]
    return not said or any(
        words in text or any(part in words for part in parts) for words in said for text in [*offered, *parts]
    )


@pytest.mark.parametrize(("text", "files"), [pytest.param(text, files, id=name) for name, text, files in examples()])
def test_what_a_message_says_to_write_is_offered(text: str, files: dict[str, str]) -> None:
    for one in found(text, files):
        assert keeps_its_word(one), f"{one.code}: {one.message}\n{[fix.title for fix in one.fixes]}\n{text}"


@pytest.mark.slow
def test_what_a_message_says_to_remove_can_be_removed() -> None:
    asked = Counter[str]()
    for name, text, files in examples():
        for one in found(text, files):
            if TO_REMOVE.search(one.message) and name.startswith(one.code):
                asked[one.code] += 1
                assert any(REMOVING.match(fix.title) for fix in one.fixes), f"{one.message} {one.fixes}"
    assert len(asked) > 10, asked


@pytest.mark.slow
def test_without_its_fixes_a_message_would_break_its_word() -> None:
    promising = [(name, one) for name, text, files in examples() for one in found(text, files) if promised(one)]
    assert len({one.code for _, one in promising}) > 20
    assert not any(keeps_its_word(one._replace(fixes=NO_FIXES)) for _, one in promising)
    other = Fix("Do something else", (TextEdit(promising[0][1].range, "?"),), Applicability.UNSAFE)
    assert not any(keeps_its_word(one._replace(fixes=Fixes([other]))) for _, one in promising)


@pytest.mark.slow
def test_no_fix_is_safer_than_the_first() -> None:
    """Where a safe one is looked for, none behind the first is made up."""
    several = 0
    for name, text, files in examples():
        for one in found(text, files):
            safe = [fix.applicability for fix in one.fixes]
            several += len(safe) > 1
            assert not safe or max(safe) == safe[0], f"{name}: {one.code}"
    assert several > 40


def test_a_near_name_is_offered_in_broken_files() -> None:
    random, texts = Random(3), [text for _, text, _ in examples()]
    for _ in range(300):
        text = broken(random.choice(texts), random)
        for one in found(text, {}):
            assert not one.fixes or max(fix.applicability for fix in one.fixes) == one.fixes[0].applicability, one.code
            if "did you mean" in one.message and one.severity is Severity.ERROR:
                assert keeps_its_word(one) or not one.fixes, f"{one.code}: {one.message}\n{text}"


@pytest.mark.slow
def test_the_registry_says_which_rules_have_fixes() -> None:
    with_fixes: set[str] = set()
    without: set[str] = set()
    for _, text, files in examples():
        toml = files.get(SETTINGS_FILE, "")
        settings = check_configuration(parse_configuration(toml), toml)
        for one in (*found(text, files), *settings, *found_in_cases(text, files)):
            (with_fixes if one.fixes else without).add(one.code)
    for rule in all_rules():
        if rule.fix == "none":
            assert rule.code not in with_fixes, rule.code
        elif rule.fix == "always":
            assert rule.code not in without, rule.code
        else:
            assert rule.code in with_fixes, f"no example of a page has a fix of {rule.code}"


def test_a_page_says_why_its_rule_has_no_fix() -> None:
    for rule in all_rules():
        assert ("There is no fix" in (page_text(rule.code) or "")) == (rule.fix == "none"), rule.code


@pytest.mark.slow
def test_no_two_fixes_of_a_finding_have_one_title() -> None:
    for name, text, files in examples():
        for one in found(text, files):
            titles = [fix.title for fix in one.fixes]
            assert len(set(titles)) == len(titles), f"{name}: {one.code} offers {titles}"
