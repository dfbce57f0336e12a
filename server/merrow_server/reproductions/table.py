"""The table of a reproduction as plain data: ours beside the paper's, the difference with its interval, a verdict and reasons."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from merrow_optimizer.reproducing.papers import Paper, Row, decimals, read_paper
from merrow_runtime.jobs.life import state_of
from merrow_runtime.models.offline import OFFLINE_MODEL
from merrow_runtime.store.database import Store
from merrow_runtime.store.jobs import JobRecord
from merrow_runtime.usage import NOTHING, Usage
from merrow_server.reproductions.carrying import rows_kept
from merrow_server.reproductions.houses import other_games
from merrow_server.reproductions.readiness import other_data
from merrow_server.reproductions.request import (
    ReproductionRequest,
    asked_models,
    chosen_rows,
    has_own_tasks,
    same_models,
)

Json = dict[str, Any]
Kept = Mapping[str, Mapping[str, Any]]
INSIDE, OUTSIDE, NOT_COMPARABLE, LOOK = "inside", "outside", "not comparable", "LOOK"


def reproduction_object(user: Store, record: JobRecord) -> Json:
    """A reproduction of the journal: its state, what it has used, and its table."""
    request = ReproductionRequest.from_json(record.plan["asked"])
    paper = read_paper(request.paper)
    kept = rows_kept(user, record.id)
    rows = [_row(paper, row, request, kept) for row in chosen_rows(paper, request)]
    return {
        "reproduction": record.id,
        "status": state_of(user, record),
        "started": record.started,
        "seconds": record.seconds,
        "error": record.error,
        "paper": paper.name,
        "title": paper.title,
        "at": paper.at,
        "endpoint": record.plan["origin"],
        "look": request.is_look,
        "simulated": request.simulate,
        "named": list(request.rows),
        "usage": _used(kept).to_json(),
        "rows": rows,
    }


def _used(kept: Kept) -> Usage:
    """What all jobs of rows have used; one that several share counts once."""
    jobs: dict[str, Usage] = {}
    for one in kept.values():
        for job, said in one.get("used", {}).items():
            usage = Usage.from_json(said)
            # A row that was kept before another one went on with the job has less of it.
            jobs[job] = max(usage, jobs.get(job, NOTHING), key=lambda each: each.calls)
    return sum(jobs.values(), NOTHING)


def all_ended(shown: Mapping[str, Any]) -> bool:
    """Whether the rows that were asked for have ended: where none is named, all that could be run; at least one."""
    rows = [row for row in shown["rows"] if row["status"] != "paper only"]
    wanted = rows if shown["named"] else [row for row in rows if row["status"] != "not run"]
    return bool(wanted) and all(row["status"] == "ended" for row in wanted)


def _row(paper: Paper, row: Row, request: ReproductionRequest, kept: Kept) -> Json:
    came = _came(paper, row, request, kept)
    ours = _ours(row, came)
    is_own = not row.is_other and has_own_tasks(paper, row, request) and not (row.average_of and ours is None)
    figure = None if request.simulate or is_own or row.figure is None else float(row.figure)
    difference = None if figure is None or ours is None else _difference(row, ours, figure)
    reasons = [] if row.is_other else list(_reasons(row, request, came))
    return {
        "row": row.id,
        "table": row.table,
        "system": row.system,
        "column": row.column,
        "unit": row.unit,
        "status": "paper only" if row.is_other else came["status"],
        "why": came.get("why"),
        "ours": ours,
        "paper": None if request.simulate or is_own else row.figure,
        "paper_cost": None if request.simulate else row.cost,
        "difference": difference,
        "verdict": _verdict(row, request, came, difference),
        "reasons": reasons,
        "model": OFFLINE_MODEL if request.simulate and came.get("model") else came.get("model"),
        "at": came.get("at"),
        "usage": _of_row(came).to_json() if came.get("used") else None,
        "jobs": list(came.get("used", ())),
    }


def _came(paper: Paper, row: Row, request: ReproductionRequest, kept: Kept) -> Mapping[str, Any]:
    """What came of a row; an average is of what came of its parts."""
    if row.is_other:
        return {"status": "paper only"}
    if not row.average_of or row.id in kept:
        return kept.get(row.id, {"status": "not begun"})
    parts = [kept.get(one, {"status": "not begun"}) for one in row.average_of]
    lacking = [one for one, part in zip(row.average_of, parts, strict=True) if part.get("score") is None]
    if lacking:
        why = f"It is an average, and {', '.join(lacking)} {'has' if len(lacking) == 1 else 'have'} no figure."
        return {"status": "not run", "why": why}
    halves = [(part["interval"][1] - part["interval"][0]) / 2 for part in parts]
    mean = math.fsum(part["score"] for part in parts) / len(parts)
    half = math.sqrt(math.fsum(one * one for one in halves)) / len(parts)
    return {
        "status": "ended",
        "score": mean,
        "interval": [max(0.0, mean - half), min(1.0, mean + half)],
        "items": sum(part["items"] for part in parts),
        "repeats": min(part["repeats"] for part in parts),
        "left_out": sum(part["left_out"] for part in parts),
        "model": parts[0]["model"],
        "at": max(part["at"] for part in parts),
        "parts": [_parts_reasons(paper.rows[one], request) for one in row.average_of],
    }


def _of_row(came: Mapping[str, Any]) -> Usage:
    return sum(map(Usage.from_json, came["used"].values()), NOTHING)


def _parts_reasons(row: Row, request: ReproductionRequest) -> list[str]:
    own = [row.data] if row.own_tasks else []
    return [] if row.is_other else [*own, *other_data(row, request)]


def _ours(row: Row, came: Mapping[str, Any]) -> Json | None:
    """Our figure in the unit of the row, with its interval where it has one, and what it is the mean of."""
    interval: list[float] | None = None
    if row.measure == "seconds":
        value = (came.get("answer_seconds") or {}).get("mean")
    elif row.measure != "score":
        value = came.get(row.measure)
    else:
        score, ends = came.get("score"), came.get("interval")
        value = None if score is None else 100 * score
        interval = None if ends is None else [100 * one for one in ends]
    if value is None:
        return None
    return {"value": value, "interval": interval, "items": came["items"], "repeats": came["repeats"]}


def _difference(row: Row, ours: Mapping[str, Any], figure: float) -> Json:
    """Ours less the paper's. Its interval is ours, wider by half of the paper's last digit, which is rounded."""
    assert row.figure is not None  # noqa: S101 (it is the figure)
    slack = 0.5 / math.pow(10, decimals(row.figure))
    ends = ours["interval"]
    interval = None if ends is None else [ends[0] - figure - slack, ends[1] - figure + slack]
    return {"value": ours["value"] - figure, "interval": interval}


def _verdict(
    row: Row, request: ReproductionRequest, came: Mapping[str, Any], difference: Mapping[str, Any] | None
) -> str | None:
    if row.is_other or came["status"] != "ended" or request.simulate:
        return None
    if request.is_look:
        return LOOK
    if difference is None or difference["interval"] is None or any(_hindrances(row, request, came)):
        return NOT_COMPARABLE
    low, high = difference["interval"]
    return INSIDE if low <= 0 <= high else OUTSIDE


def _hindrances(row: Row, request: ReproductionRequest, came: Mapping[str, Any]) -> Iterator[str]:
    """Why a figure that we have can't be compared with the paper's."""
    if row.own_tasks and request.recipes is not None:
        yield (
            f"The recipes are those of {request.recipes}; the tasks are drawn by Merrow, since the paper does not say which its"
            " are."
        )
    elif row.not_comparable:
        yield row.not_comparable
    if row.unknown:
        yield row.unknown
    if row.environment and (other := other_games(row, came.get("items"))):
        yield other
    if not same_models(row, request):
        named = ", ".join(f"{role} {request.model(row, role)}" for role in asked_models(row))
        yield f"The models differ from the paper's: {named}."
    if other_data(row, request) or any(came.get("parts", ())):
        yield "The data are not the published file."
    if came.get("left_out"):
        yield f"{came['left_out']} answers are missing from the score because of an endpoint or the data."


def _reasons(row: Row, request: ReproductionRequest, came: Mapping[str, Any]) -> Iterator[str]:
    if came["status"] != "ended":
        if came.get("why"):
            yield str(came["why"])
        return
    if request.simulate:
        if row.extract is not None:
            yield "The embedded model extracts no operators: the search has the built-in ones."
        return
    yield from _hindrances(row, request, came)
    yield from row.differs


def reasons_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The reasons of a table, each with the rows that it is of."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for reason in row["reasons"]:
            found.setdefault(reason, []).append(row["row"])
    return found
