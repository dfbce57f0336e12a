"""What came of unit tests, in words for a model and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from merrow_runtime.sandbox import TestResult

_MOST_SHOWN = 5
_LONGEST_SHOWN = 1500


def passing(result: TestResult, total: int) -> int:
    """How many tests passed; below 0 where the program could not even be loaded."""
    if result.passed:
        return total
    if any(not failure.test for failure in result.failures) or not result.failures:
        return -1
    return total - len(result.failures)


def report(result: TestResult, total: int) -> str:
    """What happened, its first line in short, for a model and for people."""
    if result.passed:
        return f"All {total} passed." if total > 1 else "The only one passed."
    broken = next((failure for failure in result.failures if not failure.test), None)
    if broken is not None:
        return _short(f"The program could not be run: {broken.error}\n{broken.traceback}")
    if not result.failures:
        return f"The tests did not come to an end: {result.outcome}."
    lines = [f"{len(result.failures)} of {total} failed."]
    for failure in result.failures[:_MOST_SHOWN]:
        lines += ["", _short(f"{failure.test.strip()}\n{failure.traceback.strip() or failure.error}")]
        if failure.error not in lines[-1]:
            lines += [failure.error]
    if len(result.failures) > _MOST_SHOWN:
        lines += ["", f"({len(result.failures) - _MOST_SHOWN} more failed.)"]
    return "\n".join(lines)


def _short(text: str) -> str:
    text = text.strip()
    half = _LONGEST_SHOWN // 2
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:half]}\n[...]\n{text[-half:]}"
