"""Whatever fails while an answer is read, the answer was paid: it is kept, counted once, and not paid for again.

Each reader of an answer is made to throw, one by one, as a deeply nested answer or a fault in Merrow would make it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.optimizer.extraction.harness import MARKS, rows_file
from tests.optimizer.extraction.planted import World
from tests.optimizer.planning.plans import answer, merrow_form, plan_of
from tests.optimizer.suggestions.scripted import FLOW, Model, candidate, prompt, said
from tests.runtime.openai_server import OpenAIServer, Reply, serving
from tests.server.program import Outcome, in_process

from merrow_optimizer.evaluation.metrics import judge as judging
from merrow_optimizer.extraction.generator import Generator, instructions
from merrow_optimizer.planning import candidates, coverage
from merrow_optimizer.revising import model as revising
from merrow_optimizer.suggestions import judge as scoring
from merrow_optimizer.suggestions import session
from merrow_runtime.calls.tools import NodeTools
from merrow_runtime.store.database import Store

Capture = pytest.CaptureFixture[str]

WORLD = World(5, operators=3, cases=4)
NODES = {
    "Custom": 'A@{op: Custom, prompt: "p"}',
    "a JSON Schema": 'A@{\n      op: Custom\n      prompt: "p"\n      returns: Json\n      format:\n        type: object\n    }',
    "a format": 'A@{op: Custom, prompt: "p", format: json}',
    "Number": 'A@{op: Custom, prompt: "p", returns: Number}',
    "Code": 'A@{op: Custom, prompt: "p", returns: Code}',
    "Workflow": 'A@{op: Custom, prompt: "p", returns: Workflow}',
    "AnswerGenerate": "A@{op: AnswerGenerate}",
    "CustomCodeGenerate": "A@{op: CustomCodeGenerate}",
    "Programmer": "A@{op: Programmer}",
    "Review": "A@{op: Review}",
    "Format": "A@{op: Format}",
    "ScEnsemble": "A@{op: ScEnsemble}",
    "Assemble": "A@{op: Assemble}",
    "a validator": 'A@{op: Custom, prompt: "p", validate: good}',
}
EDGES = {
    "Review": ("PROBLEM -->|problem| A", "PROBLEM -->|solution| A"),
    "Format": ("PROBLEM -->|problem| A", "OTHER -->|solution| A"),
    "ScEnsemble": ("PROBLEM -->|problem| A", "OTHER & THIRD --> A"),
}
"""What feeds a node that PROBLEM alone does not do for."""
VALIDATOR = "  validators: {good: {rubric: Is it good?}}\n"


def flow(name: str) -> str:
    edges = EDGES.get(name, ("PROBLEM --> A",))
    others = [f"{one}([{one}]):::Interface@{{default: {one}}}" for one in ("OTHER", "THIRD") if one in " ".join(edges)]
    lines = [
        "PROBLEM([Problem]):::Interface", "RETURN([Result]):::Interface", *others, NODES[name], *edges,
        "A --> RETURN", "classDef Interface fill:#eee",
    ]  # fmt: skip
    front = f"---\nworkflow:\n  model: m\n{VALIDATOR if 'validator' in name else ''}---\n"
    return f"{front}flowchart TD\n" + "".join(f"    {line}\n" for line in lines)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return tmp_path


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serving(lambda _: Reply("An answer.")) as running:
        yield running


def fails(*_: object, **__: object) -> NoReturn:
    raise RecursionError("maximum recursion depth exceeded")


def unreadable(monkeypatch: pytest.MonkeyPatch, first: int = 0) -> None:
    """All readers of nodes' answers throw, but for the ``first`` ones."""
    ask, asked = NodeTools.ask, []

    async def asks(self: NodeTools, step: str, messages: Any, read: Callable[[str], Any], **more: Any) -> Any:
        asked.append(step)
        return await ask(self, step, messages, read if len(asked) <= first else fails, **more)

    monkeypatch.setattr(NodeTools, "ask", asks)


class Paying:
    """Carries out commands; the requests that each made are its calls, and all of them those that the costs know."""

    def __init__(self, capsys: Capture, server: OpenAIServer) -> None:
        self._capsys, self._server = capsys, server

    def __call__(self, *command: str) -> tuple[Outcome, int]:
        """What came of a command, and how many requests it made."""
        asked = len(self._server.requests)
        outcome = in_process(self._capsys, *command, "--base-url", self._server.base_url)
        assert "Traceback" not in outcome.err
        rows = in_process(self._capsys, "costs", "--all", "--format", "json").json["rows"]
        assert sum(row["calls"] for row in rows) == len(self._server.requests)
        return outcome, len(self._server.requests) - asked


def last(outcome: Outcome) -> dict[str, Any]:
    """The event that a run ended with."""
    event: dict[str, Any] = json.loads(outcome.out.splitlines()[-1])
    return event


@pytest.fixture
def paying(capsys: Capture, server: OpenAIServer) -> Paying:
    return Paying(capsys, server)


