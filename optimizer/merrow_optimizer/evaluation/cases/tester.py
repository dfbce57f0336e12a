"""Carries out cases of one workflow: each repeat is a run, answered from the recording or by an endpoint, then judged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from merrow_analysis.cases.cases_reader import Case, Expectation, GivenInput
from merrow_analysis.cases.schema import CASE_METRICS
from merrow_analysis.text import Span
from merrow_optimizer.evaluation.cases.expectations import (
    ExpectationVerdict,
    field_of,
    item_of,
    judged,
    metric_of,
    typed,
)
from merrow_optimizer.evaluation.cases.judging import KEY, JudgeRows
from merrow_optimizer.evaluation.cases.results import CaseResult, CaseStatus, ChangedOutput
from merrow_optimizer.evaluation.data.problems import DataError
from merrow_optimizer.evaluation.endings import ending_of
from merrow_optimizer.evaluation.metrics.base import BaseMetric
from merrow_optimizer.evaluation.metrics.judge import Ask
from merrow_optimizer.evaluation.scores import InvalidItemError, Status
from merrow_optimizer.evaluation.unattended import unattended, with_answers
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.purse import Purse
from merrow_runtime.calls.tool_servers import ToolServers
from merrow_runtime.errors import BudgetFailure, ReplayMiss, RunFailure, StoreFailure, UsageFailure
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.program.inputs import read_inputs
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.revising.reviser import Reviser
from merrow_runtime.running.api import finish, start
from merrow_runtime.running.resources import ChosenEndpoint, NoEndpoint
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.database import Store
from merrow_runtime.store.recordings.case_recording import CallList, CaseRecording, same_output
from merrow_runtime.store.recordings.recording import Replay
from merrow_runtime.together import together
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import as_text, canonical
from merrow_runtime.workflow import Workflow

METRIC_SECONDS = 300.0
"""Seconds after which a metric that has not judged is given up."""
RECORD_AGAIN = "Record what is missing with: merrow test --record"
NO_ANSWERS = (
    "There is no recording beside the workflow and no endpoint to ask: set OPENAI_API_KEY (see docs/models.md), or record"
    " the cases where there is one, with: merrow test --record"
)


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """Where answers come from: the recording, the endpoint, or, with ``records``, first the one and then the other."""

    recording: CaseRecording | None
    chosen: ChosenEndpoint | None
    store: Store
    options: RunOptions
    records: bool = False
    reviser: Reviser | None = None
    """Who changes the workflow while it runs, where it asks for that (`refine`)."""
    tools: ToolServers | None = None
    """Who calls tools for all cases; None where only the recording answers."""

    @property
    def source(self) -> str | None:
        """Who answers, in a word."""
        if self.recording is not None and not self.records:
            return "recording"
        return None if self.chosen is None else "endpoint"


@dataclass(frozen=True, slots=True)
class _Take:
    """One repeat: how it ended. ``status`` is passed, failed, stale or error."""

    status: CaseStatus
    message: str = ""
    verdict: ExpectationVerdict | None = None
    place: Span | None = None
    node: str | None = None
    run: str | None = None
    usage: Usage = NOTHING
    seconds: float = 0.0
    changed: ChangedOutput | None = None


class Tester:
    """The cases of one workflow at work; ``folder`` is that of the cases file, ``read`` gives the texts of files in it."""

    def __init__(self, workflow: Workflow, folder: Path, read: Callable[[str], str], answers: AnswerSource) -> None:
        self._workflow = workflow
        self._folder = folder
        self._read = read
        self._answers = answers
        self._metrics: dict[str, BaseMetric] = {}
        self._outputs = [node.id for node in workflow.graph.outputs]

    def inputs_of(self, case: Case) -> dict[str, Any]:
        """What the workflow is given. Raises `UsageFailure` where an input's type does not take its value."""
        names = {node.id.casefold(): node.id for node in self._workflow.graph.inputs}
        given = {
            names.get(given_input.name.casefold(), given_input.name): self._value(given_input)
            for given_input in case.inputs
        }
        return dict(read_inputs(self._workflow.graph, given))

    def _value(self, given_input: GivenInput) -> Any:
        return given_input.value if given_input.file is None else self._read(given_input.file)

    async def prepare(self, case: Case) -> str | None:
        """Why a case can't be judged on this machine, in a sentence; None where it can."""
        try:
            for expectation in case.expect:
                if expectation.metric != "judge":
                    await self._metric(expectation).prepare()
        except DataError as problem:
            return " ".join(each.sentence for each in problem.problems)
        return None

    async def close(self) -> None:
        """End what was started."""
        for metric in self._metrics.values():
            await metric.close()

    async def run(self, case: Case) -> CaseResult:
        """Carry out a case. Raises `StoreFailure`."""
        answers = self._answers
        if answers.source is None:
            return CaseResult(case, CaseStatus.SKIPPED, NO_ANSWERS)
        problem = await self.prepare(case)
        if problem is not None:
            return CaseResult(case, CaseStatus.ERROR, problem, source=answers.source)
        try:
            inputs = self.inputs_of(case)
        except RunFailure as failure:
            return CaseResult(case, CaseStatus.ERROR, str(failure), source=answers.source)
        takes = await together(self._take(case, repeat, inputs) for repeat in range(case.repeat))
        return self._result(case, takes)

    def _result(self, case: Case, takes: list[_Take]) -> CaseResult:
        passed = sum(take.status is CaseStatus.PASSED for take in takes)
        by = {status: next((take for take in takes if take.status is status), None) for status in CaseStatus}
        first = by[CaseStatus.STALE]
        if first is None and passed < case.min_pass:
            # What is not known could still have made it pass.
            unknown = sum(take.status is CaseStatus.ERROR for take in takes)
            first = by[CaseStatus.ERROR] if passed + unknown >= case.min_pass else by[CaseStatus.FAILED]
        status = CaseStatus.PASSED if first is None else first.status
        message = "" if first is None else first.message
        if status is CaseStatus.FAILED and case.repeat > 1:
            message = f"{passed} of {case.repeat} repeats passed, {case.min_pass} must. {message}"
        if case.xfail is not None and status is CaseStatus.FAILED:
            status, message = CaseStatus.XFAILED, f"Expected to fail ({case.xfail}): {message}"
        elif case.xfail is not None and status is CaseStatus.PASSED:
            status, message = CaseStatus.XPASSED, f"It passes, against its `xfail` ({case.xfail}); remove that."
        shown = takes[0] if first is None else first
        verdict = shown.verdict if first is not None else None
        return CaseResult(
            case,
            status,
            message,
            None if verdict is None else verdict.expected,
            None if verdict is None else verdict.read,
            shown.place,
            shown.node,
            shown.run,
            self._answers.source,
            passed,
            tuple(take.changed for take in takes if take.changed is not None),
            sum((take.usage for take in takes), NOTHING),
            sum(take.seconds for take in takes),
        )

    async def _take(self, case: Case, repeat: int, inputs: Mapping[str, Any]) -> _Take:
        answers, recording = self._answers, self._answers.recording
        fresh = answers.options.fresh
        replay = None
        if recording is not None:
            replay = recording.replay(case.id, repeat, may_ask=answers.records, fresh=fresh)
        kept = CallList() if answers.records else None
        usd, seconds = self._limits(case)
        options = with_answers(self._workflow, unattended(self._workflow, answers.options), case.answers)
        options = replace(
            options,
            repeat=repeat,
            replay=replay,
            record=kept,
            budget_usd=usd,
            budget_seconds=seconds,
        )
        endpoint = NoEndpoint() if answers.chosen is None or answers.source == "recording" else answers.chosen.endpoint
        try:
            result = await finish(
                start(
                    self._workflow,
                    inputs,
                    options=options,
                    endpoint=endpoint,
                    store=answers.store,
                    reviser=answers.reviser,
                    tools=answers.tools,
                )
            )
        except (UsageFailure, BudgetFailure) as failure:
            return _Take(CaseStatus.ERROR, str(failure))
        file = whole_path(self._workflow.name)
        rows = JudgeRows(replay, kept, may_ask=answers.chosen is not None)
        purse = Purse(answers.chosen or ChosenEndpoint(NoEndpoint()), file)
        judge = Asker(purse, answers.store.cache, KEY, rows, fresh=fresh)
        try:
            take = await self._judge(case, result, inputs, replay, judge)
        finally:
            judge.close()
        run = result.run if answers.source == "endpoint" else None
        take = replace(take, run=run, usage=result.usage + judge.used, seconds=result.seconds)
        if kept is not None and recording is not None and take.status in (CaseStatus.PASSED, CaseStatus.FAILED):
            output = dict(result.outputs)
            before = recording.of(case.id, repeat)
            if before.has_output and not same_output(before.output, output):
                take = replace(take, changed=ChangedOutput(repeat, before.output, output))
            recording.keep(case.id, repeat, kept.calls, output, fresh=fresh)
        return take

    def _judge_model(self) -> str:
        settings = self._workflow.analysis.settings
        options = self._answers.options
        return options.model or settings.model or options.default_model or DEFAULT_MODEL

    def _limits(self, case: Case) -> tuple[float | None, float | None]:
        """The money and the seconds of one repeat where the case limits them, none above the workflow's own."""
        own = self._workflow.analysis.settings.budget
        usd, seconds = case.max_cost, case.max_seconds
        return (
            usd if usd is None or own.usd is None else min(usd, own.usd),
            seconds if seconds is None or own.seconds is None else min(seconds, own.seconds),
        )

    async def _judge(
        self, case: Case, result: RunResult, inputs: Mapping[str, Any], replay: Replay | None, judge: Asker
    ) -> _Take:
        ending = ending_of(result, self._outputs)
        if replay is not None and replay.misses and not replay.may_ask:
            return _stale(result.failure, replay)
        limit = self._over(case, result)
        if limit is not None:
            return _Take(CaseStatus.FAILED, f"{limit[0]} {result.error or ''}".strip(), place=limit[1])
        node = None if result.failure is None else result.failure.node
        if ending.status is Status.FAILED:
            return _Take(CaseStatus.FAILED, ending.reason, node=node)
        if ending.status is not None:
            return _Take(CaseStatus.ERROR, ending.reason, node=node)
        for number, expectation in enumerate(case.expect):
            take = await self._one(case, expectation, number, result, ending.output, inputs, replay, judge)
            cost = (result.usage + judge.used).cost_usd
            if take is None and case.max_cost is not None and cost is not None and cost > case.max_cost:
                message = f"With its judge it costs {cost:.4f} US dollars, more than `max_cost: {case.max_cost:g}`."
                take = _Take(CaseStatus.FAILED, message, place=case.limit_spans["max_cost"])
            if take is not None:
                return take
        return _Take(CaseStatus.PASSED)

    async def _one(
        self,
        case: Case,
        expectation: Expectation,
        number: int,
        result: RunResult,
        output: Any,
        inputs: Mapping[str, Any],
        replay: Replay | None,
        judge: Asker,
    ) -> _Take | None:
        """What an expectation that doesn't hold makes of a repeat; None where it holds."""
        if expectation.output is not None:
            if expectation.output not in result.outputs:
                return _Take(CaseStatus.FAILED, f"No value reached {expectation.output}.", place=expectation.span)
            output = result.outputs[expectation.output]
        try:
            field = field_of(self._workflow.graph, expectation)
            expectation = typed(expectation, field)
            if field is not None:
                output = field.of(dict(result.outputs) if len(self._outputs) > 1 else output)
        except UsageFailure as problem:
            return _Take(CaseStatus.ERROR, str(problem), place=expectation.span)
        except KeyError:
            return _Take(CaseStatus.FAILED, f"No value reached {expectation.field}.", place=expectation.span)
        scored_by = self._metric(expectation, judge, number)
        try:
            async with asyncio.timeout(METRIC_SECONDS):
                verdict = await judged(expectation, scored_by, item_of(case, expectation, inputs), output)
        except ReplayMiss as miss:
            return _stale(miss, replay)
        except (InvalidItemError, RunFailure, TimeoutError) as problem:
            if isinstance(problem, StoreFailure):
                raise
            why = "it took too long" if isinstance(problem, TimeoutError) else str(problem)
            return _Take(
                CaseStatus.ERROR, f"The metric {expectation.metric} could not judge: {why}", place=expectation.span
            )
        if verdict.holds:
            return None
        message = f"{expectation.name} {_quoted(expectation.value)}: {verdict.reason}"
        if expectation.negated:
            message = f"{expectation.name} {_quoted(expectation.value)}: it must not be so, but {verdict.reason}"
        return _Take(CaseStatus.FAILED, message, verdict, expectation.span)

    def _over(self, case: Case, result: RunResult) -> tuple[str, Span] | None:
        """Which limit of the case ended a run, and where that is written."""
        if not isinstance(result.failure, BudgetFailure):
            return None
        seconds = case.max_seconds
        if seconds is not None and result.seconds >= 0.9 * seconds:
            return f"It took more than `max_seconds: {seconds:g}`.", case.limit_spans["max_seconds"]
        if case.max_cost is not None:
            return f"It needs more than `max_cost: {case.max_cost:g}`.", case.limit_spans["max_cost"]
        return None

    def _metric(self, expectation: Expectation, judge: Asker | None = None, number: int = 0) -> BaseMetric:
        """The metric of an expectation; one that compares in a process of its own serves all that are alike."""
        if expectation.metric == "judge":
            return metric_of(expectation, self._folder, _numbered(judge, number), self._judge_model())
        own = (
            expectation.value if CASE_METRICS[expectation.metric].option or isinstance(expectation.value, str) else None
        )
        key = canonical(
            [
                expectation.metric,
                dict(expectation.options),
                own if expectation.metric in ("python", "json-schema") else None,
            ]
        )
        if key not in self._metrics:
            self._metrics[key] = metric_of(expectation, self._folder)
        return self._metrics[key]


def _numbered(judge: Asker | None, number: int) -> Ask | None:
    """How the judge of the expectation with this number asks."""
    return None if judge is None else lambda question: judge.ask(replace(question, purpose=f"judge {number}"))


def _stale(failure: RunFailure | None, replay: Replay | None) -> _Take:
    miss = None if replay is None or not replay.misses else replay.misses[0]
    node = miss.visit.name if miss is not None else getattr(failure, "node", None)
    why = "Its recording does not have what is asked"
    where = f"{why} at node {node}" if node is not None else why
    return _Take(
        CaseStatus.STALE,
        f"{where}: the workflow, its inputs, its model or a prompt changed since, or the case was never recorded. {RECORD_AGAIN}",
        node=node,
    )


def _quoted(value: Any) -> str:
    text = " ".join(as_text(value).split())
    return f"`{text}`" if len(text) <= 80 else f"`{text[:79]}…`"
