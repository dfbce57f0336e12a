"""What agents cost beside their models and their servers of tools.

    .venv/bin/python -m benchmarks.agents [STEPS]

Runs with a journal in a file, an endpoint in this process that takes no time, and tools that answer at once: CPU milliseconds
and commits of a step with one call, next to those of a model's call, and of one call of a tool more. Then what the check of a
file with 50 pinned tools takes, as a multiple of the same file without tools. Contenders take turns; figures are medians.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

import merrow_runtime
from merrow_analysis.check import analyse
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, pinned
from merrow_runtime import RunOptions
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.options import RunOptions as Options
from merrow_runtime.requests import AskedCall, ModelReply, ModelRequest, ToolCall, ToolResult
from merrow_runtime.running.resources import RunResources
from merrow_runtime.store.database import Store
from merrow_runtime.store.sql import Statement
from merrow_runtime.store.writer import Writer
from merrow_runtime.usage import Usage
from merrow_runtime.workflow import Workflow, check_workflow

ROUNDS = 9
TOOLS = 50
AIMS = {"step": 1.5, "call": 1.0, "commits": 2.0, "check": 1.2}
"""Milliseconds of a step with the call of its model, and of a call of a tool; commits of a call; times as long a check."""
_ENDS = "    PROBLEM([P]):::Interface\n    RETURN([R]):::Interface\n"
_TEXT = "text " * 40


class Files:
    """The pins, and nothing else."""

    def __init__(self, pins: str) -> None:
        self._pins = pins

    def exists(self, path: str) -> bool:
        return path == PINS_FILE

    def read(self, path: str) -> str:
        if path != PINS_FILE:
            raise ResourceError("There is no such file.")
        return self._pins


class Endpoint:
    """Answers at once: asks for so many calls in each of so many steps, then answers."""

    origin = "http://bench.test"

    def __init__(self, steps: int = 0, calls: int = 0) -> None:
        self._steps, self._calls = steps, calls

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        del on_text
        done = sum(1 for message in request.messages if message.calls)
        asked = [AskedCall(f"c{number}", "s__t0", f'{{"a": "{number}"}}') for number in range(self._calls)]
        calls = tuple(asked) if done < self._steps and request.tools else ()
        return ModelReply("" if calls else _TEXT, usage=Usage(10, 10, 1, 0.0), calls=calls)

    async def close(self) -> None:
        pass


class Servers:
    """Tools that answer at once and may not be called again, which takes the two commits."""

    are_real = False

    def check(self, *given: object, **named: object) -> None:
        del given, named

    def may_repeat(self, call: ToolCall) -> bool:
        del call
        return False

    def may_use(self, call: ToolCall) -> bool:
        del call
        return True

    async def prepare(self, call: ToolCall) -> None:
        del call

    async def call(self, *given: object, **named: object) -> ToolResult:
        del given, named
        return ToolResult(_TEXT)

    async def close(self) -> None:
        pass


def pins(count: int) -> str:
    """A file of pins of so many tools."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "What it takes."}, "b": {"type": "integer"}},
        "required": ["a"],
    }
    tools = [{"name": f"t{number}", "description": "Does something.", "inputSchema": schema} for number in range(count)]
    return NO_PINS.with_tools(pinned("s", tool) for tool in tools).text()


def agent(steps: int) -> Workflow:
    """One agent."""
    text = (
        f"---\nworkflow: {{model: m, tools: [s.t0]}}\n---\nflowchart TD\n{_ENDS}"
        f"    A@{{ op: ToolAgent, prompt: Do it., tools: s.t0, max: {steps} }}\n    PROBLEM -->|input| A --> RETURN\n"
    )
    return check_workflow(text, provider=Files(pins(1)))


def chain(length: int) -> Workflow:
    """A row of model calls, each of which reads the one before."""
    nodes = [f"    N{number}@{{ op: Custom, prompt: Say it. }}\n" for number in range(length)]
    edges = " --> ".join(f"N{number}" for number in range(length))
    text = f"---\nworkflow: {{model: m}}\n---\nflowchart TD\n{_ENDS}{''.join(nodes)}"
    return check_workflow(f"{text}    PROBLEM -->|input| {edges} --> RETURN\n")


