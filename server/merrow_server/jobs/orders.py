"""What is to be run, as plain data that goes from the editor's side to the thread that runs it."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_analysis.definitions.provider import ResourceError

if TYPE_CHECKING:
    from merrow_analysis.check import Analysis
    from merrow_analysis.definitions.provider import Provider
    from merrow_analysis.markdown import DiagramFence
    from merrow_analysis.rules.configuration import Config
    from merrow_runtime.provenance import Reuse
    from merrow_server.jobs.ticket import Ticket
    from merrow_server.reproductions.request import ReproductionRequest

_PATIENCE = 30.0
"""Seconds that reading a file through the editor's side may take."""


@dataclass(frozen=True, slots=True)
class EditorWorkflow:
    """The text of a workflow as the editor has it, saved or not, and what surrounds it.

    ``name`` is what the journal calls it; ``path`` what its settings go by, ``file`` where it lies (None: nowhere yet).
    ``analysis`` is what the editor knows of this text.
    """

    name: str
    text: str
    path: str | None = None
    file: Path | None = None
    provider: Provider | None = None
    config: Config | None = None
    fence: DiagramFence | None = None
    analysis: Analysis | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A run to begin, or with ``resume`` one to continue; ``from_node``, ``from_run``, ``set_outputs``, ``reuse`` as in
    `RunOptions`.
    """

    ticket: Ticket
    workflow: EditorWorkflow | None = None
    resume: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict, repr=False)
    model: str | None = None
    from_node: str | None = None
    from_run: str | None = None
    takes_over: bool = False
    """Whether results of an earlier run are reused: of ``from_run``, or of the last one of the workflow."""
    set_outputs: Mapping[str, Any] = field(default_factory=dict, repr=False)
    reuse: Reuse | None = None
    budget: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = False
    no_store: bool = False
    refine: Mapping[str, Any] | None = None
    """As in `RunOptions`."""


@dataclass(frozen=True, slots=True)
class Hears:
    """Who hears of a run: ``begun`` is called with its id and its workflow's name in the thread of the jobs, ``deliver`` with
    its events in ``loop``.
    """

    begun: Callable[[str, str], None]
    loop: asyncio.AbstractEventLoop
    deliver: Callable[[list[dict[str, Any]]], None]


@dataclass(frozen=True, slots=True)
class RevisionOrder:
    """A workflow that a run is to continue as: ``workflow``, or that of its own revision ``number`` (0: as it began)."""

    run: str
    workflow: EditorWorkflow | None = None
    number: int | None = None


ASKED = {
    "dataset": "dataset",
    "reader": "reader",
    "mapping": "mapping",
    "gold": "gold",
    "golds": "golds",
    "metrics": "metrics",
    "part": "part",
    "limit": "limit",
    "items": "items",
    "metric": "metric",
    "metricOptions": "metric_options",
    "repeat": "repeats",
    "seed": "seed",
    "model": "model",
    "judgeModel": "judge_model",
    "baseUrl": "base_url",
    "concurrency": "concurrency",
    "fresh": "fresh",
    "answers": "answers",
    "person": "person",
    "tools": "tools",
    "fakeTools": "fake_tools",
    "gates": "gates",
    "recipes": "recipes",
}
"""What editors say about an evaluation, by their names for it: the fields of `Asked`."""


@dataclass(frozen=True, slots=True)
class EvaluationOrder:
    """An evaluation to make ready, or with ``resume`` one to go on with; ``asked`` are fields of `Asked` by name."""

    ticket: Ticket
    workflow: EditorWorkflow | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    resume: str | None = None


@dataclass(frozen=True, slots=True)
class SuggestionOrder:
    """Suggestions to ask for, which have nothing to ``resume``; ``asked`` are fields of
    `merrow_server.suggestions.prepared_suggestions.SuggestionRequest` by name, ``operators`` the mutations of the workspace.
    """

    ticket: Ticket
    workflow: EditorWorkflow
    asked: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    operators: Mapping[str, Any] = field(default_factory=dict)
    resume: None = None


@dataclass(frozen=True, slots=True)
class PlanOrder:
    """Plans to ask for, or with ``resume`` some to go on with; ``asked`` are fields of
    `merrow_server.plans.prepared_plan.PlanRequest` by name.
    """

    ticket: Ticket
    asked: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    resume: str | None = None


@dataclass(frozen=True, slots=True)
class SearchOrder:
    """A search to make ready, or with ``resume`` one to go on with. ``asked`` are fields of `Asked`, ``search`` those of
    `SearchAsked` by name (``bounds`` those of `Bounded`); ``out`` is the folder for its candidates.
    """

    ticket: Ticket
    workflow: EditorWorkflow | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    resume: str | None = None
    search: Mapping[str, Any] = field(default_factory=dict)
    out: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractionOrder:
    """An extraction to make ready, or with ``resume`` one to go on with. ``asked`` are fields of `Asked`, ``settings`` those of
    `ExtractionSettings`, ``files`` those of `ExtractionAsked` beside them, by name.
    """

    ticket: Ticket
    asked: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    resume: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReproductionOrder:
    """A reproduction to make ready, or with ``resume`` one to go on with, whose ``budget`` is then another."""

    ticket: Ticket
    request: ReproductionRequest | None = None
    resume: str | None = None
    budget: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CasesOrder:
    """Cases to carry out: those of ``ids`` (None: all) of the cases file at ``path``, whose text is ``text``."""

    ticket: Ticket
    path: Path
    text: str
    workflow: EditorWorkflow
    files: Provider
    ids: tuple[str, ...] | None = None
    record: bool = False
    model: str | None = None
    base_url: str | None = None


class EditorFiles:
    """The files beside a workflow, read on the editor's side, which knows which of them are open and not saved yet."""

    def __init__(self, provider: Provider, loop: asyncio.AbstractEventLoop) -> None:
        """``loop`` is the one that ``provider`` belongs to; everything here is for other threads."""
        self._provider = provider
        self._loop = loop

    def read(self, path: str) -> str:
        """The text of the file. Raises `ResourceError`."""

        async def look() -> str:
            return self._provider.read(path)

        try:
            return asyncio.run_coroutine_threadsafe(look(), self._loop).result(_PATIENCE)
        except (RuntimeError, TimeoutError, concurrent.futures.CancelledError):
            raise ResourceError(f"{path} can't be read: the language server is ending.") from None

    def exists(self, path: str) -> bool:
        """Whether there is such a file that may be read."""

        async def look() -> bool:
            return self._provider.exists(path)

        try:
            return asyncio.run_coroutine_threadsafe(look(), self._loop).result(_PATIENCE)
        except (RuntimeError, TimeoutError, concurrent.futures.CancelledError):
            return False
