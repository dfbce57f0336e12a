"""The registry of rules is complete, documented and named by the convention; what is generated from it is current."""

import ast
import importlib.util
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import merrow_analysis.rules
from merrow_analysis.rules.pages import page_codes, page_text
from merrow_analysis.rules.registry import Rule, RuleFamily, Scope, all_rules, find_rule

ROOT = Path(__file__).parents[2]
RULES = all_rules()
ORIGINAL = {
    "MW101": "missing-input-or-output",
    "MW102": "off-path",
    "MW103": "wrong-interface-class",
    "MW104": "unknown-operator",
    "MW105": "ensemble-needs-two-sources",
}


def by_code(rule: Rule) -> str:
    return rule.code


def test_the_registry_finds_every_module_with_rules() -> None:
    before = set(all_rules())
    for module in pkgutil.walk_packages(merrow_analysis.rules.__path__, "merrow_analysis.rules."):
        importlib.import_module(module.name)
    assert set(all_rules()) == before


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_a_rule_is_well_formed_and_found_by_code_and_name(rule: Rule) -> None:
    assert re.fullmatch(r"MW[0-5]\d\d", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", rule.name)
    assert re.fullmatch(r"\S.*\.", rule.summary), "the summary is one sentence"
    assert "\n" not in rule.summary
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)
    assert find_rule(rule.code) is find_rule(rule.code.lower()) is find_rule(rule.name) is rule


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_a_rule_is_documented(rule: Rule) -> None:
    assert page_text(rule.code) is not None, f"write analysis/merrow_analysis/rules/pages/{rule.code}.md"


def test_every_page_belongs_to_a_rule() -> None:
    assert set(page_codes()) <= {rule.code for rule in RULES}


def test_the_original_five_keep_their_codes() -> None:
    assert {code: rule.name for code in ORIGINAL if (rule := find_rule(code)) is not None} == ORIGINAL


def test_a_malformed_or_taken_rule_is_refused() -> None:
    taken = RULES[0]
    for code, name in [
        ("MW9", "x"),
        ("MW999", "fine"),
        ("MW199", "Not-Kebab"),
        (taken.code, "new"),
        ("MW199", taken.name),
    ]:
        with pytest.raises(ValueError, match="rule"):
            RuleFamily[None](Scope.TEXT).rule(code, name, "Summary.", taken.severity)


SHOWN = {
    "analysis/merrow_analysis/suppressions.py": "how a comment is written, in the message of a rule",
    "analysis/merrow_analysis/rules/configuration.py": "how a setting is written, in the settings' documentation",
    "server/merrow_server/features/commands/execute_command.py": "an example in a message",
    "server/merrow_server/cli/__init__.py": "an example in the help",
    "server/merrow_server/cli/check/check.py": "examples in the help",
    "server/merrow_server/cli/check/explain.py": "an example in the help",
    "server/merrow_server/tools/pinning.py": "a docstring",
}
"""Files outside the rules that show codes to people, with what they are there. No file decides anything by a code."""


def test_nothing_but_rules_has_codes() -> None:
    """What another module has to know of a rule is one of its flags, so a new rule needs no list to be changed."""
    showing = set()
    for path in sorted(ROOT.glob("*/merrow_*/**/*.py")):
        name = path.relative_to(ROOT).as_posix()
        if path.name.endswith("_rules.py") and "rules" in path.parts:
            continue
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if re.search(r"MW\d", text) else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"MW\d", node.value):
                assert not re.fullmatch(r"MW\d+", node.value), f"{name}:{node.lineno} has a code of its own"
                showing.add(name)
    assert showing == SHOWN.keys()


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "scripts" / "generate_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_documents_are_up_to_date() -> None:
    assert generator().stale() == [], "run: make docs"