class Counted:
    """Counts the commits of journals."""

    commits = 0


def counting() -> None:
    """Count commits from now on."""
    commit = Writer._commit

    def counted(self: Writer, statements: Sequence[Statement], patience: float) -> None:
        Counted.commits += 1
        commit(self, statements, patience)

    setattr(Writer, "_commit", counted)  # noqa: B010 (a method in place of another)


async def taken(workflow: Workflow, endpoint: Endpoint, folder: Path) -> tuple[float, int]:
    """CPU milliseconds and commits of a run."""
    options: Options = RunOptions(stream=False, fresh=True)
    with closing(Store.open(folder / "journal.db")) as store:
        began, before = time.process_time(), Counted.commits
        result = await merrow_runtime.run(workflow, {"problem": "x"}, endpoint=endpoint, store=store, options=options)
        if result.status != "finished":
            raise SystemExit(str(result.error))
        return (time.process_time() - began) * 1_000, Counted.commits - before


async def measured(steps: int) -> Mapping[str, float]:
    """The figures of runs."""
    one, several, row, short = agent(steps + 1), agent(steps + 1), chain(steps + 1), chain(1)
    rounds: dict[str, list[float]] = {"model": [], "step": [], "call": [], "commits": []}
    for number in range(ROUNDS + 1):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            long, _ = await taken(row, Endpoint(), folder)
            least, _ = await taken(short, Endpoint(), folder)
            nothing, _ = await taken(one, Endpoint(), folder)
            single, commits = await taken(one, Endpoint(steps, 1), folder)
            many, more = await taken(several, Endpoint(steps, 5), folder)
        if number:  # the first round warms up
            model = (long - least) / steps
            call = (many - single) / (4 * steps)
            rounds["model"].append(model)
            rounds["call"].append(call)
            rounds["step"].append((single - nothing) / steps - call)
            rounds["commits"].append((more - commits) / (4 * steps))
    return {name: median(figures) for name, figures in rounds.items()}


def checked() -> float:
    """How many times as long the check of a file with an agent that is offered 50 tools takes, as with a model in its place."""
    names = [f"s.t{number}" for number in range(TOOLS)]
    nodes = [f"    N{number}@{{ op: Custom, prompt: Say it. }}\n" for number in range(50)]
    edges = "".join(f"    N{number} -->|input| N{number + 1}\n" for number in range(49))
    body = f"flowchart TD\n{_ENDS}{''.join(nodes)}{edges}    PROBLEM -->|input| N0\n    N49 -->|input| A --> RETURN\n"
    plain = f"---\nworkflow: {{model: m}}\n---\n{body}    A@{{ op: Custom, prompt: Say it. }}\n"
    offered = ", ".join(names)
    own = f'    A@{{ op: ToolAgent, prompt: Say it., tools: "{offered}" }}\n'
    tools = f"---\nworkflow:\n  model: m\n  tools: [{offered}]\n---\n{body}{own}"
    provider = Files(pins(TOOLS))
    ratios: list[float] = []
    for _ in range(ROUNDS * 3):
        seconds: list[float] = []
        for text in (plain, tools):
            began = time.process_time()
            if not analyse(text, path="flow.mmd", provider=provider).is_valid:
                raise SystemExit("The file has errors.")
            seconds.append(time.process_time() - began)
        ratios.append(seconds[1] / seconds[0])
    return median(ratios[ROUNDS:])


def main(steps: int) -> None:
    """Print all figures with what they are to be at most."""
    counting()
    RunResources.tools = Servers()  # type: ignore[assignment,method-assign]
    found = {**asyncio.run(measured(steps)), "check": checked()}
    lines = {
        "model": "a model's call, in a row of nodes (ms)",
        "step": "a step of an agent without its tools (ms)",
        "call": "a call of a tool (ms)",
        "commits": "commits of a call of a tool",
        "check": f"check with {TOOLS} pinned tools (times)",
    }
    for name, line in lines.items():
        aim = f"   at most {AIMS[name]:g}" if name in AIMS else ""
        sys.stdout.write(f"{line:45} {found[name]:6.2f}{aim}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
