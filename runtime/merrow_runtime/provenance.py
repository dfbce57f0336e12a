"""Where results come from: a model at an endpoint, the embedded model, a recording, a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from merrow_runtime.errors import UsageFailure

OFFLINE_ORIGIN = "merrow:offline"
REPLAY_ORIGIN = "merrow:replay"
PERSON_ORIGIN = "merrow:person"
UNKNOWN_ORIGIN = "merrow:unknown"
"""Stands for the endpoint of answers from before the journal noted who gave them."""

Reuse = Literal["same", "any"]
"""Which earlier results a run may use: those of the endpoint that answers it, or those of any."""

_MOST_NAMED = 5

_NAMES = {
    OFFLINE_ORIGIN: "the embedded offline model",
    REPLAY_ORIGIN: "a recording",
    PERSON_ORIGIN: "a person",
    UNKNOWN_ORIGIN: "an endpoint that an older Merrow did not note",
}


class Provenance(NamedTuple):
    """Who answered: the origin of an endpoint (or `OFFLINE_ORIGIN`, `REPLAY_ORIGIN`, `PERSON_ORIGIN`), and the model by its own
    name.
    """

    endpoint: str
    model: str


PERSON = Provenance(PERSON_ORIGIN, "")
"""Who answered where a person set the outputs of a node."""


class ForeignResults(UsageFailure):
    """A run would use earlier results of another endpoint than its own, and nobody said whether it may.

    ``nodes`` are the ids of the nodes that have such results, ``endpoints`` the origins that gave them, ``endpoint`` the
    run's own. Ask the user, then begin again with ``RunOptions.reuse``.
    """

    def __init__(self, run: str, nodes: Sequence[str], endpoints: Iterable[str], endpoint: str) -> None:
        self.run, self.nodes, self.endpoint = run, tuple(nodes), endpoint
        self.endpoints = tuple(dict.fromkeys(endpoints))
        super().__init__(
            f"{self.situation} Choose --reuse same to run them again, or --reuse any to keep their results."
        )

    @property
    def situation(self) -> str:
        """What is the case, without what to do."""
        return (
            f"In run {self.run}, {listed(self.nodes)} {'was' if len(self.nodes) == 1 else 'were'} answered by"
            f" {' and '.join(map(named, self.endpoints))}, but {named(self.endpoint)} answers now."
        )


def named(endpoint: str) -> str:
    """An endpoint's origin in words."""
    return _NAMES.get(endpoint, endpoint)


def plain(sources: Iterable[Provenance]) -> list[dict[str, str]]:
    """Sources as events and reports show them."""
    return [{"endpoint": source.endpoint, "model": source.model} for source in sources]


def answered_by(sources: Iterable[Sequence[str]]) -> str:
    """Sources in a few words: ``gpt-4o @ api.openai.com``, ``embedded model``, ``recording``, ``a person``; "" for none."""
    return ", ".join(dict.fromkeys(_short(endpoint, model) for endpoint, model in sources))


def listed(names: Sequence[str]) -> str:
    """Names as an enumeration, shortened where there are many."""
    shown = list(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        shown.append(f"{len(names) - _MOST_NAMED} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _short(endpoint: str, model: str) -> str:
    if endpoint == OFFLINE_ORIGIN:
        return "embedded model"
    if endpoint == REPLAY_ORIGIN:
        return "recording"
    if endpoint == PERSON_ORIGIN:
        return "a person"
    if endpoint == UNKNOWN_ORIGIN:
        return "unknown endpoint"
    return f"{model} @ {urlsplit(endpoint).netloc or endpoint}" if model else urlsplit(endpoint).netloc or endpoint
