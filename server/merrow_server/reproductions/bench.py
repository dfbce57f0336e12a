"""What the jobs of a row have in common: the bench they all stand on, and what each must be able to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation.data.catalogue import known_sets
from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.reproducing.papers import Paper, Row
from merrow_runtime.errors import RunFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.store.database import Store
from merrow_runtime.usage import Usage
from merrow_server.continuing import ResumeChanges
from merrow_server.evaluations.evaluation_request import EvaluationRequest
from merrow_server.evaluations.prepared_evaluation import Choosing
from merrow_server.reproductions.estimates import Estimate
from merrow_server.reproductions.houses import tasks_file
from merrow_server.reproductions.request import ReproductionRequest


class StepStopped(RunFailure):
    """A step stopped before its end, and can be continued."""


@dataclass(frozen=True)
class Bench:
    """What all steps of a reproduction have: the journal, the paper, what was asked, its id, what changed at a resume, and who
    chooses the endpoint.
    """

    user: Store
    paper: Paper
    request: ReproductionRequest
    identity: str
    changed: ResumeChanges = field(default_factory=ResumeChanges)
    choosing: Choosing = choose

    @property
    def base_url(self) -> str | None:
        """The endpoint that is named."""
        return "offline" if self.request.simulate else self.changed.base_url or self.request.base_url

    def folder(self, row: Row) -> Path:
        """Where files of a row go."""
        return Path(self.request.out or self.identity) / row.id

    def chosen(self) -> ChosenEndpoint:
        """The endpoint, to be closed by the caller. Raises `UsageFailure`."""
        return self.choosing(RunOptions(), self.base_url, (), self.user.dialects)

    def rest(self, left: EvaluationLimits, used: Usage, seconds: float) -> ResumeChanges:
        """What a step that has used this much continues with, where so much is left for it."""
        limits = EvaluationLimits(
            None if left.usd is None else left.usd + (used.cost_usd or 0.0),
            None if left.tokens is None else left.tokens + used.tokens,
            None if left.seconds is None else left.seconds + seconds,
        )
        return replace(self.changed, limits=limits, base_url=self.base_url)


class RowStep(ABC):
    """One job of a row. ``id`` is its id in the journal."""

    def __init__(self, bench: Bench, row: Row, id_: str) -> None:
        self.bench, self.row, self.id = bench, row, id_

    @property
    def user(self) -> Store:
        """The user's journal."""
        return self.bench.user

    @property
    def is_begun(self) -> bool:
        """Whether the journal has it."""
        return self.user.listing.exactly(self.id) is not None

    @property
    def is_done(self) -> bool:
        """Whether it has ended as it should."""
        entry = self.user.listing.exactly(self.id)
        return entry is not None and entry.status == "finished"

    @property
    @abstractmethod
    def used(self) -> Usage:
        """What it has used so far."""

    @abstractmethod
    async def estimate(self) -> Estimate:
        """What it may use; nothing is asked. Raises `RunFailure` where it can't be done."""

    @abstractmethod
    async def work(self, left: EvaluationLimits) -> None:
        """Do it, or continue it, with what is left for it. Raises `StepStopped`, `RunFailure`."""

    def model(self, role: str) -> str:
        """The model in a role."""
        return self.bench.request.model(self.row, role)

    def _asked(self, dataset: str, **more: Any) -> EvaluationRequest:
        request = self.bench.request
        return EvaluationRequest(
            dataset,
            limit=request.items,
            model=self.model("exec"),
            override_models=True,
            base_url=self.bench.base_url,
            concurrency=self.bench.changed.concurrency or request.concurrency,
            recipes=request.recipes if self.row.own_tasks else None,
            **more,
        )

    def _data(self, part: str) -> tuple[str, dict[str, Any]]:
        """The file with a part of the row's data, and how that is read."""
        if self.row.environment:
            file = tasks_file(self.row, Path(self.bench.request.data), part)
            return str(file), {"part": "all", "metric": "reward"}
        if self.row.is_shipped:
            return self.row.data, {"part": part}
        one = known_sets()[f"{self.row.data}_{part}"]
        return str(one.place(Path(self.bench.request.data))), {"reader": one.form}
