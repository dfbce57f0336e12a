"""Evaluations as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.statistics.agreement import agreement
from merrow_optimizer.evaluation.summary import COUNTED, Comparison, Summary, compared, summary_of
from merrow_runtime.errors import StoreFailure
from merrow_runtime.jobs.life import state_of
from merrow_runtime.models.dialects import Dialect
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord, ScoreRecord, output_of
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_runtime.store.labels import AnswerLabel
from merrow_runtime.store.optimizations import OptimizationRecord
from merrow_runtime.values import as_text
from merrow_server.evaluations.journals import jobs_of
from merrow_server.evaluations.simulated_people import person_mark, person_shown
from merrow_server.evaluations.updates import seconds_of, updates_of
from merrow_server.rendering.counts import counted

_GOOD = 0.5
"""The score from which a metric is taken to call an answer good."""

_ORDER = (Status.FAILED, Status.WRONG, Status.INVALID, Status.UNANSWERED, Status.RIGHT)
"""In which order items are listed: failures first."""


def summary(record: EvaluationRecord, scores: Sequence[ScoreRecord]) -> Summary:
    """The summary of an evaluation with the scores that it has."""
    return summary_of(scores, int(record.plan.get("items", 0)), record.repeats)


def evaluation_object(user: Store, record: EvaluationRecord, scores: Sequence[ScoreRecord]) -> dict[str, Any]:
    """An evaluation in a list: what it was of, how it ended, its score."""
    return {
        "evaluation": record.id,
        "workflow": record.workflow,
        "status": state_of(user, record),
        "started": record.started,
        "seconds": record.seconds,
        "error": record.error,
        "dataset": record.plan["asked"]["dataset"],
        "dataset_hash": record.dataset,
        "part": record.part,
        "held_out": record.plan["held_out"],
        "metric": record.metric,
        "model": record.model,
        "endpoint": ", ".join(origins_of(record)),
        "seed": record.seed,
        "repeats": record.repeats,
        **({"masking": record.plan["masking"]} if "masking" in record.plan else {}),
        **person_shown(record.plan),
        "answer_seconds": seconds_of(scores),
        **({"refused": refused} if (refused := _refused(user, record)) else {}),
        **summary(record, scores).to_json(),
    }


def _refused(user: Store, record: EvaluationRecord) -> dict[str, list[str]]:
    """The parameters that an endpoint which answered has refused, by model."""
    refused: dict[str, list[str]] = {}
    for model in record.model.split(", "):
        learned = (user.dialects.get(origin, model) for origin in origins_of(record))
        names = {name for dialect in learned for name in Dialect.from_json(dialect).refused}
        if names:
            refused[model] = sorted(names)
    return refused


def origins_of(record: EvaluationRecord | OptimizationRecord | ExtractionRecord) -> tuple[str, ...]:
    """The endpoints that answered an evaluation, a search or an extraction, each once."""
    return tuple(dict.fromkeys(record.plan.get("origins", [record.plan["origin"]])))


def evaluation_report(
    user: Store, record: EvaluationRecord, *, whole: bool = False, longest: int | None = None
) -> dict[str, Any]:
    """An evaluation with all of its items, failures first, in the order of the data; each has its inputs, cut as by
    `with_inputs`, and where ``whole`` its answer.
    """
    scores = user.evaluations.scores(record.id, outputs=whole)
    golds = record.plan["golds"]
    places = {item: place for place, item in enumerate(golds)}
    ordered = sorted(
        scores, key=lambda score: (_ORDER.index(Status(score.status)), places.get(score.item, 0), score.repeat)
    )
    shown = with_inputs(user, [item_object(score, golds.get(score.item, "")) for score in ordered], longest)
    if user.labels.edition:
        shown = with_verdicts(user, record, shown)
    people = _agreement(user, record, scores if whole else user.evaluations.scores(record.id, outputs=True))
    return {
        **evaluation_object(user, record, scores),
        **interrupted_calls(user, record.id),
        **people,
        **updates_of(user, record, scores),
        "rows": shown,
    }


def interrupted_calls(user: Store, identity: str) -> dict[str, int]:
    """How many calls of the runs of an evaluation or a search were on their way when its process was killed, as far as its
    journal is there and can be read; nothing where none was.
    """
    count = 0
    with suppress(StoreFailure), user.looking_into(identity) as own:
        count = 0 if own is None or own.is_open_elsewhere else own.interrupted_calls()
    return {"interrupted_calls": count} if count else {}


def _agreement(user: Store, record: EvaluationRecord, scores: Sequence[ScoreRecord]) -> dict[str, Any]:
    """How far people who rated the answers agree with the metric; nothing where nobody did."""
    hashes = record.plan.get("hashes", {})
    if not user.labels.edition or record.metric == "labels":
        return {}
    pairs = []
    for score in scores:
        if score.output is not None and score.status in COUNTED and score.item in hashes:
            verdict = user.labels.get(hashes[score.item], score.output)
            if verdict is not None:
                pairs.append((verdict == "good", (score.value or 0.0) >= _GOOD))
    agreed = agreement(pairs)
    return {} if agreed is None else {"people": asdict(agreed)}


def with_verdicts(user: Store, record: EvaluationRecord, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a report with what people said of each answer as ``verdict``: ``good``, ``bad``, None where nobody said anything,
    and without it where there is no answer to rate; with their ``note`` where they left one.
    """
    hashes = record.plan.get("hashes", {})
    scores = user.evaluations.scores(record.id, outputs=True)
    outputs = {
        (score.item, score.repeat): score.output
        for score in scores
        if score.output is not None and score.item in hashes
    }
    rated = bool(user.labels.edition)
    shown: list[dict[str, Any]] = []
    for row in rows:
        output = outputs.get((row["item"], row["repeat"]))
        if output is None:
            shown.append(dict(row))
            continue
        label = user.labels.label(hashes[row["item"]], output) if rated else None
        shown.append({**row, **label_object(label)})
    return shown


