"""Make the recordings of the examples from answers that were written by hand.

Each file of examples/replays/answers says which workflow runs on which inputs, and what is answered where. The workflow
really runs: against a server on loopback that gives these answers, with servers of tools that give what is written there,
and with every program and every test in the sandbox. What the run recorded becomes examples/replays/<name>.jsonl, with a
header that says where it comes from.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step  # noqa: E402

import merrow_runtime  # noqa: E402
from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, read_pins  # noqa: E402
from merrow_runtime.people.answering import answer as answer_question  # noqa: E402
from merrow_runtime.people.answering import open_questions  # noqa: E402
from merrow_runtime.store.memory import MemoryStore  # noqa: E402
from merrow_runtime.values import as_text  # noqa: E402

EXAMPLES = ROOT / "examples"
ANSWERS = EXAMPLES / "replays" / "answers"
NOTE = "The answers in this recording were written by hand, not by a model; programs and tests were really run."
NOTE_OF_TOOLS = "The answers in this recording were written by hand, not by a model, and so was what its tools gave."
_PERSON = "a person"
"""Who answers what people are asked."""
_UNPINNED = {"inputSchema": {"type": "object"}}
_IMPOSSIBLE = 418
"""A status that nothing recovers from: the answers and the workflow have parted."""


Place = tuple[str, str, int, str]
"""The path of a frame, a node, a sample, a step."""


@dataclass(frozen=True)
class Answer:
    """What is said at a step of a node; ``when`` are words of the prompt by which it is known.

    ``path`` names the frame of a node in a Loop, a Map or a called file, ``TALK[1]/AROUND[2]``; ``sample`` counts from 0.
    """

    node: str
    step: str
    when: str
    says: str
    path: str = ""
    sample: int = 0
    calls: Sequence[Mapping[str, Any]] = ()
    """The calls that the model asks for with it, each with the name of a ``tool`` as it is offered and its ``arguments``."""

    @property
    def reply(self) -> Reply:
        """The answer as the endpoint gives it."""
        functions = [{"name": one["tool"], "arguments": json.dumps(one["arguments"])} for one in self.calls]
        called = [{"id": f"c{number}", "type": "function", "function": one} for number, one in enumerate(functions, 1)]
        return Reply(self.says.rstrip("\n"), usage=False, message={"tool_calls": called} if called else {})

    @property
    def place(self) -> Place:
        """Where it is said."""
        return self.path, self.node, self.sample, self.step


@dataclass(frozen=True)
class ToolsAnswer:
    """What a tool gives, ``web.search`` for example; ``when`` are words in its arguments by which the call is known."""

    tool: str
    when: str
    gives: str


@dataclass(frozen=True)
class PersonsAnswer:
    """What a person answers, as on the command line: ``visit`` names the node, in a Loop or a Map with its turn or item."""

    visit: str
    says: str


@dataclass(frozen=True)
class Script:
    """A run of an example with the answers that were written for it, and the output that it must have."""

    name: str
    workflow: str
    inputs: dict[str, str]
    answers: Sequence[Answer]
    output: str
    shows: str
    people: Sequence[PersonsAnswer] = ()
    tools: Sequence[ToolsAnswer] = ()

    @classmethod
    def read(cls, path: Path) -> Script:
        """Of a file of examples/replays/answers. An input that names a file in examples/inputs is that file's text."""
        said: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
        return cls(
            path.relative_to(ANSWERS).with_suffix("").as_posix(),
            said["workflow"],
            said["inputs"],
            [Answer(**one) for one in said["answers"]],
            said["output"],
            said["shows"],
            [PersonsAnswer(**one) for one in said.get("people", ())],
            [ToolsAnswer(**one) for one in said.get("tools", ())],
        )

    @property
    def replay(self) -> Path:
        """Where the recording is kept."""
        return EXAMPLES / "replays" / f"{self.name}.jsonl"

    @property
    def command(self) -> list[str]:
        """The command that replays it, in the folder of the repository."""
        given = ["merrow", "run", f"examples/{self.workflow}"]
        for name, value in self.inputs.items():
            given += ["--input", f"{name}=@examples/inputs/{value}" if _is_file(value) else f"{name}={value}"]
        return [*given, "--replay", self.replay.relative_to(ROOT).as_posix()]


def scripts() -> list[Script]:
    """All that there are."""
    return [Script.read(path) for path in sorted(ANSWERS.rglob("*.yaml"))]


def _is_file(value: str) -> bool:
    return (EXAMPLES / "inputs" / value).is_file()


def _text(value: str) -> str:
    return (EXAMPLES / "inputs" / value).read_text("utf-8") if _is_file(value) else value


