"""The one registry of rules.

A rule is one object, and its page in ``rules/pages`` is its documentation and its test. Rules are registered by the modules
``*_rules.py`` of this room and of those in it, which are all imported when the registry is first asked for anything, in the
order of their names.

Rules that one walk finds are a `RuleFamily`: it has the check, and the rules that it may report are made with
`RuleFamily.rule`. A rule that nothing else shares a walk with is a family of one. A check may report a rule of another family
as well.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntFlag, StrEnum, auto
from functools import cache
from importlib import import_module
from typing import Any, Generic, Literal, TypeVar

from merrow_analysis.diagnostics import Diagnostic, Severity

FixAvailability = Literal["none", "sometimes", "always"]
AnyContext = TypeVar("AnyContext")
"""What a check is given: a `TextContext` for rules about the text, a `GraphContext` for those about a workflow."""

_CODE = re.compile(r"MW[0-5]\d\d")
_NAME = re.compile(r"[a-z]+(?:-[a-z0-9]+)*")


class Scope(StrEnum):
    """What a rule looks at. It decides when the rule is checked, and how long its findings are kept while a text is edited.
    Where lines move, everything is found again.

    The scopes from ``NODE`` on are checked in the order in which they are written here, for workflows only. A finding that
    may explain another one (`Diagnostic.because`) must be found before it: in an earlier scope, or by a family of the same
    scope that was registered earlier. Importing the module of the rule that explains sees to that.
    """

    TEXT = "text"
    """What is written, with all that is known of it: checked at each analysis, also of a flowchart that is not a workflow."""
    NODE = "node"
    """What single nodes are: their operators and classes, and what is declared. Kept while edges or parameters are edited."""
    GRAPH = "graph"
    """How nodes are connected, and what runs under which cases. Kept while what is edited changes neither ports nor edges."""
    EDGE = "edge"
    """What the edges of a single node bring and mean there. Kept as findings of ``GRAPH`` are, but not checked a second time
    where the conditions under which nodes run are worked out again from nothing.
    """
    PARAMETER = "parameter"
    """What is written at single nodes, whatever it is: parameters and prompts. Kept while only edges are edited."""
    RUN = "run"
    """What happens when a workflow is run: no check of a text finds it."""


class Flags(IntFlag):
    """What the rest of Merrow has to know of a rule."""

    NONE = 0
    READING = auto()
    """About how Mermaid reads a statement. It is checked for texts of any kind, and where a statement can't be read, the
    finding may explain others far away.
    """
    REFUSED = auto()
    """Mermaid itself refuses a text with this finding, so no comment may suppress it and no configuration make it valid."""
    NEEDS_WHOLE = auto()
    """A statement that can't be read may set it off anywhere, since an edge or a class of the graph is missing."""
    NAMES_CAUSE = auto()
    """It follows from a statement that can't be read where that has a word of the finding's message."""
    ABOUT_COMMENTS = auto()
    """About comments that suppress rules: editors do not offer to suppress it."""
    PORTS = auto()
    """About what a single node is fed. A mutation must bring no such finding to any node that it leaves."""
    PATHS = auto()
    """About the way from inputs to outputs, which a mutation must not interrupt."""
    VOICES = auto()
    """About the sources that an ensemble needs, which neither a deletion nor another operator may take from it."""
    SPELLING = auto()
    """About how something is written, not what it means, so that no mutation fails for it."""
    QUICK_LOOK = auto()
    """What a mutation could do wrong here shows at the nodes that it touches (`mutations.harm`). A rule without this flag is
    checked on the whole graph after each mutation.
    """
    LEFT_BY_FIXES = auto()
    """The fix of an error may bring it: it is a warning with a safe fix of its own."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A thing that Merrow checks. ``code`` (MWnnn), ``name`` (kebab-case) and ``severity`` never change once released.

    ``since`` is the first version that has it, ``fix`` says whether its findings come with a repair.
    """

    code: str
    name: str
    summary: str
    severity: Severity
    family: RuleFamily[Any] = field(repr=False)
    since: str = "0.1.0"
    fix: FixAvailability = "none"
    flags: Flags = Flags.NONE

    @property
    def scope(self) -> Scope:
        return self.family.scope

    @property
    def check(self) -> Callable[[Any], Iterable[Diagnostic]] | None:
        """What finds it, together with the rest of its family; None where no check of a text or graph does."""
        return self.family.check