def label_object(label: AnswerLabel | None) -> dict[str, Any]:
    """What a person said of an answer, as plain data."""
    if label is None:
        return {"verdict": None}
    return {"verdict": label.verdict, **({"note": label.note} if label.note else {})}


def with_inputs(user: Store, rows: Sequence[Mapping[str, Any]], longest: int | None = None) -> list[dict[str, Any]]:
    """Rows with what was asked as their first entry, ``inputs``: values by name, or None where it is not known, as for an item
    that had no run or one that no journal has any more. Of each value ``longest`` characters are kept, as text where it is cut.
    """
    given = _inputs(user, {row["run"] for row in rows}, longest)
    return [{"inputs": given.get(row["run"]), **row} for row in rows]


def inputs_text(inputs: Mapping[str, Any] | None) -> str:
    """What was asked, as one text: the value where there is only one."""
    if inputs is None:
        return "unknown"
    return as_text(next(iter(inputs.values())) if len(inputs) == 1 else dict(inputs)) if inputs else ""


def _inputs(user: Store, runs: Set[str], longest: int | None) -> dict[str, Any]:
    """What was given to runs of evaluations, by their ids, as far as the journals are there and can be read."""
    given: dict[str, Any] = {}
    for evaluation in jobs_of(user, [run for run in runs if run]):
        with suppress(StoreFailure), user.looking_into(evaluation) as own:
            if own is not None:
                given |= {run: _cut(inputs, longest) for run, inputs in own.inputs() if run in runs}
    return given


def _cut(inputs: Mapping[str, Any], longest: int | None) -> dict[str, Any]:
    if longest is None:
        return dict(inputs)
    texts = {name: as_text(value) for name, value in inputs.items()}
    return {name: f"{text[:longest]}..." if len(text) > longest else inputs[name] for name, text in texts.items()}


def item_object(score: ScoreRecord, gold: str) -> dict[str, Any]:
    """What one answer came to."""
    shown: dict[str, Any] = {
        "item": score.item,
        "repeat": score.repeat,
        "status": score.status,
        "value": score.value,
        "read": score.read,
        "gold": gold,
        "reason": score.reason,
        "usage": score.usage.to_json(),
        "seconds": score.seconds,
        "run": score.run,
        "exhausted": score.exhausted,
    }
    if score.output is not None:
        shown["output"] = output_of(score.output)
    return shown


def comparison(user: Store, before: EvaluationRecord, after: EvaluationRecord) -> Comparison:
    """Two evaluations compared on the items that both scored, whose inputs and right answers are the same in both."""
    known, now = before.plan.get("hashes", {}), after.plan.get("hashes", {})
    changed = {item for item in known.keys() & now.keys() if known[item] != now[item]}
    return compared(
        [score for score in user.evaluations.scores(before.id) if score.item not in changed],
        user.evaluations.scores(after.id),
        repeats=max(before.repeats, after.repeats),
    )


def other_metrics(before: EvaluationRecord, after: EvaluationRecord) -> str | None:
    """What is to be known of a comparison whose two evaluations have different metrics; None where they don't."""
    if before.metric == after.metric:
        return None
    return (
        f"Evaluation {before.id} was scored by {before.metric}, and {after.id} by {after.metric}, so that the difference may be"
        " that of the metrics."
    )


_OWN_CHOICE = {
    "temperature": "so it answers at its own and repeats may differ",
    "seed": "so its answers can't be repeated",
    "max_tokens": "so answers may be longer",
}


def refused_texts(report: Mapping[str, Any]) -> list[str]:
    """What the endpoint refused, and what that means, in sentences."""
    return [
        f"The endpoint refused `{name}` for {model}, {_OWN_CHOICE[name]}."
        for model, names in report.get("refused", {}).items()
        for name in names
    ]


def score_text(report: Mapping[str, Any]) -> str:
    """The score with its interval, and what it leaves out."""
    if report["score"] is None:
        return f"no score{person_mark(report)}"
    lower, upper = report["interval"]
    items = counted(report["counted"], "item")
    return f"{report['score']:.3f} [{lower:.3f}, {upper:.3f}] on {items}{person_mark(report)}"
