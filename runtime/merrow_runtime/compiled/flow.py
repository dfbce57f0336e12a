"""A program at work: its lines written as files of Mermaid, and run as `merrow run` runs a file, but without a journal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import replace

from merrow_analysis.check import analyse
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.tools.pins import PINS_FILE, text_of_entries
from merrow_runtime.compiled.asked import ProgramOptions, asked_for
from merrow_runtime.compiled.lines import FunctionLines
from merrow_runtime.compiled.mermaid import file_names, mermaid_text
from merrow_runtime.compiled.mistakes import mistakes
from merrow_runtime.compiled.result import Result
from merrow_runtime.compiled.unasked import acts_once, check_nobody_asked
from merrow_runtime.compiled.unfinished import name_of, open_runs, unfinished
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.models.selection import ModelOptions, decide
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import asks_models
from merrow_runtime.program.inputs import read_inputs, with_defaults
from merrow_runtime.revising.reviser import Reviser
from merrow_runtime.running.api import finish, resume, start
from merrow_runtime.running.run import Run, RunResult
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.values import Value
from merrow_runtime.workflow import Workflow, check_workflow


class Flow(FunctionLines):
    """The workflow that a function's lines describe, and its run."""

    async def run(self, reviser: Reviser | None = None) -> Result:
        """Run it: what reaches its outputs. ``reviser`` changes it meanwhile, where it has ``refine``. Raises `RunFailure`."""
        asked = asked_for()
        options = replace(asked.options, no_store=True, keeps_stores=True)
        workflow = workflow_of(self)
        inputs = with_defaults(workflow.graph, self.inputs, asked.inputs)
        read_inputs(workflow.graph, inputs)
        if options.replay is None and (reviser is not None or asks_models(workflow, options)):
            _check_model(options)
        if options.replay is None and asked.ask is None:
            check_nobody_asked(workflow, options)
        if options.replay is not None or not acts_once(workflow, options):
            done = await self._ended(workflow, inputs, options, MemoryStore(), asked, reviser)
        else:
            done = await self._kept(workflow, inputs, replace(options, no_store=False, fresh=True), asked, reviser)
        if done.failure is not None:
            raise done.failure
        if done.status != "finished":
            raise RunFailure(done.error or f"The run was {done.status}.")
        return Result(done.outputs, self.diagram, done.loops)

    async def _kept(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Value],
        options: RunOptions,
        asked: ProgramOptions,
        reviser: Reviser | None,
    ) -> RunResult:
        """The same in a journal until it has ended: a run that was killed is continued, and does nothing twice."""
        store = open_runs()
        try:
            left, following = unfinished(store, name_of(workflow, inputs, options))
            if left is not None and asked.again:
                store.delete(left)
                left = None
            if left is not None and asked.tell is not None:
                asked.tell(_CONTINUED)
            done = await self._ended(workflow, inputs, options, store, asked, reviser, run=following, left=left)
            if done.status in _OVER:
                store.delete(done.run)
            return done
        finally:
            store.close()

    async def _ended(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Value],
        options: RunOptions,
        store: Store,
        asked: ProgramOptions,
        reviser: Reviser | None,
        *,
        run: str | None = None,
        left: str | None = None,
    ) -> RunResult:
        """The run, called ``run``, at its end; one that was ``left`` unfinished is continued instead. Raises `RunFailure`."""
        if left is None:
            begun = start(workflow, inputs, options=options, reviser=reviser, store=store, root=self.folder, run_id=run)
        else:
            begun = resume(left, options=options, reviser=reviser, store=store)
        telling = None if asked.tell is None else asyncio.create_task(_notices(begun, asked.tell))
        done = await finish(begun)
        if telling is not None:
            await telling
        while done.status == "waiting":
            _ask_person(store, done, asked)
            done = await finish(resume(done.run, options=options, reviser=reviser, store=store))
        return done


_OVER = frozenset({"finished", "failed"})
_CONTINUED = (
    "The last run with these inputs was stopped before its end. It is continued, and what was done is not done again; to begin"
    " a new one, run it with --again."
)


def _ask_person(store: Store, waiting: RunResult, asked: ProgramOptions) -> None:
    """Put the questions of a run to the person who runs the program. Raises `RunFailure` where they can't be asked."""
    from merrow_runtime.people.answering import answer, content_of

    for question in waiting.asks:
        name = question.visit.name
        given = None
        while given is None:
            typed = None if asked.ask is None else asked.ask(name, question.question)
            if typed is None:
                raise RunFailure(
                    f"Node {name} asks a person, and nobody answers here. Run the program on a terminal, or answer from a"
                    " recording with --replay FILE.",
                    node=name,
                )
            try:
                given = content_of(question, typed)
            except UsageFailure as problem:
                if asked.tell is not None:
                    asked.tell(str(problem))
        answer(store, waiting.run, name, given)


async def _notices(begun: Run, tell: Callable[[str], None]) -> None:
    async for event in begun.events():
        for notice in event.data.get("notices", ()):
            tell(notice)
        return


def _check_model(options: RunOptions) -> None:
    """Raise `UsageFailure` where nothing names an endpoint: nobody wants the embedded model's answers from a program without
    having asked for them.
    """
    if decide(ModelOptions(base_url=options.base_url), os.environ, read_user_settings()).source == "nothing":
        raise UsageFailure(
            "There is no model to ask: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own; or answer from a"
            " recording with --replay FILE.",
            remedy="key",
        )


class _ProgramFiles:
    """Hands out the files that the functions of a program were written as."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def read(self, path: str) -> str:
        """The text of a file. Raises `ResourceError`."""
        if path not in self._files:
            raise ResourceError(f"{path} is not in the program.")
        return self._files[path]

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._files


def workflow_of(flow: FunctionLines) -> Workflow:
    """The workflow that a program's lines describe. Raises `UsageFailure` where it has an error."""
    functions = flow.traced()
    files = file_names({name: function.name for name, function in functions.items()})
    texts = {files[name]: mermaid_text("", function, files) for name, function in functions.items()}
    pins = {name: pin for function in functions.values() for name, pin in function.tools.items() if pin is not None}
    if pins:
        texts[PINS_FILE] = text_of_entries(pins)
    own, provider = files["workflow"], _ProgramFiles(texts)
    try:
        return check_workflow(texts[own], name=flow.name, path=own, provider=provider)
    except UsageFailure:
        errors = analyse(texts[own], path=own, provider=provider, as_workflow=True).errors
        if not errors:
            raise
        raise UsageFailure(mistakes(flow.graph, texts[own], errors)) from None
