"""The runs of programs whose acts must not be done twice: kept until they end, so that one that was killed is continued."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import count

from merrow_runtime.options import RunOptions
from merrow_runtime.store.database import Store
from merrow_runtime.store.location import state_folder
from merrow_runtime.values import Value, canonical
from merrow_runtime.workflow import Workflow

_FILE = "programs.sqlite"


def open_runs() -> Store:
    """The journal of such runs, beside the user's own. Raises `StoreFailure`."""
    return Store.open(state_folder() / _FILE, spare=False)


def name_of(workflow: Workflow, inputs: Mapping[str, Value], options: RunOptions) -> str:
    """What the runs of a program with these inputs and options are called."""
    told = canonical([workflow.snapshot(), dict(inputs), options.to_json()])
    return f"program-{hashlib.sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def unfinished(store: Store, name: str) -> tuple[str | None, str]:
    """The run by this name that stopped before its end and that no process works on, None where there is none, and what the next
    one is called.
    """
    left: str | None = None
    for number in count(1):
        run = f"{name}-{number}"
        status = store.status(run)
        if status is None:
            return left, run
        if left is None and not store.is_worked_on(run):
            left = run
    raise AssertionError