async def record(script: Script, path: Path) -> str:
    """Run the example and record it at ``path``; the output. Raises `ValueError` where the answers don't fit the run.

    A prompt gets the first of the answers that fit it which was not given before: later turns repeat words of earlier ones,
    and samples have the same prompt.
    """
    left = list(script.answers)

    def answer(request: Received) -> Step:
        fitting = next((one for one in left if one.when in request.prompt), None)
        if fitting is None:
            return Status(_IMPOSSIBLE, f"No answer fits this prompt: {request.prompt}")
        left.remove(fitting)
        return fitting.reply

    inputs = {name: _text(value) for name, value in script.inputs.items()}
    async with OpenAIServer(answer) as server:
        set_servers(script, path.parent)
        # One call at a time, so that samples ask in their order.
        options = merrow_runtime.RunOptions(base_url=server.base_url, record=path, concurrency=1)
        workflow, store = EXAMPLES / script.workflow, MemoryStore()
        result = await merrow_runtime.run(workflow, inputs, options=options, store=store)
        people = list(script.people)
        while result.status == "waiting":
            for ask in open_questions(store, result.run):
                said = next((one for one in people if one.visit == ask.visit.name), None)
                if said is None:
                    raise ValueError(f"{script.name}: nobody answers {ask.visit.name}.")
                people.remove(said)
                answer_question(store, result.run, said.visit, said.says.rstrip("\n"), by=_PERSON)
            result = await merrow_runtime.resume(result.run, options=options, store=store).result()
    if people:
        raise ValueError(f"{script.name}: nobody asks {people[0].visit}.")
    if result.status != "finished":
        raise ValueError(f"{script.name}: {result.error}")
    return as_text(next(iter(result.outputs.values())))


def set_servers(script: Script, folder: Path) -> None:
    """Have the settings in ``folder``, which are the user's from now on, name servers that give what was written."""
    pins = read_pins((ROOT / PINS_FILE).read_text("utf-8")) if script.tools else NO_PINS
    tables: list[str] = []
    for server in sorted({one.tool.partition(".")[0] for one in script.tools}):
        # The tools of an environment are not pinned.
        known = pins.servers.get(server, {})
        names = sorted({one.tool.partition(".")[2] for one in script.tools if one.tool.startswith(f"{server}.")})
        said = [{"name": name, **(known[name].said if name in known else _UNPINNED)} for name in known or names]
        file = folder / f"{server}.json"
        file.write_text(json.dumps({"tools": said, "gives": [asdict(one) for one in script.tools]}), "utf-8")
        command = [sys.executable, str(ROOT / "scripts" / "replay_server.py"), str(file), server]
        tables += [f"[servers.{server}]", f"command = {json.dumps(command)}", "allow = true", "repeatable = true"]
    (folder / "config.toml").write_text("\n".join((*tables, "")), "utf-8")
    os.environ["MERROW_CONFIG_DIR"] = str(folder)


def finished(script: Script, recorded: str) -> str:
    """The recording as it is kept: labelled, without the times and the counts of the run that made it.

    Raises `ValueError` where an answer was given at another place than the one that it was written for.
    """
    header, *lines = (json.loads(line) for line in recorded.splitlines())
    header |= {
        "workflow": f"examples/{script.workflow}",
        "written_by_hand": True,
        "note": NOTE_OF_TOOLS if script.tools else NOTE,
        "shows": script.shows,
        "inputs": script.inputs,
    }
    places = {one.place: one.says.rstrip("\n") for one in script.answers}
    used = set()
    for line in lines:
        if line["kind"] != "model":
            continue
        place = place_of(line)
        if places.get(place) != line["result"]["text"]:
            raise ValueError(f"{script.name}: {place} was answered with what was written for another place.")
        used.add(place)
        line["result"]["seconds"] = 0.0
    if unused := sorted(places.keys() - used):
        raise ValueError(f"{script.name}: nobody asked for {unused}.")
    # Nodes that run at the same time are recorded in the order in which they end, which is chance.
    order = [one.place[:3] for one in script.answers]

    def rank(line: dict[str, Any]) -> tuple[int, Place]:
        place = place_of(line)
        return (order.index(place[:3]) if place[:3] in order else len(order)), (*place[:3], "")

    lines.sort(key=rank)
    return "".join(json.dumps(line) + "\n" for line in [header, *lines])


def place_of(line: Mapping[str, Any]) -> Place:
    """Where a call of a recording was made; ``line`` is its object."""
    return line.get("path", ""), line["node"], line["sample"], line["step"]


def main() -> int:
    """Make all of them; 1 where the answers don't fit a workflow any more."""
    with tempfile.TemporaryDirectory() as folder:
        for script in scripts():
            path = Path(folder) / script.replay.name
            script.replay.parent.mkdir(exist_ok=True)
            try:
                output = asyncio.run(record(script, path))
                text = finished(script, path.read_text("utf-8"))
            except ValueError as problem:
                sys.stderr.write(f"{problem}\n")
                return 1
            if output != script.output:
                sys.stderr.write(f"{script.name}: the output is\n{output}\nand not\n{script.output}\n")
                return 1
            script.replay.write_text(text, "utf-8", newline="\n")
            sys.stdout.write(f"{script.replay.relative_to(ROOT)}: {len(text.splitlines()) - 1} calls and runs\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
