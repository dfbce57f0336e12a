"""What the command line does with each kind of job in the journal: listed, shown, continued, deleted.

A kind is a module here, imported when one of it is asked for: it is a `Door`, or has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from merrow_server.errors import InputError

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store

Json = dict[str, Any]
KINDS: Mapping[str, str] = {
    "run": "a run",
    "evaluation": "an evaluation",
    "batch": "a batch",
    "search": "a search",
    "extraction": "an extraction",
    "plan": "a plan",
    "suggestion": "a suggestion",
    "reproduction": "a reproduction",
}
"""By name, one of each kind as sentences call it."""


@dataclass(frozen=True, slots=True)
class View:
    """How one is to be shown: ``form`` is that of ``--format``, ``file`` takes a page, the others are parts of one."""

    form: str = "text"
    file: str | None = None
    node: str | None = None
    revision: int | None = None
    item: str | None = None


class Door(Protocol):
    """What differs from kind to kind."""

    def none(self, workflow: str | None) -> str:
        """The sentence where there are none yet; ``workflow`` is the one that was asked about."""

    def listed(self, user: Store, limit: int, file: str | None) -> list[Json]:
        """The newest, newest first, of one file where its whole path is given, as plain data."""

    def row(self, entry: Json) -> tuple[str, ...]:
        """One of these as columns, the second of which is its status."""

    def show(self, user: Store, identity: str | None, view: View) -> None:
        """Print one; a run may be named otherwise than by its id. Raises `InputError` for what can't be shown of it."""

    def resume(self, user: Store, identity: str, given: Json) -> int:
        """Continue one, with the options that were ``given``; the exit code. Raises `InputError`, `RunFailure`."""


def door(kind: str) -> Door:
    """What works on a kind."""
    module = import_module(f"merrow_server.cli.kinds.{kind}")
    return cast("Door", getattr(module, "DOOR", module))


_GOES_WITH: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = (
    (("verbose", "record", "replay", "sandbox", "allow_unsafe_code", "fail_on_exhausted"), ("run",), "a run"),
    (("as_json",), ("run", "search", "extraction", "plan", "suggestion", "reproduction"), "a run"),
    (("jobs",), ("search",), "a search"),
    (("engine", "scheduler", "chunk"), ("evaluation", "batch"), "an evaluation or a batch"),
    (("node", "revision"), ("run",), "a run"),
)
"""Options, the kinds that have them, and what is said of that."""


def refuse(given: Mapping[str, Any], kind: str, identity: str) -> None:
    """Raise `InputError` for an option of ``given`` that does not go with the kind of what has this id."""
    for names, kinds, whose in _GOES_WITH:
        for name in names:
            value = given.get(name)
            if kind not in kinds and value is not None and value is not False:
                option = "json" if name == "as_json" else name.replace("_", "-")
                raise InputError(f"--{option} goes with {whose}; {identity} is {KINDS[kind]}.")
