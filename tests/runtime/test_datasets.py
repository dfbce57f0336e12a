"""The examples run on problems of real data sets, from ``--input problem=@...`` to the answer that is known to be right.

A server on loopback answers what a good model would: the data set's own solutions. It sees nothing but requests, and where
a node only hands something on, it makes its answer of what it was sent. So the right answer comes out at the end only if
every prompt, program, test and vote on the way is right.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import in_process
from tests.shared import SHARED
from tests.sizes import sized

from merrow_runtime.operators.programs.visible_tests import tests_in as visible_tests_in
from merrow_runtime.sandbox import Sandbox

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DATASETS = SHARED / "datasets"
WRONG_EXAMPLES = {"HumanEval/47", "HumanEval/116", "HumanEval/130", "HumanEval/148"}
"""Problems whose text shows something else than what their own solution and tests do."""
PROBLEMS = sized(10, 25)

Capture = pytest.CaptureFixture[str]
Row = dict[str, Any]

pytestmark = pytest.mark.shared("datasets")


def rows(name: str) -> list[Row]:
    path = DATASETS / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


@pytest.fixture(autouse=True)
def _a_folder_and_a_state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


class GoodModel:
    """Answers by the words of a prompt; ``answers`` are changed from problem to problem."""

    def __init__(self) -> None:
        self.answers: dict[str, str | Callable[[Received], str]] = {}

    def __call__(self, request: Received) -> Step:
        fitting = [answer for words, answer in self.answers.items() if words in request.prompt]
        assert len(fitting) == 1, request.prompt
        answer = fitting[0]
        return Reply(answer if isinstance(answer, str) else answer(request))


@pytest.fixture
def model() -> GoodModel:
    return GoodModel()


@pytest.fixture
def server(model: GoodModel) -> Iterator[OpenAIServer]:
    with serving(model) as running:
        yield running


class Ran:
    """What the events of a run say."""

    def __init__(self, out: str) -> None:
        events = [json.loads(line) for line in out.splitlines()]
        self.last = events[-1]
        self.nodes = {event["node"]: event["outputs"] for event in events if event["event"] == "node_finished"}

    @property
    def output(self) -> str:
        assert self.last["event"] == "run_finished", self.last
        return str(next(iter(self.last["outputs"].values())))


def run(capture: Capture, server: OpenAIServer, example: str, problem: str, **more: str) -> Ran:
    Path("problem.txt").write_text(problem, "utf-8", newline="")
    inputs = [part for name, value in more.items() for part in ("--input", f"{name}={value}")]
    command = ["run", str(EXAMPLES / example), "--input", "problem=@problem.txt", *inputs, "--json"]
    return Ran(in_process(capture, *command, "--base-url", server.base_url).out)


def code(text: str) -> str:
    return f"Here it is.\n\n```python\n{text.rstrip()}\n```\n"


def vote(letter: str) -> str:
    return json.dumps({"thought": "Counted.", "choice": letter})


def boxed(text: str) -> str:
    """What stands in the last box of a solution in LaTeX."""
    start = text.rindex("\\boxed{") + len("\\boxed{")
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start : end - 1]


def passes_hidden_test(solution: str, row: Row) -> bool:
    """Whether the data set's own test, which no workflow has seen, passes."""
    test = f"{row['test']}\ncheck(candidate)"
    return asyncio.run(Sandbox().test(solution, [test], row["entry_point"])).passed


def with_visible_tests(found: list[Row]) -> list[Row]:
    return [row for row in found if visible_tests_in(row["prompt"], row["entry_point"])]


@pytest.mark.slow
def test_gsm8k(model: GoodModel, server: OpenAIServer, capsys: Capture) -> None:
    for row in rows("gsm8k_test")[:PROBLEMS]:
        answer = row["answer"].replace(",", "")
        model.answers = {
            "Solve the problem step by step": f"{row['cot']}\n{row['answer']}",
            "Write a Python 3 program": code(f"def solve():\n    return {answer}"),
            "Find the result that most of them agree on": vote("B"),
        }
        ran = run(capsys, server, "gsm8k.mmd", row["question"])
        assert ran.output == answer
        assert ran.last["usage"]["calls"] == 3
        assert row["question"] in server.requests[-1].prompt
        assert row["cot"].strip() in server.requests[-1].prompt


