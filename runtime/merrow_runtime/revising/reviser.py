"""Who thinks about the graph of a run while it goes on, as the run sees it: `merrow_optimizer.revising` has the model that
does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from merrow_analysis.definitions.settings import Refine
from merrow_runtime.requests import AnswerSchema, Message
from merrow_runtime.workflow import Workflow

T = TypeVar("T")


class CannotReviseError(Exception):
    """A change that can't be made; ``str()`` of it is a sentence for whoever wanted it."""


@dataclass(frozen=True, slots=True)
class RevisedWorkflow:
    """A workflow after a change. ``renamed`` has the old ids of nodes that were renamed, by the new ones; ``bypassed`` are the
    nodes that were taken out because they can't be done.
    """

    text: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    bypassed: tuple[str, ...] = ()


class ProposedChanges(Protocol):
    """What a reviser wants to change, without the graph that it is changed in."""

    @property
    def reason(self) -> str:
        """Why, in its words."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be changed."""
        ...

    @property
    def candidates(self) -> Sequence[Mapping[str, Any]]:
        """The figures of all answers among which these changes were chosen, as plain data; empty if there was one answer."""
        ...

    def on(self, workflow: Workflow, most: int) -> RevisedWorkflow:
        """A workflow of at most so many nodes after these changes. Raises `CannotReviseError`."""
        ...


class RevisionAsker(Protocol):
    """Asks the reviser's model; each answer is in the journal before it is used, and found there again."""

    async def ask(
        self,
        step: str,
        messages: Sequence[Message],
        read: Callable[[str], T],
        *,
        schema: AnswerSchema | None = None,
        temperature: float | None = None,
    ) -> T:
        """What ``read`` makes of the answer; it raises `AnswerFailure` where it can't. Raises `RunFailure`."""
        ...


class Reviser(Protocol):
    """Thinks about the graph of a run."""

    async def revise(
        self, view: Mapping[str, Any], workflow: Workflow, refine: Refine, asker: RevisionAsker
    ) -> ProposedChanges:
        """What is to be changed in a workflow, of which ``view`` shows how its run stands. Raises `CannotReviseError`,
        `RunFailure`.
        """
        ...


def refining(in_file: Refine | None, given: Mapping[str, Any] | None) -> Refine | None:
    """When and how a model revises: what the workflow says, with what is given for this run; None where it does not."""
    if in_file is None and given is None:
        return None
    base = in_file or Refine()
    refine = replace(base, **(given or {}))
    refine = replace(refine, on=tuple(refine.on))
    return refine if refine.max > 0 else None
