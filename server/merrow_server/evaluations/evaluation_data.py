"""Evaluations as plain data."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import Any, Self, overload

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
from merrow_server.evaluations.episodes import episodes_of
from merrow_server.evaluations.journals import jobs_of
from merrow_server.evaluations.known_items import KnownItems
from merrow_server.evaluations.passages import passages_of
from merrow_server.evaluations.stand_ins import stand_ins_mark, stand_ins_shown
from merrow_server.evaluations.updates import seconds_of, updates_of
from merrow_server.rendering.counts import counted

_GOOD = 0.5
"""The score from which a metric is taken to call an answer good."""

_PAGE = 256
"""Rows that are read at once."""

_ORDER = (Status.FAILED, Status.WRONG, Status.INVALID, Status.UNANSWERED, Status.RIGHT)
"""In which order items are listed: failures first."""


def summary(record: EvaluationRecord, scores: Iterable[ScoreRecord]) -> Summary:
    """The summary of an evaluation with the scores that it has."""
    return summary_of(scores, int(record.plan.get("items", 0)), record.repeats, record.plan.get("fields"))


def evaluation_object(user: Store, record: EvaluationRecord, scores: Iterable[ScoreRecord]) -> dict[str, Any]:
    """An evaluation in a list: what it was of, how it ended, its score."""
    seconds = array("d")

    def timed() -> Iterator[ScoreRecord]:
        for score in scores:
            if score.run:
                seconds.append(score.seconds)
            yield score

    summed = summary(record, timed()).to_json()
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
        **stand_ins_shown(record.plan),
        "answer_seconds": seconds_of(seconds),
        **({"refused": refused} if (refused := _refused(user, record)) else {}),
        **summed,
        **({"gates": gates} if (gates := _gates(record, summed)) else {}),
    }


def _gates(record: EvaluationRecord, shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What an evaluation must reach, as it was asked for with it: the ``field`` ("": the whole), the ``least`` score, that which
    it has, and whether it ``passed``; answers that are unanswered or invalid fail all of them.
    """
    gates: Mapping[str, float] = record.plan["asked"].get("gates") or {}
    left_out = sum(shown["answers"].get(name, 0) for name in (Status.UNANSWERED, Status.INVALID))
    listed = []
    for name, least in gates.items():
        score = shown["score"] if name == "" else shown.get("fields", {}).get(name, {}).get("score")
        passed = not left_out and score is not None and score >= least
        listed.append({"field": name, "least": least, "score": score, "passed": passed})
    return listed


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
    """An evaluation with all of its items as ``rows``, failures first, in the order of the data; each has its inputs, cut as by
    `with_inputs`, and where ``whole`` its answer. The rows are read while they are used, as `ReportRows` does.
    """
    known = KnownItems.of(record.plan)
    scores = user.evaluations.scores(record.id)
    return {
        **evaluation_object(user, record, scores),
        **interrupted_calls(user, record.id),
        **_agreement(user, record, known),
        **updates_of(user, record, scores),
        **episodes_of(user, record),
        **passages_of(user, record, scores),
        "rows": ReportRows(user, record, known, whole=whole, longest=longest),
    }


class ReportRows(Sequence[dict[str, Any]]):
    """The rows of a report, which are read a page at a time whenever they are wanted: those of many items would fill the memory.
    What was rated is said where anything was.
    """

    def __init__(
        self, user: Store, record: EvaluationRecord, known: KnownItems, *, whole: bool, longest: int | None
    ) -> None:
        self._user, self._record, self._known = user, record, known
        self._whole, self._longest = whole, longest
        order: list[int] = []
        for number, score in user.evaluations.scores(record.id).numbered():
            # As one number, which needs a third of the memory of several.
            place = known.place(score.item) * record.repeats + score.repeat
            order.append((_ORDER.index(Status(score.status)) << 60 | place) << 64 | number)
        order.sort()
        self._numbers = array("q", (key & (1 << 64) - 1 for key in order))

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with InputReader(self._user, self._record.id) as inputs:
            for start in range(0, len(self._numbers), _PAGE):
                yield from self._read(self._numbers[start : start + _PAGE], inputs)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        numbers = self._numbers[place] if isinstance(place, slice) else self._numbers[place : place + 1 or None]
        with InputReader(self._user, self._record.id) as inputs:
            rows = self._read(numbers, inputs)
        return rows if isinstance(place, slice) else rows[0]

    def _read(self, numbers: Sequence[int], inputs: InputReader) -> list[dict[str, Any]]:
        scores = self._user.evaluations.scored(numbers, outputs=self._whole)
        rows = [item_object(score, self._known) for score in scores]
        shown = inputs.added(rows, self._longest)
        return with_verdicts(self._user, self._record, shown, self._known) if self._user.labels.edition else shown


