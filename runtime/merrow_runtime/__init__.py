"""Running workflows: `run`, `start`, `resume`, `dry_run`. See docs/python-api.md.

Nothing is imported before it is needed, so a program that only checks workflows doesn't wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merrow_runtime.errors import RunFailure, UsageFailure
    from merrow_runtime.events import Event
    from merrow_runtime.options import RunOptions
    from merrow_runtime.program.loading import load
    from merrow_runtime.running.api import resume, run, start
    from merrow_runtime.running.forecast import dry_run
    from merrow_runtime.running.forecast_figures import Forecast
    from merrow_runtime.running.run import Run, RunResult
    from merrow_runtime.store.database import Store
    from merrow_runtime.workflow import Workflow, check_workflow

__all__ = [
    "Event",
    "Forecast",
    "Run",
    "RunFailure",
    "RunOptions",
    "RunResult",
    "Store",
    "UsageFailure",
    "Workflow",
    "check_workflow",
    "dry_run",
    "load",
    "resume",
    "run",
    "start",
]

_HOMES = {
    "Event": "events",
    "Forecast": "running.forecast",
    "Run": "running.run",
    "RunFailure": "errors",
    "RunOptions": "options",
    "RunResult": "running.run",
    "Store": "store.database",
    "UsageFailure": "errors",
    "Workflow": "workflow",
    "check_workflow": "workflow",
    "dry_run": "running.forecast",
    "load": "program.loading",
    "resume": "running.api",
    "run": "running.api",
    "start": "running.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
