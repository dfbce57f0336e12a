"""Faults of Merrow itself: one in a rule, a fix or a file is told as that item's finding, and everything else goes on."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager

from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.text import Position, Range

_TOP = Range(Position(0, 0), Position(0, 0))


class _Handling:
    """Whether faults are raised, as tests and ``--debug`` want, instead of told."""

    raised = False


def are_raised() -> bool:
    """Whether a fault is raised where it happens."""
    return _Handling.raised


@contextmanager
def raising(*, wanted: bool = True) -> Iterator[None]:
    """Within it faults are raised, or with ``wanted`` False told."""
    before, _Handling.raised = _Handling.raised, wanted
    try:
        yield
    finally:
        _Handling.raised = before


def described(problem: BaseException) -> str:
    """A fault for a report: its type and where in Merrow it happened, nothing of the text that it happened with."""
    trace = problem.__traceback__
    where = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        where = f" at {posixpath.basename(code.co_filename.replace(chr(92), '/'))}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(problem).__name__}{where}"


def sentence(what: str, problem: BaseException) -> str:
    """The sentence about a fault; ``what`` says what failed and what goes on."""
    return f"Merrow failed here ({described(problem)}): {what}. Please report it."


def finding(what: str, problem: BaseException, place: Range = _TOP, severity: Severity = Severity.ERROR) -> Diagnostic:
    """A fault as a finding."""
    from merrow_analysis.rules.fault_rules import FAULT  # the registry imports diagnostics, which may have faults

    return Diagnostic(FAULT.code, FAULT.name, severity, sentence(what, problem), place)
