"""What the functions of a program are made with, how one is run, and the command line of a program."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from html import escape
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from merrow_runtime.calls.account import Account
from merrow_runtime.calls.calling import Calling
from merrow_runtime.calls.effects import Effects
from merrow_runtime.calls.gate import Gate
from merrow_runtime.compiling.tracing import MISSING, Lines
from merrow_runtime.compiling.work import Unkept, Untold, Unwatched, work_of
from merrow_runtime.errors import BudgetFailure, RunFailure, UsageFailure
from merrow_runtime.models import azure
from merrow_runtime.models.budget import Budget
from merrow_runtime.models.connections import LOCAL_MAX_TOKENS, Connection, concurrency_at, default_concurrency
from merrow_runtime.models.openai_endpoint import OpenAIEndpoint
from merrow_runtime.models.origins import OPENAI_BASE_URL, OPENAI_ORIGIN, is_local, origin_of
from merrow_runtime.options import RunOptions
from merrow_runtime.program.inputs import read_inputs, with_defaults
from merrow_runtime.provenance import REPLAY_ORIGIN
from merrow_runtime.running.scheduler import Scheduler
from merrow_runtime.store.recordings.recording import Recorder, Replay
from merrow_runtime.values import Value, as_text
from merrow_runtime.visit import segment

_LARGEST_INPUT = 50_000_000
_INTERRUPTED = 130


@dataclass(frozen=True)
class Asked:
    """How a program is to be run: what its command line, or another program, says."""

    options: RunOptions = field(default_factory=RunOptions)
    inputs: Mapping[str, Value] = field(default_factory=dict)


_ASKED: ContextVar[Asked | None] = ContextVar("asked", default=None)
"""Said by who runs a function of a program otherwise than by calling it alone."""


def asked_for() -> Asked:
    """How the program is to be run now."""
    return _ASKED.get() or Asked()


class Result(str):
    """What a program prints, which is its one output where that is text. ``outputs`` has the values of all outputs by id;
    ``diagram`` is the workflow that was run, as Mermaid.
    """

    __slots__ = ("diagram", "outputs")
    outputs: dict[str, Value]
    diagram: str

    def __new__(cls, outputs: Mapping[str, Value], diagram: str = "") -> Result:
        """``outputs`` by id."""
        made = super().__new__(cls, "\n".join(map(as_text, outputs.values())))
        made.outputs = dict(outputs)
        made.diagram = diagram
        return made

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows."""
        del include, exclude
        shown = "".join(
            f"<h4>{escape(name)}</h4><pre>{escape(as_text(value))}</pre>" for name, value in self.outputs.items()
        )
        return {
            "text/plain": str(self),
            "text/vnd.mermaid": self.diagram,
            "text/html": f'<pre class="mermaid">{escape(self.diagram)}</pre>{shown}',
        }


class Flow(Lines):
    """The workflow that a function's lines describe, and its run."""

    async def run(self) -> Result:
        """Run it: what reaches its outputs. Raises `RunFailure`."""
        asked = asked_for()
        graph: Any = self.graph
        return await _Run(self, asked.options, with_defaults(graph, self.inputs, asked.inputs)).result()

    @property
    def diagram(self) -> str:
        """The workflow as Mermaid draws it."""
        lines = ["flowchart TD"]
        shapes = {"input": ('(["', '"])'), "output": ('(["', '"])'), "decision": ('{"', '"}')}
        for node in self.graph.nodes:
            before, after = shapes.get(node.kind, ('["', '"]'))
            shown = node.title.replace('"', "#quot;").replace("\n", " ")
            lines.append(f"    n{node.index}{before}{shown}{after}")
        for node in self.graph.nodes:
            for edge in (*node.incoming, *node.again_in):
                label = (edge.case_label or "").replace('"', "#quot;").replace("\n", " ")
                case = f'|"{label}"|' if label else ""
                lines.append(f"    n{edge.source.index} -->{case} n{node.index}")
        return "\n".join(lines)


class _NoEndpoint:
    """Stands where all answers come from a recording."""

    origin = REPLAY_ORIGIN

    async def close(self) -> None:
        """Nothing to close."""


