"""A paper as its TOML file has it: the rows of its tables, each with what is done for it and the figure that the paper prints.

A file has blocks (a table), which have columns and systems; a row is a system in a column. What a block says holds for its rows,
a column says more, and a system has the last word; only ``differs`` of both are put together.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal

from merrow_optimizer.evaluation.data.names import is_shipped

PAPERS = ("mermaidflow", "flow", "a2flow")
Measure = Literal["score", "seconds", "initial", "changed", "ratio"]
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Extracting:
    """Operators are extracted first: without these stages; or those of the row ``of`` are used."""

    without: tuple[str, ...] = ()
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Searching:
    """A workflow is searched for: in ``rounds`` rounds, with these constants. The row has the ``best``-th one. ``of`` is a row
    whose search is used.
    """

    strategy: str = "evolve"
    proposer: str = "model"
    rounds: int = 20
    constants: Mapping[str, float] = field(default_factory=dict)
    best: int = 1
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Planning:
    """A workflow is planned for each item: of so many ``candidates`` the first by ``rank``; or those of ``of`` are used."""

    candidates: int = 10
    rank: str = "paper"
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        id: of its own in its paper.
        table: the table, ``system`` and ``column`` are its row and column there.
        data: the data set, by the beginning of its name; "" where the row needs none.
        part: which part of it is scored.
        items: ids of items, or their beginnings with a ``*``; empty for all.
        workflow: the file of a workflow in this package; None where it is planned.
        models: by role: ``exec``, ``optimizer``, ``judge``, ``generator``.
        repeats: how often each item is answered.
        measure: what the figure is, its unit is ``unit``.
        figure: what the paper prints, as text with all its digits; None where our sources don't have it, and ``unknown`` says so.
        cost: what it says that it cost, in US dollars.
        differs: why our figure may differ.
        average_of: rows whose mean it is.
        evaluation_of: a row whose answers it measures.
        is_other: whether it is another system's: the paper's figure alone.
        not_run: why it is not run, "" where it can be.
        only_named: why it is run only where it is named.
        not_comparable: why its figure can't be compared.
        environment: what its tasks are played in, where that is not part of Merrow.
        own_tasks: whether its tasks are Merrow's own, so that the paper's figure is of others.
    """

    id: str
    table: str
    system: str
    column: str
    data: str = ""
    part: str = "test"
    items: tuple[str, ...] = ()
    workflow: str | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    repeats: int = 1
    temperature: float | None = None
    extract: Extracting | None = None
    search: Searching | None = None
    plan: Planning | None = None
    memory: str | None = None
    refine: Mapping[str, Any] | None = None
    mask: float | None = None
    measure: Measure = "score"
    unit: str = "%"
    figure: str | None = None
    unknown: str = ""
    cost: str | None = None
    differs: tuple[str, ...] = ()
    average_of: tuple[str, ...] = ()
    evaluation_of: str | None = None
    is_other: bool = False
    not_run: str = ""
    only_named: str = ""
    not_comparable: str = ""
    environment: str = ""
    own_tasks: bool = False

    @property
    def is_derived(self) -> bool:
        """Whether it makes no call of its own: it is another system's, an average, or another row's answers."""
        return self.is_other or bool(self.average_of) or self.evaluation_of is not None

    @property
    def is_shipped(self) -> bool:
        """Whether its data come with Merrow: one file, which has all parts."""
        return is_shipped(self.data)

    @property
    def needs(self) -> tuple[str, ...]:
        """The rows that it is made of."""
        parts = [*self.average_of, self.evaluation_of]
        parts += [part.of for part in (self.extract, self.search, self.plan) if part is not None]
        return tuple(part for part in parts if part is not None)

    @property
    def sets(self) -> tuple[str, ...]:
        """The data sets that it reads, by name."""
        if not self.data or self.is_derived:
            return ()
        if self.is_shipped:
            return (self.data,)
        also = self.search is not None or self.extract is not None
        return tuple(dict.fromkeys([*([f"{self.data}_validate"] if also else []), f"{self.data}_{self.part}"]))


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its rows in the order of its tables, its graphs by name, and what can be checked without a model."""

    name: str
    title: str
    at: str
    rows: Mapping[str, Row]
    graphs: Mapping[str, tuple[tuple[str, str], ...]]
    checks: tuple[Json, ...]


@cache
def read_paper(name: str) -> Paper:
    """The paper of this name, one of `PAPERS`."""
    return paper_of(name, files(__package__).joinpath("papers", f"{name}.toml").read_text(encoding="utf-8"))


def paper_of(name: str, text: str) -> Paper:
    """A paper from the text of its file."""
    read = tomllib.loads(text)
    rows = {row.id: row for block in read["block"] for row in _rows(block)}
    graphs = {graph: tuple((edge[0], edge[1]) for edge in edges) for graph, edges in read.get("graphs", {}).items()}
    return Paper(name, read["title"], read["at"], rows, graphs, tuple(read.get("exact", ())))


def workflow_file(name: str) -> Path:
    """The file of a workflow of this package."""
    with as_file(files(__package__).joinpath("workflows", f"{name}.mmd")) as path:
        return path


_OWN = {
    "id",
    "name",
    "columns",
    "system",
    "figures",
    "costs",
    "other",
    "form",
    "model",
    "extract",
    "search",
    "plan",
    "differs",
}


def _rows(block: Json) -> Iterator[Row]:
    for system in block["system"]:
        for column in block["columns"]:
            if not system.get("other") or column["id"] in system["figures"]:
                yield _row(block, column, system)


def _row(block: Json, column: Json, system: Json) -> Row:
    settings = {**block, **column, **system}
    names = {"column": column["id"], "form": settings.get("form", "")}
    plain = {key: value for key, value in settings.items() if key not in _OWN}
    is_average = "average_of" in column
    if is_average:
        parts = [
            averaged for averaged in column["average_of"] if not system.get("other") or averaged in system["figures"]
        ]
        plain["average_of"] = tuple(f"{system['id']}-{averaged}" for averaged in parts)
    for key in ("workflow", "evaluation_of"):
        if key in plain:
            plain[key] = None if is_average else plain[key].format(**names)
    if "items" in plain:
        plain["items"] = tuple(plain["items"])
    models = {**settings.get("models", {}), **({"exec": column["model"]} if "model" in column else {})}
    return Row(
        **{
            **plain,
            "id": f"{system['id']}-{column['id']}",
            "system": system["name"],
            "column": column["id"],
            "models": models,
            "extract": None if is_average else _extracting(settings.get("extract"), names),
            "search": None if is_average else _searching(settings.get("search"), names),
            "plan": None if is_average else _planning(settings.get("plan"), names),
            "figure": system.get("figures", {}).get(column["id"]),
            "unknown": "" if column["id"] in system.get("figures", {}) else settings.get("unknown", ""),
            "cost": system.get("costs", {}).get(column["id"]),
            "differs": tuple(dict.fromkeys([*block.get("differs", ()), *system.get("differs", ())])),
            "is_other": bool(system.get("other")),
        }
    )


def _extracting(settings: Json | None, names: Mapping[str, str]) -> Extracting | None:
    return None if settings is None else Extracting(tuple(settings.get("without", ())), _of(settings, names))


def _searching(settings: Json | None, names: Mapping[str, str]) -> Searching | None:
    if settings is None:
        return None
    given = {key: value for key, value in settings.items() if key not in ("set", "of")}
    return Searching(**given, constants=settings.get("set", {}), of=_of(settings, names))


def _planning(settings: Json | None, names: Mapping[str, str]) -> Planning | None:
    if settings is None:
        return None
    return Planning(**{**settings, "of": _of(settings, names)})


def _of(settings: Json, names: Mapping[str, str]) -> str | None:
    return settings["of"].format(**names) if "of" in settings else None


def decimals(text: str) -> int:
    """How many digits a printed number has behind its point."""
    exponent = Decimal(text).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
