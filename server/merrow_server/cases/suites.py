"""Cases files opened for a test: checked, with their workflow and their recording; and carried out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from merrow_analysis.cases.cases_reader import Case, CasesFile
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_optimizer.evaluation.cases.results import CaseResult
from merrow_optimizer.evaluation.cases.tester import AnswerSource, Tester
from merrow_optimizer.revising.late import LateReviser
from merrow_runtime.errors import InputError, UsageFailure
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.outside.choosing_tools import LIVE, ToolChoice
from merrow_runtime.program.definitions import asks_models
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.running.tool_checks import check_tools
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.store.recordings.case_recording import CaseRecording
from merrow_runtime.workflow import Workflow
from merrow_server.cases.case_paths import recording_path
from merrow_server.files import write_bytes

MOST_AT_ONCE = 8
"""Cases that an endpoint is asked for at the same time."""

Told = Callable[[Case, CaseResult | None], None]
"""Is told of each case when it begins (None), and what it came to."""


@dataclass(frozen=True)
class Suite:
    """A cases file that can be carried out. ``provider`` reads the files that it names."""

    path: Path
    file: CasesFile
    workflow: Workflow
    provider: Provider
    recording: CaseRecording | None


def errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Those that keep a cases file from being carried out."""
    return [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]


def recorded(cases: Path) -> CaseRecording | None:
    """The recording beside a cases file, where there is one. Raises `UsageFailure` where it can't be read."""
    path = recording_path(cases)
    return CaseRecording.read(path) if path.is_file() else None


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """What a person says about a test, beside its cases."""

    record: bool = False
    model: str | None = None
    base_url: str | None = None
    concurrency: int | None = None
    stop_at_first: bool = False
    fresh: bool = False
    """Every answer is the endpoint's: none is taken from the recording or the cache."""
    tools: ToolChoice = LIVE
    """Where results of tools come from that no recording has."""


Opens = Callable[[str | None, Sequence[WorkspaceValue]], ChosenEndpoint]
"""Opens the endpoint at an address, else the user's. Raises `UsageFailure`."""


async def carry_out(
    suite: Suite, cases: Sequence[Case], asked: SuiteRequest, opens: Opens, user: Store, told: Told
) -> bool:
    """Carry out cases of a suite, in their order as they end; whether all came to their end.

    With ``record`` the recording is written after each case. ``stop_at_first`` ends it after the first that is not well.
    Raises `UsageFailure`, `StoreFailure`.
    """
    recording, chosen = suite.recording if asked.record or not asked.fresh else None, None
    if asked.record and asked.model is not None:
        raise UsageFailure(
            "A recording is of the workflow's own model, so --record and --model don't go together; write the model in the"
            " workflow."
        )
    if recording is None or asked.record:
        chosen = opens(asked.base_url, suite.workflow.machine)
        is_asked = asks_models(suite.workflow, RunOptions()) or any(map(_judges, cases))
        if chosen.endpoint.origin == OFFLINE_ORIGIN and asked.base_url is None and is_asked:
            # Its answers would look like a model's.
            await chosen.endpoint.close()
            chosen = None
    if chosen is not None:
        given = RunOptions(model=asked.model, default_model=None if recording is None else recording.model)
        chosen = await asyncio.to_thread(with_only_model, chosen, given, suite.workflow.reached())
    if asked.record:
        if chosen is None:
            raise UsageFailure(
                "There is no endpoint to record: set OPENAI_API_KEY or name one with --base-url.", remedy="key"
            )
        if recording is None:
            header = {"workflow": Path(suite.workflow.name).name, "model": chosen.model or DEFAULT_MODEL}
            recording = CaseRecording(recording_path(suite.path), header)
    if asked.fresh and chosen is None:
        raise UsageFailure(
            "There is no endpoint to ask again: set OPENAI_API_KEY or name one with --base-url.", remedy="key"
        )
    default = recording.model if recording is not None else None
    options = RunOptions(
        model=asked.model,
        default_model=default or (None if chosen is None else chosen.model),
        concurrency=asked.concurrency or (None if chosen is None else chosen.concurrency),
        fresh=asked.fresh,
    )
    store = user if chosen is not None else MemoryStore()
    tools = None if chosen is None else asked.tools.open(user.cache, chosen.key)
    answers = AnswerSource(recording, chosen, store, options, records=asked.record, reviser=LateReviser(), tools=tools)
    tester = Tester(suite.workflow, suite.path.parent, _reader(suite.provider), answers)
    try:
        if tools is not None:
            check_tools(suite.workflow, options, tools, unattended=True)
        return await _each(suite, cases, asked, tester, answers, told)
    finally:
        await tester.close()
        if tools is not None:
            await tools.close()
        if chosen is not None:
            await chosen.endpoint.close()
        if store is not user:
            store.close()


async def _each(
    suite: Suite, cases: Sequence[Case], asked: SuiteRequest, tester: Tester, answers: AnswerSource, told: Told
) -> bool:
    room = asyncio.Semaphore(1 if asked.stop_at_first else MOST_AT_ONCE)

    async def run_case(case: Case) -> CaseResult:
        async with room:
            told(case, None)
            return await tester.run(case)

    waiting = [asyncio.ensure_future(run_case(case)) for case in cases]
    try:
        for case, task in zip(cases, waiting, strict=True):
            result = await task
            if answers.records and answers.recording is not None:
                keep(suite, answers.recording)
            told(case, result)
            if asked.stop_at_first and not result.is_good:
                return False
        return True
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def keep(suite: Suite, recording: CaseRecording) -> None:
    """Write the recording: the takes of the cases that the file has now, in their order. Raises `InputError`."""
    text = recording.text(case.id for case in suite.file.cases)
    write_bytes(recording.path, text.encode(), through_links=False)


def _judges(case: Case) -> bool:
    """Whether a model judges a case."""
    return any(expectation.metric == "judge" for expectation in case.expect)


def _reader(provider: Provider) -> Callable[[str], str]:
    def read(path: str) -> str:
        try:
            return provider.read(path)
        except ResourceError as problem:
            raise InputError(str(problem)) from None

    return read