class _Run:
    """One run of a workflow of a program."""

    def __init__(self, flow: Flow, options: RunOptions, inputs: Mapping[str, Value]) -> None:
        self._flow, self._options = flow, options
        graph: Any = flow.graph
        self._inputs = read_inputs(graph, inputs)
        self._replay = Replay.read(options.replay) if isinstance(options.replay, Path) else None
        self._recorder: Recorder | None = None
        self._endpoint: Any = _NoEndpoint() if self._replay is not None else endpoint_of(options)

    async def result(self) -> Result:
        """Carry it out."""
        flow, options = self._flow, self._options
        if isinstance(options.record, Path):
            self._recorder = Recorder(options.record, {"workflow": flow.name, "seed": options.seed})
        budget = self._budget()
        effects = self._effects(budget)
        try:
            work = work_of(flow, effects, options.concurrency or concurrency_at(self._endpoint), inputs=self._inputs)
            watcher = Unwatched()
            scheduler = Scheduler(work.frontier(), self._inputs, work, watcher)
            effects.busy.append(scheduler)
            if self._recorder is not None:
                self._recorder.begin()
            try:
                async with asyncio.timeout(None if budget is None else budget.remaining_seconds):
                    await scheduler.run()
            except TimeoutError:
                raise BudgetFailure(
                    "The time that the budget allows is over: raise it with --budget-seconds."
                ) from None
            if scheduler.failure is not None:
                raise watcher.located(scheduler.failure)
            return Result(scheduler.results, flow.diagram)
        finally:
            await self._endpoint.close()
            if self._recorder is not None:
                self._recorder.close()

    def _budget(self) -> Budget | None:
        flow, options = self._flow, self._options
        tokens = flow.tokens if options.budget_tokens is None else options.budget_tokens
        seconds = flow.seconds if options.budget_seconds is None else options.budget_seconds
        usd = flow.usd if self._replay is None else None
        return None if usd is None and tokens is None and seconds is None else Budget(usd, tokens, seconds)

    def _effects(self, budget: Budget | None) -> Effects:
        options = self._options
        loops = [box for box in self._flow.graph.boxes.values() if "budget" in box.parameters]
        gate = Gate(asyncio.get_running_loop())
        calling = Calling(
            self._endpoint,
            gate.places(options.concurrency or concurrency_at(self._endpoint)),
            budget,
            options.retry,
            None,
        )
        journal: Any = Unkept()
        telling: Any = Untold()
        account = Account(meters=frozenset(segment(box.id) for box in loops))
        return Effects(options, journal, calling, gate, telling, account, None, self._replay, self._recorder)


def endpoint_of(options: RunOptions) -> OpenAIEndpoint:
    """The endpoint that answers: the command line's address, else the environment's, else OpenAI's where there is a key for it,
    else Azure's.

    A key goes only to the origin that the environment means, and to an address that was typed. Raises `UsageFailure`.
    """
    environment = os.environ
    key = environment.get("OPENAI_API_KEY", "").strip()
    named = environment.get("OPENAI_BASE_URL", "").strip()
    found = azure.environment_key(environment)
    azures = environment.get(azure.ENDPOINT_VARIABLE, "").strip() if found else ""
    base_url = options.base_url or named or (OPENAI_BASE_URL if key else "") or azures
    if not base_url:
        raise UsageFailure(
            "There is no model to ask: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own; or answer from a"
            " recording with --replay FILE.",
            remedy="key",
        )
    origin = origin_of(base_url)
    meant = origin_of(named, "OPENAI_BASE_URL") if named else OPENAI_ORIGIN
    source = ""
    is_meant = options.base_url is not None or origin == azure.environment_origin(environment)
    if found is not None and is_meant and azure.is_azure(origin, environment):
        key, source = found
    address, needed = azure.azure_at(base_url, environment, key_source=source) or (base_url, None)
    return OpenAIEndpoint(
        Connection(
            address,
            key,
            options.concurrency or default_concurrency(origin),
            None,
            environment_headers=origin == meant,
            azure=needed,
            max_tokens=LOCAL_MAX_TOKENS if is_local(origin) else None,
        )
    )


# The command line


def run_program(function: Callable[..., Coroutine[Any, Any, Result]], about: str | None) -> int:
    """Run the workflow of a function as the command line says; the exit code. Errors are one sentence on standard error."""
    given = _parser(about).parse_args()
    try:
        asked = Asked(_options(given), _values(given.input))
    except RunFailure as failure:
        return _complain(failure)
    return asyncio.run(_watched(function, asked))


