"""The one registry of rules. A rule is one object; its page in ``docs/rules`` is its documentation and its test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from merrow_analysis.diagnostics import Severity

FixAvailability = Literal["none", "sometimes", "always"]

_CODE = re.compile(r"MW[0-5]\d\d")
_NAME = re.compile(r"[a-z]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Rule:
    """A thing that Merrow checks. ``code`` (MWnnn), ``name`` (kebab-case) and ``severity`` never change once released."""

    code: str
    name: str
    summary: str
    severity: Severity
    since: str = "0.1.0"
    fix: FixAvailability = "none"
    at_run_time: bool = False
    """Whether it is about runs: no check of a text reports it."""
    refused: bool = False
    """Whether Mermaid itself refuses a text with this finding, so that no comment may suppress it."""


_RULES: dict[str, Rule] = {}


def register(
    code: str,
    name: str,
    summary: str,
    severity: Severity,
    *,
    since: str = "0.1.0",
    fix: FixAvailability = "none",
    at_run_time: bool = False,
    refused: bool = False,
) -> Rule:
    """Add a rule to the registry and return it. Raises ValueError for a code or name that is malformed or taken."""
    if not _CODE.fullmatch(code) or not _NAME.fullmatch(name):
        raise ValueError(f"not a rule code and name: {code} {name}")
    if code in _RULES or any(rule.name == name for rule in _RULES.values()):
        raise ValueError(f"rule registered twice: {code} {name}")
    rule = Rule(code, name, summary, severity, since, fix, at_run_time, refused)
    _RULES[code] = rule
    return rule


def all_rules() -> list[Rule]:
    """Every rule, by code."""
    return [_RULES[code] for code in sorted(_RULES)]


def is_refused(code: str) -> bool:
    """Whether Mermaid itself refuses a text with a finding of this code."""
    rule = _RULES.get(code)
    return rule is not None and rule.refused


def find_rule(code_or_name: str) -> Rule | None:
    """The rule with this code (in any case) or this name."""
    rule = _RULES.get(code_or_name.upper())
    if rule is not None:
        return rule
    return next((rule for rule in _RULES.values() if rule.name == code_or_name), None)
