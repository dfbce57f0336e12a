"""Checks by patterns and by Python of a validator's: what runs in the sandbox, and what it says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from merrow_analysis.definitions.validators import ValidatorCheck

if TYPE_CHECKING:
    from merrow_runtime.sandbox import SandboxResult

SECONDS = 10.0
"""After which checks of a result are given up."""

ENTRY = "merrow_checks"

CODE = """\
import json
import re
import sys
import traceback

def merrow_checks(checks, text, output, inputs):
    failed, passed = [], 0
    for number, (kind, said) in enumerate(checks):
        print(f"check {number}", file=sys.stderr, flush=True)
        try:
            if kind == "regex":
                if re.search(said, text) is None:
                    failed.append([number, None])
                else:
                    passed += 1
            elif not failed:
                space = {"__name__": "validator"}
                exec(compile(said, "validator.py", "exec"), space)
                found = space["check"](output, inputs)
                if isinstance(found, str) or found is False:
                    failed.append([number, found or None])
                elif found is True:
                    passed += 1
                else:
                    return json.dumps({"broken": [number, f"returned {type(found).__name__}"]})
        except BaseException as error:
            lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == "validator.py"]
            where = f" on line {lines[-1]}" if lines else ""
            return json.dumps({"broken": [number, f"raised {type(error).__name__}{where}: {error}"[:1500]]})
    return json.dumps({"failed": failed, "passed": passed})
"""
"""Patterns come first, and Python is not run where one is not found. Which check is at work is on standard error, for the
case that time is up.
"""

_AT_WORK = re.compile(r"^check (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ChecksReport:
    """What came of checks: why the result does not pass, how many it passes, and the number of a check that can't judge it with
    the reason.
    """

    reasons: list[str] = field(default_factory=list)
    passed: int = 0
    broken: tuple[int, str] | None = None


def read_report(result: SandboxResult, checks: list[ValidatorCheck]) -> ChecksReport:
    """What the sandbox says of checks."""
    if not result.ok or result.value is None:
        marks = _AT_WORK.findall(result.stderr)
        number = min(int(marks[-1]) if marks else 0, len(checks) - 1)
        return ChecksReport(broken=(number, _unfinished(result, checks[number])))
    try:
        report = json.loads(result.value)
        if "broken" in report:
            number, why = report["broken"]
            return ChecksReport(broken=(number, _raised(checks[number], str(why))))
        failed = {int(number): why for number, why in report["failed"]}
        return ChecksReport([_reason(checks[number], why) for number, why in failed.items()], int(report["passed"]))
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        # Whatever a check did to the program that calls it.
        return ChecksReport(broken=(0, "what it says can't be read."))


def _reason(check: ValidatorCheck, why: str | None) -> str:
    if check.kind == "regex":
        return f"`{check.said}` is not found in it."
    return str(why) if why and str(why).strip() else "`check(output, inputs)` says no."


def _unfinished(result: SandboxResult, check: ValidatorCheck) -> str:
    if result.outcome == "timeout":
        if check.kind == "regex":
            return f"the search for `{check.said}` did not end within {SECONDS:g} s; write a pattern that repeats less."
        return f"{_name(check)} did not end within {SECONDS:g} s."
    return f"it could not be run: {result.error or result.outcome}"


def _raised(check: ValidatorCheck, why: str) -> str:
    if check.kind == "regex":
        return f"the search for `{check.said}` {why}."
    hint = "" if why.startswith("raised") else "; it must return true, or the reason why not"
    return f"{_name(check)} {why}{hint}."


def _name(check: ValidatorCheck) -> str:
    return "`check`" if check.file is None else f"`check` of {check.file}"