async def _watched(function: Callable[..., Coroutine[Any, Any, Result]], asked: Asked) -> int:
    token = _ASKED.set(asked)
    wanted = [one for one in signature(function).parameters.values() if one.default is Parameter.empty]
    task = asyncio.ensure_future(function(*[MISSING] * len(wanted)))
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, ValueError):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        result = await task
    except RunFailure as failure:
        return _complain(failure)
    except asyncio.CancelledError:
        return _INTERRUPTED
    finally:
        _ASKED.reset(token)
    for name, value in result.outputs.items():
        if len(result.outputs) > 1:
            _say(name)
        _print(as_text(value))
    return 0


def _parser(about: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    add = parser.add_argument
    add("--input", action="append", default=[], metavar="NAME=VALUE", help="An input's value; NAME=@file reads a file.")
    add("--model", help="In place of the workflow's model; nodes that name their own keep it.")
    add("--base-url", metavar="URL", help="The endpoint.")
    add("--concurrency", type=int, metavar="N", help="Calls at the same time.")
    add("--budget-tokens", type=int, metavar="N", help="Stop once this many tokens are used.")
    add("--budget-seconds", type=float, metavar="S", help="Stop after this many seconds.")
    add("--record", metavar="F", help="Write all calls to this file, to replay them.")
    add("--replay", metavar="F", help="Answer all calls from this recording, and from nowhere else.")
    add("--seed", type=int, default=0, help="Random seed for shuffles.")
    add("--sandbox", metavar="MEANS", help="Sandbox for generated code. Default: the strongest one available.")
    add(
        "--allow-unsafe-code",
        action="store_true",
        help="Run generated code although nothing on this machine can hold it.",
    )
    return parser


def _options(given: argparse.Namespace) -> RunOptions:
    if given.record is not None and given.record == given.replay:
        raise UsageFailure("--record and --replay can't name the same file.")
    return RunOptions(
        model=given.model,
        base_url=given.base_url,
        concurrency=given.concurrency,
        budget_tokens=given.budget_tokens,
        budget_seconds=given.budget_seconds,
        record=None if given.record is None else Path(given.record),
        replay=None if given.replay is None else Path(given.replay),
        seed=given.seed,
        sandbox=given.sandbox,
        allow_unsafe=given.allow_unsafe_code,
    )


def _values(pairs: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        name = name.strip()
        if not mark or not name:
            raise UsageFailure(f"--input {pair!r} lacks its value; write --input NAME=VALUE or --input NAME=@file.")
        if name in values:
            raise UsageFailure(f"--input {name} is given twice.")
        values[name] = _value(value)
    return values


def _value(value: str) -> str:
    """What is meant by ``@file``, ``@-`` (standard input) or ``@@...``; any other text means itself."""
    if value.startswith("@@") or not value.startswith("@"):
        return value[1:] if value.startswith("@@") else value
    name = value[1:]
    try:
        if name == "-":
            data = sys.stdin.buffer.read()
        else:
            if Path(name).stat().st_size > _LARGEST_INPUT:
                raise UsageFailure(f"{name} is too large: at most {_LARGEST_INPUT // 1_000_000} MB are read.")
            data = Path(name).read_bytes()
        return data.decode("utf-8").removeprefix("\ufeff")
    except OSError as problem:
        raise UsageFailure(f"{name} can't be read: {problem.strerror or problem}.") from None
    except (UnicodeDecodeError, ValueError):
        raise UsageFailure(f"{name} is not UTF-8; save it as UTF-8.") from None


def _complain(failure: RunFailure) -> int:
    _say(f"{Path(sys.argv[0]).name}: {failure.sentence}")
    return 2 if isinstance(failure, UsageFailure) else 1


def _say(text: str) -> None:
    """Write to standard error; what would drive a terminal is shown as characters."""
    sys.stderr.write("".join(_harmless(text)) + "\n")


def _print(text: str) -> None:
    """Write to standard output exactly as it is, but on a terminal harmlessly."""
    shown = "".join(_harmless(text)) if sys.stdout.isatty() else text
    sys.stdout.write(shown + "\n")
    sys.stdout.flush()


def _harmless(text: str) -> Iterator[str]:
    for character in text:
        yield character if character.isprintable() or character in "\n\t" else f"\\x{ord(character):02x}"
