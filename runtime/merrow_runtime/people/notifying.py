"""Tells the user that a run asks something, by the program that their own settings name."""

from __future__ import annotations

import contextlib
import json
import subprocess

from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.visit import Visit

_STARTED: list[subprocess.Popen[bytes]] = []
"""Those that have not been seen to end."""


def notify(run: str, visit: Visit) -> str | None:
    """Start the user's program for a question that a visit of a run asks. It is given ``{"run", "node"}`` as JSON on its standard
    input, and nobody waits for it; no value of the run leaves by this. A sentence where it can't be started.
    """
    try:
        program = read_user_settings().notify
        if not program:
            return None
        told = json.dumps({"run": run, "node": visit.name}) + "\n"
        started = subprocess.Popen(  # noqa: S603 (the user's own settings name it, and no file of a workspace can)
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _STARTED[:] = [*(program for program in _STARTED if program.poll() is None), started]
        assert started.stdin is not None  # noqa: S101 (it was asked for)
        with contextlib.suppress(BrokenPipeError), started.stdin as given:  # It need not read it.
            given.write(told.encode())
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        return f"The program of `notify` in your settings can't be started: {why}."
    except UsageFailure as problem:
        return str(problem)
    return None