class RuleFamily(Generic[AnyContext]):
    """Rules with one check, which walks once and reports any of them. ``flags`` are those that all of them have.

    ``check`` is None until `checked_by` gives it. It stays None where the findings come from elsewhere: from a run, from
    a settings file, or from looking at all other findings.
    """

    def __init__(self, scope: Scope, flags: Flags = Flags.NONE) -> None:
        self.scope = scope
        self.flags = flags
        self.check: Callable[[AnyContext], Iterable[Diagnostic]] | None = None

    def rule(
        self,
        code: str,
        name: str,
        summary: str,
        severity: Severity,
        *,
        since: str = "0.1.0",
        fix: FixAvailability = "none",
        flags: Flags = Flags.NONE,
    ) -> Rule:
        """Register a rule and return it. Raises ValueError for a code or name that is malformed or taken."""
        if not _CODE.fullmatch(code) or not _NAME.fullmatch(name):
            raise ValueError(f"not a rule code and name: {code} {name}")
        if code in _RULES or any(rule.name == name for rule in _RULES.values()):
            raise ValueError(f"rule registered twice: {code} {name}")
        rule = Rule(code, name, summary, severity, self, since, fix, self.flags | flags)
        _RULES[code] = rule
        checks_of.cache_clear()
        return rule

    def checked_by(
        self, check: Callable[[AnyContext], Iterable[Diagnostic]]
    ) -> Callable[[AnyContext], Iterable[Diagnostic]]:
        """Make ``check`` what finds these rules: a decorator."""
        self.check = check
        checks_of.cache_clear()
        return check


_RULES: dict[str, Rule] = {}


@cache
def _discover() -> None:
    """Import every module of rules."""
    package = import_module(__package__)
    for name in sorted(module.name for module in pkgutil.walk_packages(package.__path__, f"{__package__}.")):
        if name.endswith("_rules"):
            import_module(name)


def unregister(rule: Rule) -> None:
    """Take a rule out of the registry. Raises KeyError where it isn't there."""
    del _RULES[rule.code]
    checks_of.cache_clear()


def all_rules() -> list[Rule]:
    """Every rule, by code."""
    _discover()
    return [_RULES[code] for code in sorted(_RULES)]


@cache
def checks_of(
    scope: Scope, with_flags: Flags = Flags.NONE, without: Flags = Flags.NONE, *, hints: bool = True
) -> tuple[Callable[[Any], Iterable[Diagnostic]], ...]:
    """The checks of a scope, each once, in the order in which their rules were registered.

    Only of rules that have all the flags ``with_flags`` and none of ``without``; those that find nothing but hints only with
    ``hints``.
    """
    _discover()
    checks = (
        rule.check
        for rule in _RULES.values()
        if rule.scope is scope and with_flags in rule.flags and not rule.flags & without
        if hints or rule.severity is not Severity.HINT
    )
    return tuple(dict.fromkeys(check for check in checks if check is not None))


def rules_of(check: Callable[[Any], Iterable[Diagnostic]]) -> list[Rule]:
    """The rules that a check was registered for, by code."""
    return [rule for rule in all_rules() if rule.check == check]


def find_rule(code_or_name: str) -> Rule | None:
    """The rule with this code (in any case) or this name."""
    _discover()
    rule = _RULES.get(code_or_name.upper())
    if rule is not None:
        return rule
    return next((rule for rule in _RULES.values() if rule.name == code_or_name), None)


def flags_of(code: str) -> Flags:
    """The flags of the rule with this code; none where there is no such rule."""
    _discover()
    rule = _RULES.get(code)
    return Flags.NONE if rule is None else rule.flags


def is_refused(code: str) -> bool:
    """Whether Mermaid itself refuses a text with a finding of this code."""
    return Flags.REFUSED in flags_of(code)
