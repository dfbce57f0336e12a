"""A search made ready, from what people ask for or from what the journal has of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation.data import DataError, DataSet, read_items
from merrow_optimizer.evaluation.data.names import data_file
from merrow_optimizer.evaluation.data.parts import part_in_name
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.plan import EvaluationLimits, TooSmall
from merrow_optimizer.extraction.solved_cases import problem_digest
from merrow_optimizer.optimization.plan import Bounded, ItemSplit, Proposing, SearchPlan, affords, check, split_of
from merrow_optimizer.optimization.question_costs import forecast_questions
from merrow_optimizer.optimization.readings import read_before
from merrow_optimizer.optimization.record import RecordedCandidate, SearchRecord, load
from merrow_optimizer.optimization.rounds import without_comment
from merrow_optimizer.search.available import STRATEGIES
from merrow_optimizer.search.candidates import START
from merrow_optimizer.search.children import Moves
from merrow_optimizer.suggestions.session import Models
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.running.resources import choose
from merrow_runtime.store.database import Store
from merrow_runtime.store.optimizations import OptimizationRecord
from merrow_runtime.workflow import Workflow, restore
from merrow_server.continuing import ResumeChanges, refuse_same
from merrow_server.errors import InputError
from merrow_server.evaluations.evaluation_request import EvaluationRequest
from merrow_server.evaluations.prepared_evaluation import OFFLINE, Choosing, PreparedEvaluation, prepare, prepare_again
from merrow_server.evaluations.scored_fields import with_fields
from merrow_server.evaluations.stand_ins import stand_ins_of
from merrow_server.suggestions.prepared_suggestions import check_models

_UNSEEN = 20
"""So many items that no operator was drawn from are enough to search with."""
_ELITES = 6
"""How many of the best of another search a search begins with."""


@dataclass(frozen=True, slots=True)
class SearchAsked:
    """What a person says about a search, beside its workflow. ``asked`` is about data, metric and model;
    ``begin_with`` is another search, by its id. ``proposer`` None: ``both`` where an optimiser model is named, else ``moves``;
    ``goal`` says in words what should get better.
    """

    asked: EvaluationRequest
    strategy: str = "climb"
    proposer: str | None = None
    seed: int = 42
    jobs: int = 1
    bounds: Bounded = field(default_factory=Bounded)
    begin_with: str | None = None
    optimizer_model: str | None = None
    goal: str = ""
    shapes: tuple[tuple[str, str], ...] = ()
    """Other workflows to be scored first, each with what it is called."""
    extracted_from: frozenset[str] = frozenset()
    """The digests of problems that operators were drawn from (`problem_digest`): they score nobody."""


@dataclass(frozen=True, slots=True)
class PreparedSearch:
    """A search that can begin: its plan, its data (those that are searched, before any were set aside), what a resume needs, and
    what there is to say before the first call.
    """

    plan: SearchPlan
    data: DataSet
    base: PreparedEvaluation
    again: dict[str, Any]
    notes: Sequence[str] = ()

    async def close(self) -> None:
        """End what was opened for it."""
        await self.base.close()


async def prepare_search(
    workflow: Workflow, wanted: SearchAsked, user: Store, choosing: Choosing = choose
) -> PreparedSearch:
    """Check everything that can be wrong, and make the search ready. ``choosing`` as in `prepare`. Raises `RunFailure`."""
    try:
        asked = with_fields(workflow, wanted.asked)
        data, test = _parts(asked)
    except DataError as problem:
        raise InputError(str(problem)) from None
    data, note = _unseen(data, wanted)
    split = split_of(data, test, wanted.bounds)
    # Candidates see the workflow as a resume does: with its files as they are now.
    workflow = replace(restore(workflow.snapshot()), fence=workflow.fence, shared=workflow.shared)
    whole, too_small = replace(asked, part="all", limit=None, items=()), None
    try:
        base = await prepare(workflow, whole, user, choosing)
    except TooSmall as failure:  # What a search takes at least is more than one item, and that is said below.
        too_small = failure
        base = await prepare(
            workflow, replace(whole, limits=EvaluationLimits(seconds=asked.limits.seconds)), user, choosing
        )
        base = replace(base, plan=replace(base.plan, limits=asked.limits))
    try:
        proposing = _proposing(wanted, base)
        split = split if proposing is None else split.with_shown()
        plan = SearchPlan(
            _only(base, split).plan,
            split,
            wanted.strategy,
            "moves" if proposing is None else "model" if proposing.only else "both",
            wanted.seed,
            wanted.jobs,
            wanted.bounds,
            proposing=proposing,
        )
        notes = [*note, *_notes(plan, user, data)]
        begin_with, lineage = None, []
        if wanted.begin_with is not None:
            before = load(user, wanted.begin_with)
            begin_with = before.id
            given, more = _elites(before, plan.moves)
            lineage = _lineage(user, before.search)
            seen = _seen(lineage, split)
            plan, notes = replace(plan, given=given, seen=seen), [*notes, *more]
            if seen:
                notes.append(
                    f"Search {before.id} chose by items that are held out here, so that there will be no p; begin it with the"
                    " same --part to have one."
                )
        plan = replace(plan, given=[*wanted.shapes, *plan.given])
        check(plan)
        if too_small is not None:
            raise too_small
    except BaseException:
        await base.close()
        raise
    again = {**base.again, "settings": asdict(wanted.bounds), "begin_with": begin_with, "lineage": lineage}
    again["reader"] = data.reader
    return PreparedSearch(plan, data, base, again, notes)


async def prepare_search_again(
    record: OptimizationRecord,
    user: Store,
    changed: ResumeChanges,
    choosing: Choosing = choose,
) -> PreparedSearch:
    """A search of the journal made ready to continue. Raises `RunFailure`, see `prepare_again`."""
    refuse_same(changed, user.optimizations, record.id)
    if record.strategy not in STRATEGIES:
        raise InputError(
            f"Search {record.id} used the strategy {record.strategy}, which Merrow does not have any more."
        )
    base = await prepare_again(record, user, changed, choosing)
    by_id = {item.id: item for item in base.data.items}
    held_out = record.plan["held_out"]
    split = ItemSplit(
        [by_id[item] for item in record.plan["items"]],
        [by_id[item] for item in held_out["items"]],
        held_out["part"],
        [by_id[item] for item in record.plan.get("shown", ())],  # A search of before models proposed has none.
    )
    known = record.plan.get("proposing")
    proposing = None if known is None else Proposing(Models(**known["models"]), known["goal"], known["only"])
    plan = SearchPlan(
        base.plan,
        split,
        record.strategy,
        record.proposer,
        record.seed,
        record.jobs,
        Bounded(**record.plan["settings"]),
        [(text, title) for text, title in record.plan["given"]],
        record.plan["seen"],
        proposing,
    )
    try:
        if proposing is not None:
            check_models(base.plan.chosen, proposing.models, base.plan.limits)
        plan.make_strategy(plan.moves)
    except BaseException:
        await base.close()
        raise
    return PreparedSearch(plan, base.data, base, dict(record.plan))


def _unseen(data: DataSet, wanted: SearchAsked) -> tuple[DataSet, list[str]]:
    """The data without the cases that operators were drawn from, where enough is left; and what is to be said of that."""
    left = tuple(item for item in data.items if problem_digest(item) not in wanted.extracted_from)
    gone = len(data.items) - len(left)
    if not gone:
        return data, []
    if len(left) < _UNSEEN:
        return data, [
            f"The operators were drawn from {gone:,} of these items, and fewer than {_UNSEEN} others are left: the scores of"
            " the search flatter them, and only the reading of held-out items counts."
        ]
    return replace(data, items=left), [f"{gone:,} items that the operators were drawn from score nobody."]


def _proposing(wanted: SearchAsked, base: PreparedEvaluation) -> Proposing | None:
    """Who proposes beside safe moves; None where nobody does. Raises `InputError`, `UsageFailure`."""
    named, chosen = read_user_settings().models, base.plan.chosen
    proposer = wanted.proposer
    if proposer is None:
        is_offline = chosen.endpoint.origin == OFFLINE_ORIGIN
        is_named = wanted.optimizer_model is not None or (named.optimizer is not None and not is_offline)
        proposer = "both" if is_named else "moves"
    if proposer == "moves":
        if wanted.optimizer_model is not None or wanted.goal:
            raise InputError("--optimizer-model and --goal go with --proposer model or both.")
        return None
    optimizer = wanted.optimizer_model or named.optimizer or base.plan.model
    models = Models(optimizer, wanted.asked.judge_model or named.judge or optimizer)
    check_models(chosen, models, wanted.asked.limits)
    return Proposing(models, wanted.goal, proposer == "model")


def _parts(asked: EvaluationRequest) -> tuple[DataSet, Sequence[Item]]:
    """The items to search with, and those of the part ``test`` where the file has it apart."""
    file = data_file(asked.dataset)

    def read(part: str | None, limit: int | None, items: tuple[str, ...]) -> DataSet:
        return read_items(
            file,
            reader=asked.reader,
            mapping=asked.mapping,
            gold=asked.gold,
            golds=asked.golds,
            part=part,
            limit=limit,
            items=items,
            seed=asked.seed,
        )

    data = read(asked.part, asked.limit, asked.items)
    if data.part != "validate" or part_in_name(file) is not None:
        return data, ()
    return data, read("test", None, ()).items


def _only(base: PreparedEvaluation, split: ItemSplit) -> PreparedEvaluation:
    """The same with the items of the search alone, those that are searched first."""
    plan = base.plan
    items = (*split.searched, *split.held_out, *split.shown)
    inputs = {item.id: plan.inputs[item.id] for item in items}
    return replace(base, plan=replace(plan, items=items, inputs=inputs))


def _notes(plan: SearchPlan, user: Store, data: DataSet) -> Iterator[str]:
    """What there is to know before the first call."""
    chosen = plan.base.chosen
    if chosen.endpoint.origin == OFFLINE_ORIGIN:
        yield OFFLINE
    yield from (*plan.start.how_read, *chosen.notices)
    if plan.split.part is None:
        yield "No item is held out (--small), so that the search can't be tested; its scores flatter what they chose."
    else:
        before = read_before(user, data.hash, data.part, plan.split.part, plan.base.semantic)
        if before:
            times = "once" if before == 1 else f"{before} times"
            what = "part test was" if plan.split.part == "test" else "items that are set aside were"
            yield f"The {what} read {times} before, so that there will be no p."


def _elites(before: SearchRecord, moves: Moves) -> tuple[list[tuple[str, str]], list[str]]:
    """The best candidates of another search, as their files are now, each with what it is called; and what there is to say."""
    scored = [candidate for candidate in before.candidates if candidate.told is not None]
    best = sorted(scored, key=lambda candidate: (-(candidate.told or 0.0), candidate.number))[:_ELITES]
    if not best:
        raise UsageFailure(f"Search {before.id} has no candidate with a score to begin with.")
    given: list[tuple[str, str]] = []
    notes: list[str] = []
    for elite in best:
        title = f"round {elite.number} of search {before.id}"
        text = _file_text(before, elite)
        if text is not None and text != without_comment(elite.text) and moves.given(text, title).key != elite.key:
            notes.append(f"{elite.file} was changed by hand: it is a new candidate.")
            given.append((text, f"{title}, changed by hand"))
        elif elite.number != START or elite.key != moves.start().key:
            given.append((elite.text, title))
    return given, notes


def _lineage(user: Store, search: OptimizationRecord) -> list[list[str]]:
    """The items by which this search and each of those that it began with chose: kept in its plan, since those may be deleted."""
    plan = search.plan
    earlier = plan.get("lineage")
    if earlier is None:  # It is of a version that did not keep them.
        identity = None if plan["begin_with"] is None else user.optimizations.identity(plan["begin_with"])
        earlier = [] if identity is None else _lineage(user, user.optimizations.get(identity))
    return [[*plan["items"], *plan.get("shown", ())], *earlier]


def _seen(lineage: Sequence[Sequence[str]], split: ItemSplit) -> int:
    """How many searches of a lineage chose by items that are held out now."""
    held_out = {item.id for item in split.held_out}
    return sum(not held_out.isdisjoint(items) for items in lineage)


def _file_text(before: SearchRecord, candidate: RecordedCandidate) -> str | None:
    """What the file of a candidate says now; None where there is none."""
    try:
        return without_comment((Path(before.search.plan["folder"]) / candidate.file).read_bytes().decode())
    except (OSError, UnicodeDecodeError):
        return None


def plan_object(prepared: PreparedSearch) -> dict[str, Any]:
    """What a search may cost, for programs."""
    plan = prepared.plan
    affordable, asked = affords(plan), forecast_questions(plan)
    return {
        "dataset": str(prepared.data.file),
        "part": prepared.data.part,
        "items": len(plan.split.searched),
        "held_out_part": plan.split.part,
        "held_out_items": len(plan.split.held_out),
        "metric": plan.base.metric.name,
        **stand_ins_of(plan.base),
        "strategy": plan.strategy,
        "proposer": plan.proposer,
        "shown_items": len(plan.split.shown),
        "proposing": None if asked is None else asked.to_json(),
        "item": plan.forecast.to_json(),
        "candidate_answers": plan.block,
        "least_answers": plan.least,
        "candidates": None if affordable is None else {"least": affordable[0], "most": affordable[1]},
        "notes": list(prepared.notes),
    }