def interrupted_calls(user: Store, identity: str) -> dict[str, int]:
    """How many calls of the runs of an evaluation or a search were on their way when its process was killed, as far as its
    journal is there and can be read; nothing where none was.
    """
    count = 0
    with suppress(StoreFailure), user.looking_into(identity) as own:
        count = 0 if own is None or own.is_open_elsewhere else own.interrupted_calls()
    return {"interrupted_calls": count} if count else {}


def _agreement(user: Store, record: EvaluationRecord, known: KnownItems) -> dict[str, Any]:
    """How far people who rated the answers agree with the metric; nothing where nobody did."""
    if not user.labels.edition or record.metric == "labels":
        return {}
    pairs = []
    for score in user.evaluations.scores(record.id, outputs=True):
        key = known.hash(score.item)
        if score.output is not None and score.status in COUNTED and key is not None:
            verdict = user.labels.get(key, score.output)
            if verdict is not None:
                pairs.append((verdict == "good", (score.value or 0.0) >= _GOOD))
    agreed = agreement(pairs)
    return {} if agreed is None else {"people": asdict(agreed)}


def with_verdicts(
    user: Store, record: EvaluationRecord, rows: Sequence[Mapping[str, Any]], known: KnownItems
) -> list[dict[str, Any]]:
    """Rows of a report with what people said of each answer as ``verdict``: ``good``, ``bad``, None where nobody said anything,
    and without it where there is no answer to rate; with their ``note`` where they left one.
    """
    rated = bool(user.labels.edition)
    shown: list[dict[str, Any]] = []
    scores = user.evaluations.some(record.id, [(row["item"], row["repeat"]) for row in rows])
    for row, score in zip(rows, scores, strict=True):
        key = known.hash(row["item"])
        if score is None or score.output is None or key is None:
            shown.append(dict(row))
            continue
        label = user.labels.label(key, score.output) if rated else None
        shown.append({**row, **label_object(label)})
    return shown


def label_object(label: AnswerLabel | None) -> dict[str, Any]:
    """What a person said of an answer, as plain data."""
    if label is None:
        return {"verdict": None}
    return {"verdict": label.verdict, **({"note": label.note} if label.note else {})}


