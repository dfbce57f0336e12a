"""Faults of Merrow at one of several files that a command looks at."""

from __future__ import annotations

from merrow_analysis import faults
from merrow_server.files import Target


def at_file(target: Target, problem: Exception) -> str:
    """The sentence about a fault at a file that stays as it is. Raises the fault itself where it is one of the system, or where
    faults are raised.
    """
    if faults.are_raised() or isinstance(problem, OSError):
        raise problem
    return f"{target.name}: {faults.sentence('the file was left as it is, all others were handled', problem)}"
