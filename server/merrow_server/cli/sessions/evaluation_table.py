"""Tables of evaluations: workflows, models, memories, refinement, each cell an evaluation of its own on the same items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from merrow_optimizer.evaluation.data.names import data_name
from merrow_optimizer.evaluation.plan import forecast
from merrow_optimizer.evaluation.statistics.paired import holm, p_text
from merrow_optimizer.evaluation.variants import memory_of, with_memory
from merrow_runtime.program.loading import load
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.workflow import Workflow
from merrow_server.cli import OK
from merrow_server.cli.sessions.evaluation import begun, watch
from merrow_server.cli.texts.evaluations import forecast_text
from merrow_server.errors import InputError
from merrow_server.evaluations.evaluation_data import comparison, evaluation_object
from merrow_server.evaluations.evaluation_request import EvaluationRequest
from merrow_server.evaluations.masking import expected_text, published_lines
from merrow_server.evaluations.prepared_evaluation import forecast_json, prepare
from merrow_server.evaluations.stand_ins import stand_ins_mark, stand_ins_shown, stand_ins_text
from merrow_server.evaluations.updates import seconds_text, updates_of
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import cells, visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.reports.run_report import cost_text

if TYPE_CHECKING:
    from merrow_server.workers.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Cell:
    """One evaluation of a table; ``model``, ``memory`` and ``refine`` are None where the workflow's own are meant."""

    file: str
    model: str | None
    memory: str | None
    refine: bool | None = None

    def workflow(self) -> Workflow:
        """The workflow, with the memory. Raises `UsageFailure`."""
        workflow = load(self.file)
        return workflow if self.memory is None else with_memory(workflow, self.memory)

    @property
    def name(self) -> str:
        """What tells it from the others."""
        refined = None if self.refine is None else "with refinement" if self.refine else "without refinement"
        parts = (self.file, self.model, self.memory and f"memory {self.memory}", refined)
        return ", ".join(part for part in parts if part)


def cells_of(
    files: Sequence[str], models: str | None, memories: str | None, refined: Sequence[bool | None] = (None,)
) -> list[Cell]:
    """Every workflow with every model and every memory, in the order that they were named in, each as ``refined`` says. Raises
    `InputError`, `UsageFailure`.
    """
    named = [_listed(listed, option) for listed, option in ((models, "--models"), (memories, "--memory"))]
    for memory in named[1]:
        if memory is not None:
            memory_of(memory)
    several = [Cell(*values) for values in product(dict.fromkeys(files), *named)]
    return [replace(cell, refine=refine) for cell in several for refine in refined]


def _listed(listed: str | None, option: str) -> list[str | None]:
    if listed is None:
        return [None]
    values = list(dict.fromkeys(part.strip() for part in listed.split(",") if part.strip()))
    if not values:
        raise InputError(f"{option} names nothing; write names with commas between them.")
    return list(values)


async def dry_run(user: Store, table: Sequence[Cell], asked: EvaluationRequest, *, as_json: bool) -> None:
    """Print what each cell may cost."""
    shown: list[dict[str, Any]] = []
    for cell in table:
        prepared = await prepare(cell.workflow(), _asked(asked, cell), user)
        try:
            if as_json:
                shown.append({**_named(cell), **forecast_json(user, prepared)})
            else:
                data = prepared.data
                text = forecast_text(forecast(prepared.plan, user.evaluations.known), data_name(data.file), data.part)
                echo(f"{visible(cell.name)}: {text}")
        finally:
            await prepared.close()
    if as_json:
        emit(json.dumps({"cells": shown}, indent=2))
    else:
        echo("No call was made.")


async def carry_out(
    user: Store, table: Sequence[Cell], asked: EvaluationRequest, *, as_json: bool, cluster: Cluster | None = None
) -> int:
    """Evaluate cell after cell and print the table; the exit code, that of the first cell which stopped before its end. What
    is finished is kept, and not paid again when the same table is asked for.
    """
    records: list[EvaluationRecord] = []
    for cell in table:
        echo(style(visible(cell.name), bold=True), err=True)
        prepared = await prepare(cell.workflow(), _asked(asked, cell), user)
        record = begun(user, prepared)
        code = await watch(user, record, prepared, cluster)
        if code != OK:
            return code
        records.append(user.evaluations.get(record.id))
    rows = list(_rows(user, table, records))
    if as_json:
        emit(json.dumps({"cells": rows}, indent=2))
    else:
        for line in _lines(rows):
            echo(line)
    return OK


def _asked(asked: EvaluationRequest, cell: Cell) -> EvaluationRequest:
    refine = asked.refine if cell.refine is None else {**(asked.refine or {}), **({} if cell.refine else {"max": 0})}
    return replace(asked, model=cell.model or asked.model, refine=refine)


def _named(cell: Cell) -> dict[str, Any]:
    refined = {} if cell.refine is None else {"refine": cell.refine}
    return {"workflow": cell.file, "model": cell.model, "memory": cell.memory, **refined}