@pytest.mark.parametrize("name", NODES)
def test_a_node_whose_answer_can_not_be_read_is_paid_once(
    paying: Paying, capsys: Capture, state: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (state / "flow.mmd").write_text(flow(name), encoding="utf-8")
    command = ("run", "flow.mmd", "--input", "problem=x", "--json")
    with monkeypatch.context() as patched:
        unreadable(patched, first=1 if "validator" in name else 0)
        first, asked = paying(*command)
        ended = last(first)
        assert asked > 0
        assert paying("resume", ended["run"])[1] == 0  # from the journal
        other, again = paying(*command)  # from the cache
        assert again == 0
    assert (first.code, other.code) == (1, 1)
    assert (ended["usage"]["calls"], last(other)["usage"]["calls"]) == (asked, 0)
    with closing(Store.open()) as store:
        assert sum(call.usage.calls for call in store.calls(ended["run"])) == asked
    # Once it can be read, the answer that was paid is the one that is used.
    resumed, more = paying("resume", ended["run"])
    assert (resumed.code, more) == (0, 0) or more > 0


def test_what_plans_and_suggests_pays_once_for_an_answer_that_can_not_be_read(
    paying: Paying, server: OpenAIServer, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ("plan", "Make a web page.", "-n", "2")
    with monkeypatch.context() as patched:
        patched.setattr(candidates, "_read", fails)
        assert [paying(*plan)[1] for _ in range(2)] == [2, 0]
    server.answer = lambda _: Reply(answer(merrow_form(plan_of("AB", "AB"))))
    drawn = ("plan", "Make a page.", "-n", "2")
    with monkeypatch.context() as patched:
        patched.setattr(coverage, "read_coverage", fails)
        assert [paying(*drawn)[1] for _ in range(2)] == [3, 0]
    (state / "flow.mmd").write_text(FLOW, encoding="utf-8")
    with monkeypatch.context() as patched:
        patched.setattr(session, "read_answers", fails)
        assert [paying("suggest", "flow.mmd", "--yes", "--goal", "a")[1] for _ in range(2)] == [1, 0]
    server.answer = Model(said(candidate(prompt("Check each step."))))
    with monkeypatch.context() as patched:
        patched.setattr(scoring, "_read", fails)
        # Of one candidate both orders of the judge are one question.
        assert [paying("suggest", "flow.mmd", "--yes", "--goal", "b")[1] for _ in range(2)] == [2, 0]


def test_a_reviser_whose_answer_can_not_be_read_is_paid_once(
    paying: Paying, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = flow("Custom").replace("model: m", "model: m\n  refine: {every: 1}")
    then = 'B@{op: Custom, prompt: "q"}\n    A --> B --> RETURN'
    (state / "flow.mmd").write_text(
        text.replace("    PROBLEM --> A\n    A --> RETURN", f"    PROBLEM --> A\n    {then}"), encoding="utf-8"
    )
    with monkeypatch.context() as patched:
        patched.setattr(revising, "read_answer", fails)
        first, asked = paying("run", "flow.mmd", "--input", "problem=x", "--json")
        assert asked == 2
        assert paying("resume", last(first)["run"])[1] == 0


@pytest.mark.parametrize("stage", ["initial", "groups", "deepening", "wording"])
def test_an_extraction_whose_answers_can_not_be_read_is_paid_once(
    paying: Paying, server: OpenAIServer, state: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """The readers of one stage throw; what was asked until then is in the journal, and known to a new extraction, too."""
    rows_file(state, WORLD.rows())
    monkeypatch.chdir(state)
    server.answer = lambda request: Reply(WORLD.answer(request.body))
    command = ("extract", "math_validate.jsonl", "--model", "m", "--optimizer-model", "g", "-o", "operators.yaml")
    answer = Generator.answer

    async def answers(self: Generator, number: int, messages: Any, schema: Any, read: Any, *more: Any) -> Any:
        is_it = messages[0].content.startswith(instructions(stage))
        return await answer(self, number, messages, schema, fails if is_it else read, *more)

    with monkeypatch.context() as patched:
        patched.setattr(Generator, "answer", answers)
        first, asked = paying(*command)
        assert (first.code != 0, asked > 0) == (True, True)
        assert [paying(*again)[1] for again in (("resume",), command)] == [0, 0]
    assert paying(*command)[0].code == 0
    put = [json.dumps(one.body) for one in server.requests if any(mark in one.prompt for mark in MARKS.values())]
    assert len(set(put)) == len(put) > 0


def test_a_metric_whose_model_gives_what_can_not_be_read_is_paid_once(
    capsys: Capture, server: OpenAIServer, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state / "flow.mmd").write_text(flow("Custom"), encoding="utf-8")
    (state / "own.jsonl").write_text('{"id": "1", "problem": "x", "answer": "y"}\n', encoding="utf-8")
    monkeypatch.setattr(judging, "read_fields", fails)
    command = (
        "evaluate", "flow.mmd", "--dataset", "own.jsonl", "--metric", "judge", "--metric-option", "rubric=Good?",
        "--format", "json", "--base-url", server.base_url,
    )  # fmt: skip
    done = in_process(capsys, *command)
    assert (done.json["usage"]["calls"], done.json["answers"]["invalid"], len(server.requests)) == (2, 1, 2)
    in_process(capsys, "resume", done.json["evaluation"], "--base-url", server.base_url)
    assert len(server.requests) == 2
