"""An extraction made ready, from what people ask for or from what the journal has of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from merrow_analysis.definitions.types import ANSWER, CODE
from merrow_optimizer.evaluation.data import DataError, DataSet
from merrow_optimizer.evaluation.data.names import data_file
from merrow_optimizer.evaluation.data.parts import part_in_name
from merrow_optimizer.evaluation.data.readers import OWN
from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.extraction.initial import ExtractionTask
from merrow_optimizer.extraction.plan import ExtractionPlan, ExtractionSettings, check
from merrow_optimizer.extraction.solved_cases import split
from merrow_runtime.models.budget import unpriced_failure
from merrow_runtime.models.dialects import DialectStore
from merrow_runtime.models.prices import price_at
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.options import RunOptions
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.store.database import Store
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_runtime.store.recordings.answer_recording import AnsweringRecorded, RecordingAnswers
from merrow_runtime.workflow import Workflow, check_workflow
from merrow_server.continuing import ResumeChanges, refuse_same
from merrow_server.errors import InputError
from merrow_server.evaluations.evaluation_request import EvaluationRequest
from merrow_server.evaluations.prepared_evaluation import Choosing, PreparedEvaluation, prepare, prepare_again

FEW = 50
"""A file that is not a part by its name and has fewer cases is used as a whole: a fifth of it would say nothing."""


@dataclass(frozen=True, slots=True)
class ExtractionAsked:
    """What a person says about an extraction. ``asked`` is about data, metric, model and limits; ``generator`` None: as the
    user's settings say. ``record`` and ``replay`` are files of answers.
    """

    asked: EvaluationRequest
    settings: ExtractionSettings = field(default_factory=ExtractionSettings)
    generator: str | None = None
    out: str = "operators.yaml"
    record: str | None = None
    replay: str | None = None


@dataclass(frozen=True, slots=True)
class PreparedExtraction:
    """An extraction that can begin: its plan, its data, where its files go, what a resume needs, and what there is to say
    before the first call.
    """

    plan: ExtractionPlan
    data: DataSet
    base: PreparedEvaluation
    out: Path
    again: dict[str, Any]
    notes: Sequence[str] = ()

    async def close(self) -> None:
        """End what was opened for it."""
        await self.base.close()


async def prepare_extraction(wanted: ExtractionAsked, user: Store, choosing: Choosing = choose) -> PreparedExtraction:
    """Check everything that can be wrong, and make the extraction ready. Raises `RunFailure`, with every mistake in the data
    and its place.
    """
    asked = replace(wanted.asked, solved=True, fresh=wanted.replay is not None)
    file = data_file(asked.dataset)
    try:
        data = asked.read(asked.part)
        if data.reader == OWN and all(item.gold is None for item in data.items):
            asked = replace(asked, gold=asked.solution)  # the right answer where no other field is named
            data = asked.read(asked.part)
        if asked.part is None and part_in_name(file) is None:
            everything = replace(asked, limit=None, items=()).read("all")
            asked = replace(asked, part="all" if len(everything.items) < FEW else "validate")
            data = asked.read(asked.part)
    except DataError as problem:
        raise InputError(str(problem)) from None
    asked = replace(asked, part=data.part)
    if data.unsolved > len(data.items):
        raise InputError(
            f"{data.unsolved:,} of {data.unsolved + len(data.items):,} cases have no solution, more than half; add their"
            " solutions, or name the field that has them with --solution."
        )
    # What the budget has to cover is not an answer to one item but stage 1, see `check`.
    unbounded = replace(asked, limits=EvaluationLimits())
    base = await prepare(_placeholder(data), unbounded, user, _recorded(wanted.record, wanted.replay, choosing))
    base = replace(base, plan=replace(base.plan, limits=asked.limits))
    base.again["asked"]["limits"] = asdict(asked.limits)
    try:
        generator = wanted.generator or read_user_settings().models.optimizer or base.plan.model
        plan = _plan(base, wanted.settings, generator, asked.seed)
        _check(plan)
    except BaseException:
        await base.close()
        raise
    again = {
        **base.again,
        "settings": asdict(wanted.settings),
        "out": str(Path(wanted.out).absolute()),
        "replay": None if wanted.replay is None else str(Path(wanted.replay).absolute()),
    }
    return PreparedExtraction(plan, base.data, base, Path(wanted.out), again, list(_notes(plan, base)))


async def prepare_extraction_again(
    record: ExtractionRecord,
    user: Store,
    changed: ResumeChanges,
    choosing: Choosing = choose,
) -> PreparedExtraction:
    """An extraction of the journal made ready to continue. Raises `RunFailure`, see `prepare_again`."""
    refuse_same(changed, user.extractions, record.id)
    base = await prepare_again(record, user, changed, _recorded(None, record.plan["replay"], choosing))
    kept = record.plan["settings"]
    settings = ExtractionSettings(**{**kept, "without": tuple(kept["without"])})
    plan = _plan(base, settings, record.generator, record.seed)
    return PreparedExtraction(plan, base.data, base, Path(record.plan["out"]), dict(record.plan))


def _recorded(record: str | None, replay: str | None, choosing: Choosing) -> Choosing:
    """Chooses an endpoint that answers from a recording, or whose answers are recorded."""

    def chosen(
        options: RunOptions, base_url: str | None, machine: Sequence[WorkspaceValue], dialects: DialectStore | None
    ) -> ChosenEndpoint:
        if replay is not None:
            settings = read_user_settings()
            concurrency = options.concurrency or settings.concurrency
            choice = ChosenEndpoint(AnsweringRecorded(Path(replay)), settings.model)
            return choice if concurrency is None else replace(choice, concurrency=concurrency)
        choice = choosing(options, base_url, machine, dialects)
        return choice if record is None else replace(choice, endpoint=RecordingAnswers(choice.endpoint, Path(record)))

    return chosen


def _placeholder(data: DataSet) -> Workflow:
    """A workflow with the inputs of the cases: what is checked before any case has one of its own."""
    names = _inputs(data)
    lines = ["flowchart TD", "PROBLEM([Problem])", "RETURN([Answer])"]
    if "ENTRY_POINT" in names:
        lines += ["ENTRY_POINT([entry_point])", 'WRITE["CustomCodeGenerate<br/>"]', 'CHECK["Test<br/>"]']
        lines += ["PROBLEM -->|problem| WRITE & CHECK", "ENTRY_POINT -->|entry_point| WRITE & CHECK"]
        lines += ["WRITE -->|solution| CHECK", "CHECK --> RETURN"]
        lines += (
            ["TESTS([tests])", 'TESTS@{ type: "list[Text]" }', "TESTS -->|tests| CHECK"] if "TESTS" in names else []
        )
    else:
        lines += ['SOLVE["AnswerGenerate<br/>"]', "PROBLEM -->|input| SOLVE", "SOLVE --> RETURN"]
    lines += ["classDef Interface fill:#e2e2f2", f"class {','.join([*names, 'RETURN'])} Interface"]
    return check_workflow("".join(f"{line}\n" for line in lines), name="the cases")


def _inputs(data: DataSet) -> tuple[str, ...]:
    """The inputs that cases have, by the ids of their nodes."""
    has = {
        name
        for name in ("entry_point", "tests")
        if all(item.inputs.get(name) is not None for item in data.items) and data.items
    }
    names = ["PROBLEM"]
    names += ["ENTRY_POINT"] if "entry_point" in has else []
    names += ["TESTS"] if has == {"entry_point", "tests"} else []
    return tuple(names)


def _plan(base: PreparedEvaluation, settings: ExtractionSettings, generator: str, seed: int) -> ExtractionPlan:
    data = base.data
    names = _inputs(data)
    is_code = "ENTRY_POINT" in names
    described = {
        "form of the data": data.reader,
        "scored by": base.metric.name,
        "an answer is": "a Python function" if is_code else "a short answer to the problem",
    }
    task = ExtractionTask(names, CODE if is_code else ANSWER, described)
    parts = split(data.items, data.solutions, seed)
    return ExtractionPlan(base.plan, parts, task, generator, settings, seed, data.unsolved)


def _check(plan: ExtractionPlan) -> None:
    """Raise `UsageFailure` for a budget that can't be kept."""
    endpoint = plan.base.chosen.endpoint
    if plan.base.limits.usd is not None:
        for model in dict.fromkeys((plan.generator, *plan.base.model.split(", "))):
            if price_at(endpoint, model) is None:
                raise InputError(str(unpriced_failure(model, endpoint.origin)))
    check(plan)


def _notes(plan: ExtractionPlan, base: PreparedEvaluation) -> Iterator[str]:
    """What there is to know before the first call."""
    if plan.left_out:
        are = "1 case has" if plan.left_out == 1 else f"{plan.left_out:,} cases have"
        yield f"{are} no solution and {'is' if plan.left_out == 1 else 'are'} left out."
    if base.data.held_out:
        yield "The part test is held out, for final figures only; what is extracted from it can't be tested with it."
    if plan.base.chosen.endpoint.origin != OFFLINE_ORIGIN:
        yield from base.plan.chosen.notices
    problems = {(case.problem, case.solution) for case in plan.split.all}
    if len(problems) == 1 and len(plan.split.all) > 1:
        yield "All cases are the same."