def _rows(user: Store, table: Sequence[Cell], records: Sequence[EvaluationRecord]) -> Iterator[dict[str, Any]]:
    scores = [user.evaluations.scores(other.id) for other in records]
    objects = [
        {**evaluation_object(user, other, each), **updates_of(user, other, each)}
        for other, each in zip(records, scores, strict=True)
    ]
    compared = [comparison(user, records[0], other).to_json() for other in records[1:]]
    # Several are compared with one: without a correction one of them would seem to differ by chance too often.
    tested = [pair for pair in compared if pair["items"]]
    for pair, p in zip(tested, holm([pair["p"] for pair in tested]), strict=True):
        pair["p_holm"] = p
    points = [(evaluation["score"], evaluation["usage"]["cost_usd"]) for evaluation in objects]
    for number, (cell, record, shown) in enumerate(zip(table, records, objects, strict=True)):
        difference = None if number == 0 else compared[number - 1]
        yield {
            **_named(cell),
            "model": shown["model"],
            "evaluation": record.id,
            "score": shown["score"],
            "interval": shown["interval"],
            "counted": shown["counted"],
            "usage": shown["usage"],
            "answer_seconds": shown["answer_seconds"],
            "exhausted": shown["exhausted"],
            **({"updates": shown["updates"]} if "updates" in shown else {}),
            **({"masking": shown["masking"]} if "masking" in shown else {}),
            **stand_ins_shown(shown),
            "difference": difference,
            "is_on_front": _is_on_front(number, points),
        }


def _is_on_front(number: int, points: Sequence[tuple[float | None, float | None]]) -> bool:
    """Whether no other cell has a better score for no more money, or the same score for less; False where one of both is not
    known.
    """
    score, cost = points[number]
    if score is None or cost is None:
        return False
    others = [(other, paid) for other, paid in points if other is not None and paid is not None]
    return not any(other >= score and paid <= cost and (other, paid) != (score, cost) for other, paid in others)


def _distinct(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _figures_of_refining(row: Mapping[str, Any]) -> list[str]:
    """Calls, the time of an answer, and how many of the tasks of a run changed."""
    updates = row.get("updates")
    changed = "" if updates is None else f"{updates['changed']:.1f} of {updates['initial']}"
    if updates is not None and updates["ratio"] is not None:
        changed += f" ({updates['ratio']:.0%})"
    return [f"{row['usage']['calls']:,}", seconds_text(row["answer_seconds"]), changed]


def _lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    refined, masked = any("refine" in row for row in rows), any("masking" in row for row in rows)
    stopped = any(row["exhausted"] for row in rows)
    heads = [
        "WORKFLOW",
        "MODEL",
        "MEMORY",
        *(["REFINED"] if refined else []),
        "SCORE",
        *(["EXPECTED"] if masked else []),
    ]
    heads += [
        *(["LOOPS STOPPED"] if stopped else []),
        "DIFFERENCE",
        *(["CALLS", "SECONDS", "TASKS CHANGED"] if refined else []),
        "PROMPT TOKENS",
        "COST",
        "EVALUATION",
    ]
    shown = [heads]
    for row in rows:
        found, score = row["difference"], row["score"]
        scored, difference = "no score", ""
        if score is not None:
            low, high = row["interval"]
            scored = f"{score:.3f} [{low:.3f}, {high:.3f}]"
        scored += stand_ins_mark(row)
        if found is not None and found["items"]:
            lower, upper = found["interval"]
            difference = f"{found['difference']:+.3f} [{lower:+.3f}, {upper:+.3f}], {p_text(found['p_holm'])}"
        shown.append(
            [
                visible(row["workflow"]),
                visible(row["model"]),
                row["memory"] or "its own",
                *(["yes" if row["refine"] else "no"] if refined else []),
                scored,
                *([expected_text(row["masking"])] if masked else []),
                *([f"in {counted(row['exhausted'], 'answer')}" if row["exhausted"] else ""] if stopped else []),
                difference,
                *(_figures_of_refining(row) if refined else []),
                f"{row['usage']['prompt_tokens']:,}",
                cost_text(row["usage"]) + (" *" if row["is_on_front"] else ""),
                row["evaluation"],
            ]
        )
    widths = [max(cells(line[column]) for line in shown) for column in range(len(heads))]
    for number, line in enumerate(shown):
        text = "  ".join(
            value + " " * (width - cells(value)) for value, width in zip(line, widths, strict=True)
        ).rstrip()
        yield style(text, bold=True) if number == 0 else text
    several = sum(row["difference"] is not None for row in rows) > 1
    found = [row["difference"] for row in rows if row["difference"] is not None and row["difference"]["items"]]
    yield "Differences are to the first row, on the items that both scored, with 95 % intervals" + (
        f" ({_distinct(one['interval_method'] for one in found)}) and an exact p ({_distinct(one['test'] for one in found)}"
        + ("), by Holm's method for several tests." if several else ").")
        if found
        else " and p."
    )
    yield from filter(None, dict.fromkeys(visible(stand_ins_text(row)) for row in rows))
    if refined:
        yield "SECONDS is the mean time of an answer ± its standard deviation."
    if masked:
        rate = rows[0]["masking"]["rate"]
        yield f"Each result was passed on as `none` with probability {rate:g}. EXPECTED is the score of a workflow that is right"
        yield "exactly where nothing masked is left."
        if refined:
            yield from published_lines()
    if any(row["is_on_front"] for row in rows):
        yield "* No other row has a better score for no more money."
