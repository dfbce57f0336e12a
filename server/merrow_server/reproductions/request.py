"""What a person says about a reproduction, and the rows that this means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.reproducing.papers import Paper, Row, read_paper
from merrow_runtime.running.resources import without_user
from merrow_server.errors import InputError

ROLES = ("exec", "optimizer", "judge", "generator")
"""Who is asked: the models that answer, propose, judge, and extract operators."""


@dataclass(frozen=True, slots=True)
class ReproductionRequest:
    """A paper, and how it is reproduced.

    ``rows`` are ids, or beginnings of some with a ``*``; empty for all. ``data`` is the folder with the data, ``out`` the one for
    the files that are made. With ``items`` it is a look: so many items a row, each answered once. ``models`` take the place of
    the paper's, by role. ``simulate`` has the embedded model answer; ``other_data`` takes files that are not the published ones.
    ``recipes`` is the folder whose recipes TextCraft is played with, in the place of Merrow's own.
    """

    paper: str
    rows: tuple[str, ...] = ()
    data: str = "."
    out: str | None = None
    items: int | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    base_url: str | None = None
    concurrency: int | None = None
    simulate: bool = False
    other_data: bool = False
    recipes: str | None = None
    limits: EvaluationLimits = field(default_factory=EvaluationLimits)

    @property
    def is_look(self) -> bool:
        """Whether only a few items are asked for, so that there is no verdict."""
        return self.items is not None

    def repeats(self, row: Row) -> int:
        """How often an item of a row is answered."""
        return 1 if self.is_look else row.repeats

    def model(self, row: Row, role: str) -> str:
        """The model of a row in a role. One that optimises does what no other model is named for."""
        models = {**row.models, **self.models}
        return models.get(role) or models.get("optimizer") or models["exec"]

    def to_json(self) -> dict[str, Any]:
        """As the journal keeps it."""
        kept = asdict(self)
        kept["data"] = str(Path(self.data).absolute())
        kept["out"] = None if self.out is None else str(Path(self.out).absolute())
        kept["recipes"] = None if self.recipes is None else str(Path(self.recipes).absolute())
        kept["base_url"] = None if self.base_url is None else without_user(self.base_url)
        return kept

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> ReproductionRequest:
        """The inverse of `to_json`."""
        return cls(**{**kept, "rows": tuple(kept["rows"]), "limits": EvaluationLimits(**kept["limits"])})


def chosen_rows(paper: Paper, request: ReproductionRequest) -> list[Row]:
    """The rows that are meant, in the order of the paper, with the parts of an average among them. Raises `InputError`."""
    if not request.rows:
        return [row for row in paper.rows.values() if not row.only_named]
    wanted = {id_ for pattern in request.rows for id_ in _named(paper, pattern)}
    for id_ in [*wanted]:
        wanted.update(paper.rows[id_].average_of)
    return [row for row in paper.rows.values() if row.id in wanted]


def _named(paper: Paper, pattern: str) -> Sequence[str]:
    if pattern.endswith("*"):
        matching = [id_ for id_ in paper.rows if id_.startswith(pattern[:-1])]
        if not matching:
            raise InputError(
                f"No row of {paper.name} begins with {pattern[:-1]!r}; merrow reproduce {paper.name} lists them."
            )
        return matching
    if pattern not in paper.rows:
        near = closest(pattern, list(paper.rows))
        hint = f"did you mean {near}?" if near else f"merrow reproduce {paper.name} lists them."
        raise InputError(f"{paper.name} has no row {pattern!r}; {hint}")
    return [pattern]


def check_recipes(request: ReproductionRequest) -> None:
    """Raise `InputError` where the folder of recipes is of no use."""
    from merrow_runtime.environments.textcraft.recipe_files import read_book
    from merrow_runtime.environments.textcraft.recipes import RecipesError

    if request.recipes is None:
        return
    if not any(row.own_tasks for row in read_paper(request.paper).rows.values()):
        raise InputError(f"{request.paper} plays no game, so it needs no recipes.")
    try:
        read_book(Path(request.recipes))
    except RecipesError as problem:
        raise InputError(str(problem)) from None


def models_of(pairs: str | None) -> dict[str, str]:
    """``ROLE=MODEL,ROLE=MODEL`` as models by role. Raises `InputError`."""
    return dict(_pairs(pairs)) if pairs else {}


def _pairs(pairs: str) -> Iterator[tuple[str, str]]:
    for pair in pairs.split(","):
        role, mark, model = (part.strip() for part in pair.partition("="))
        if not mark or not model or role not in ROLES:
            raise InputError(f"--models {pair!r} is not ROLE=MODEL; the roles are {', '.join(ROLES)}.")
        yield role, model


def has_own_tasks(paper: Paper, row: Row, request: ReproductionRequest) -> bool:
    """Whether a row, or a part of an average, is of tasks that Merrow made up, so that the paper's figure is of others."""
    return request.recipes is None and any(paper.rows[one].own_tasks for one in (row.id, *row.average_of))


def same_models(row: Row, request: ReproductionRequest) -> bool:
    """Whether the models that a row asks are the paper's, whatever their release date."""
    return all(_released(request.model(row, role)) == _released(model) for role, model in asked_models(row).items())


def asked_models(row: Row) -> dict[str, str]:
    """The paper's models of a row by role, without those that it does not ask."""
    plans = row.plan is not None or bool((row.refine or {}).get("max"))
    asks = {"exec": True, "optimizer": row.search is not None or plans, "judge": row.search is not None}
    asks["generator"] = row.extract is not None
    return {role: model for role, model in row.models.items() if asks[role]}


def _released(model: str) -> str:
    """A model's name without what follows it of a date: digits and hyphens."""
    head = model.rstrip("0123456789-")
    return head if head and len(model) - len(head) >= 5 else model


def with_limits(request: ReproductionRequest, limits: EvaluationLimits) -> ReproductionRequest:
    """The same with other limits."""
    return replace(request, limits=limits)