def with_inputs(user: Store, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows with what was asked as their first entry, ``inputs``: values by name, or None where it is not known, as for an item
    that had no run or one that no journal has any more.
    """
    with InputReader(user) as inputs:
        return inputs.added(rows)


class InputReader(ExitStack):
    """Reads what was given to runs, as far as their journals are there and can be read; that of the ``evaluation`` stays open."""

    def __init__(self, user: Store, evaluation: str | None = None) -> None:
        super().__init__()
        self._user, self._evaluation = user, evaluation
        self._own: Store | None = None

    def __enter__(self) -> Self:
        if self._evaluation is not None:
            with suppress(StoreFailure):
                self._own = self.enter_context(self._user.looking_into(self._evaluation))
        return self

    def added(self, rows: Sequence[Mapping[str, Any]], longest: int | None = None) -> list[dict[str, Any]]:
        """See `with_inputs`. Of each value ``longest`` characters are kept, as text where it is cut."""
        runs = list(dict.fromkeys(row["run"] for row in rows if row["run"]))
        given: dict[str, Any] = {}
        for evaluation in jobs_of(self._user, runs):
            with suppress(StoreFailure):
                if evaluation == self._evaluation:
                    given |= {} if self._own is None else self._own.inputs(runs)
                    continue
                with self._user.looking_into(evaluation) as other:
                    given |= {} if other is None else other.inputs(runs)
        cut = {run: _cut(inputs, longest) for run, inputs in given.items()}
        return [{"inputs": cut.get(row["run"]), **row} for row in rows]


def inputs_text(inputs: Mapping[str, Any] | None) -> str:
    """What was asked, as one text: the value where there is only one."""
    if inputs is None:
        return "unknown"
    return as_text(next(iter(inputs.values())) if len(inputs) == 1 else dict(inputs)) if inputs else ""


def _cut(inputs: Mapping[str, Any], longest: int | None) -> dict[str, Any]:
    if longest is None:
        return dict(inputs)
    texts = {name: as_text(value) for name, value in inputs.items()}
    return {name: f"{text[:longest]}..." if len(text) > longest else inputs[name] for name, text in texts.items()}


def item_object(score: ScoreRecord, known: KnownItems) -> dict[str, Any]:
    """What one answer came to; of scored fields ``gold`` has the right value of each, as ``read`` has the answers. ``title`` is
    the name that people see for the item.
    """
    gold = known.gold(score.item)
    if score.fields:
        gold = ", ".join(f"{name}: {field['gold']}" for name, field in score.fields.items())
    shown: dict[str, Any] = {
        "item": score.item,
        "title": known.title(score.item),
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
        "fields": {name: dict(field) for name, field in (score.fields or {}).items()},
    }
    if score.output is not None:
        shown["output"] = output_of(score.output)
    return shown


def comparison(user: Store, before: EvaluationRecord, after: EvaluationRecord) -> Comparison:
    """Two evaluations compared on the items that both scored, whose inputs and right answers are the same in both."""
    known, now = KnownItems.of(before.plan), KnownItems.of(after.plan)

    def is_same(item: str) -> bool:
        hashes = known.hash(item), now.hash(item)
        return None in hashes or hashes[0] == hashes[1]

    return compared(
        (score for score in user.evaluations.scores(before.id) if is_same(score.item)),
        user.evaluations.scores(after.id),
        repeats=max(before.repeats, after.repeats),
        fields=[name for name in before.plan.get("fields", {}) if name in after.plan.get("fields", {})],
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
        return f"no score{stand_ins_mark(report)}"
    lower, upper = report["interval"]
    items = counted(report["counted"], "item")
    return f"{report['score']:.3f} [{lower:.3f}, {upper:.3f}] on {items}{stand_ins_mark(report)}"


def field_score(field: Mapping[str, Any]) -> str:
    """The score in one field with its interval."""
    if field["score"] is None:
        return "no score"
    lower, upper = field["interval"]
    return f"{field['score']:.3f} [{lower:.3f}, {upper:.3f}]"


def field_text(field: Mapping[str, Any] | None) -> str:
    """The answer in one field of a row, with the right one beside it where it differs."""
    if field is None:
        return ""
    if field["value"] == 1:
        return str(field["read"])
    part = f" {field['value']:.2f}" if field["value"] else ""
    expected = f" (expected {field['gold']})" if field["gold"] else f" ({field['reason']})"
    return f"{field['read'] or 'no answer'}{part}{expected}"


def confusion_rows(field: Mapping[str, Any]) -> list[list[str]]:
    """Which values were taken for which, as a table: a head of the answers, and a row for each right value, which ends with its
    recall; the last row has the precision of each answer.
    """
    confusion: Mapping[str, Mapping[str, int]] = field["confusion"] or {}
    if not confusion:
        return []
    known = list(field["recall"])
    reads = list(dict.fromkeys([*known, *(read for row in confusion.values() for read in row)]))
    reads = [read for read in reads if any(read in row for row in confusion.values()) or read in confusion]

    def share(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    rows = [["expected", *(read or "no answer" for read in reads), "recall"]]
    for gold, row in confusion.items():
        rows.append(
            [gold, *(f"{row[read]:,}" if read in row else "" for read in reads), share(field["recall"].get(gold))]
        )
    return [*rows, ["precision", *(share(field["precision"].get(read)) for read in reads), ""]]