@pytest.mark.slow
def test_math(model: GoodModel, server: OpenAIServer, capsys: Capture) -> None:
    for row in rows("math_test")[:PROBLEMS]:
        gold = boxed(row["solution"])
        model.answers = {
            "Say in a few sentences how": "Do what leads to the result.",
            "Solve the problem step by step": row["solution"],
            "Write a Python 3 program": code(f"def solve():\n    return {gold!r}"),
            "Find the result that most of them agree on": vote("A"),
            "State its result once more": lambda request: f"\\boxed{{{boxed(request.prompt)}}}",
        }
        ran = run(capsys, server, "math.mmd", row["problem"])
        assert ran.output == f"\\boxed{{{gold}}}"
        assert ran.nodes["CALCULATE"]["output"] == gold.strip()
        assert ran.nodes["ENSEMBLE"]["response"] == row["solution"].strip()


@pytest.mark.slow
def test_humaneval(model: GoodModel, server: OpenAIServer, capsys: Capture) -> None:
    right = [row for row in with_visible_tests(rows("humaneval_test")) if row["task_id"] not in WRONG_EXAMPLES]
    for row in right[:PROBLEMS]:
        solution = row["prompt"] + row["canonical_solution"]
        model.answers = {
            "in the plainest way that is right": code(solution),
            "Look at the examples in the docstring first": code(f"{solution}\n# looked at the examples\n"),
            "Find the result that most of them agree on": vote("A"),
        }
        ran = run(capsys, server, "humaneval.mmd", row["prompt"], entry_point=row["entry_point"])
        assert ran.nodes["TEST"]["result"] is True, ran.nodes["TEST"]["feedback"]
        assert ran.output == solution.strip()
        assert passes_hidden_test(ran.output, row)


@pytest.mark.slow
def test_a_wrong_solution_is_found_by_the_visible_tests_and_repaired(
    model: GoodModel, server: OpenAIServer, capsys: Capture
) -> None:
    for row in with_visible_tests(rows("humaneval_validate"))[:3]:
        wrong = row["prompt"] + "    raise ValueError('not thought about')\n"
        right = row["prompt"] + row["canonical_solution"]

        def repaired(request: Received, right: str = right) -> str:
            assert "ValueError: not thought about" in request.prompt
            return code(right)

        model.answers = {
            "in the plainest way that is right": code(wrong),
            "Look at the examples in the docstring first": code(wrong),
            "First reflect": repaired,
        }
        ran = run(capsys, server, "humaneval.mmd", row["prompt"], entry_point=row["entry_point"])
        assert ran.nodes["TEST"]["result"] is True
        assert "after 1 repair" in ran.nodes["TEST"]["feedback"]
        assert passes_hidden_test(ran.output, row)


@pytest.mark.slow
def test_mbpp_with_the_tests_in_the_text(model: GoodModel, server: OpenAIServer, capsys: Capture) -> None:
    for row in rows("mbpp_validate")[: PROBLEMS // 2]:
        model.answers = {"Write the function that the task asks for": code(row["code"])}
        problem = "\n".join([row["prompt"], "", *row["test_imports"], *row["test_list"]])
        ran = run(capsys, server, "mbpp.mmd", problem, entry_point=row["entry_point"])
        assert ran.output == row["code"].replace("\r\n", "\n").strip()
        assert ran.nodes["TEST"]["result"] is True
        assert "FIX" not in ran.nodes


@pytest.mark.slow
def test_how_many_real_prompts_show_tests() -> None:
    humaneval = rows("humaneval_test") + rows("humaneval_validate")
    assert len(with_visible_tests(humaneval)) >= 140
    mbpp = rows("mbpp_test") + rows("mbpp_validate")
    for row in mbpp:
        text = "\n".join([row["prompt"], "", *row["test_list"]])
        assert len(visible_tests_in(text, row["entry_point"])) == len(set(row["test_list"]))


@pytest.mark.slow
async def test_no_visible_test_fails_a_right_solution() -> None:
    problems, sandbox = with_visible_tests(rows("humaneval_test") + rows("humaneval_validate")), Sandbox()
    results = await asyncio.gather(
        *(
            sandbox.test(
                row["prompt"] + row["canonical_solution"],
                visible_tests_in(row["prompt"], row["entry_point"]),
                row["entry_point"],
            )
            for row in problems
        )
    )
    wrong = {
        row["task_id"]: result.failures for row, result in zip(problems, results, strict=True) if not result.passed
    }
    assert wrong.keys() == WRONG_EXAMPLES, wrong


def test_the_box_of_a_solution_is_read_with_the_braces_inside() -> None:
    assert re.fullmatch(r"\\frac\{11\}\{13\}", boxed(r"so \boxed{1}, no: $\boxed{\frac{11}{13}}$."))
