"""What is wrong with comments that suppress rules: found by `merrow_analysis.suppressions`, once all else is."""

from __future__ import annotations

from merrow_analysis.diagnostics import Severity
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope

_FAMILY = RuleFamily[None](Scope.TEXT, Flags.ABOUT_COMMENTS)
MALFORMED = _FAMILY.rule(
    "MW510",
    "malformed-suppression",
    "A comment that begins with `merrow:` can't be read.",
    Severity.WARNING,
    fix="sometimes",
)
UNKNOWN_RULE = _FAMILY.rule(
    "MW511",
    "unknown-rule-in-suppression",
    "A suppression names a rule that does not exist.",
    Severity.WARNING,
    fix="sometimes",
)
UNUSED = _FAMILY.rule(
    "MW512",
    "unused-suppression",
    "A suppression suppresses nothing.",
    Severity.WARNING,
    fix="always",
)
