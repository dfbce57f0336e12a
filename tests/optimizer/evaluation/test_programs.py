"""The metrics pass@1 and python: solutions and files run in the sandbox, and nothing that they do makes them right."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.optimizer.evaluation.data_files import lines_of, problems_in, written
from tests.optimizer.evaluation.scoring import item
from tests.patience import PATIENCE
from tests.runtime.sandbox.test_forged_verdicts import FORGERIES

from merrow_optimizer.evaluation.data import DataError, read_items
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics import check_scoring, metric
from merrow_optimizer.evaluation.scores import InvalidItemError, Score
from merrow_runtime.sandbox import Limits, Sandbox

PROMPT = '''import math


def halve(x):
    """Half of it."""
    return x / 2


def f(x):
    """Twice what halve gives four times over.

    >>> f(1)
    2
    """
'''
TASK = {
    "task_id": "T/1",
    "prompt": PROMPT,
    "entry_point": "f",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(halve(3)) == 3\n"
    "    assert math.isclose(f(2), 4)\n",
}


def task(folder: Path, **changed: Any) -> Item:
    file = written(folder, lines_of({**TASK, **changed}), "humaneval.jsonl")
    return read_items(file, part="all").items[0]


def score_all(each: Item, *outputs: Any, sandbox: Sandbox | None = None) -> list[Score]:
    async def main() -> list[Score]:
        return list(
            await asyncio.gather(*(metric("pass@1", sandbox=sandbox).score(each, output) for output in outputs))
        )

    return asyncio.run(main())


def test_what_a_solution_may_look_like(tmp_path: Path) -> None:
    right = [
        PROMPT + "    return 2 * x",
        "def f(x):\n    return 2 * x",
        "Here it is:\n\n```python\ndef f(x):\n    return 2 * x\n```\nIt doubles.",
        "    return 2 * x\n",
        "def f(x):\n    return 4 * halve(x)",
        "from __future__ import annotations\nimport math\ndef f(x: Odd) -> Odd:\n    return math.floor(8 * halve(x)) / 2",
        "f = lambda x: x + x",
    ]
    wrong = [
        "",
        "2 * x",
        "def g(x):\n    return 2 * x",
        "def f(x):\n    return 3 * x",
        "def f(x)\n    return 2 * x",
        "    return 3 * x\n",
    ]
    found = score_all(task(tmp_path), *right, *wrong)
    assert [score.value for score in found] == [1.0] * len(right) + [0.0] * len(wrong)
    assert found[len(right) + 3].reason == "AssertionError: f(1) returned 3"
    assert found[len(right) + 2].reason == "The answer's code does not define `f`."


def test_a_helper_of_the_prompt_is_not_the_solution_s_to_define(tmp_path: Path) -> None:
    test = "def check(candidate):\n    assert halve(candidate(3)) == 3\n"
    forged, honest = "def halve(x):\n    return 3\ndef f(x):\n    return 0", "def f(x):\n    return 2 * x"
    assert [score.value for score in score_all(task(tmp_path, test=test), forged, honest)] == [0.0, 1.0]


@pytest.mark.thinned(24)
@pytest.mark.parametrize("name", FORGERIES)
def test_forged_solutions_are_wrong(tmp_path: Path, name: str) -> None:
    from textwrap import dedent

    [score] = score_all(task(tmp_path), dedent(FORGERIES[name]), sandbox=Sandbox(limits=Limits(wall_s=4)))
    assert score.value == 0.0


MORE_FORGERIES = {
    "exits at import": "import os\nos._exit(0)\ndef f(x): pass",
    "a check of its own": "def check(candidate):\n    pass\ndef f(x):\n    return 0",
    "equal to everything": "class E:\n    def __eq__(self, other): return True\ndef f(x):\n    return E()",
    "forks": "import os\ndef f(x):\n    while True: os.fork()",
    "swallows what stops it": "def f(x):\n    while True:\n        try: f(x)\n        except BaseException: pass",
    "prints without end": "def f(x):\n    while True: print('x' * 100000)",
    "memory without end": "def f(x):\n    return [0] * 10**12",
    "reads frames": "import sys\ndef f(x):\n    g = sys._getframe(1).f_globals\n    g['check'] = lambda c: None\n    return 0",
    "another isclose": "import math\nmath.isclose = lambda *a: True\ndef f(x):\n    return 2 * x if x < 2 else 0",
}


@pytest.mark.slow
def test_more_forged_solutions_are_wrong(tmp_path: Path) -> None:
    found = score_all(task(tmp_path), *MORE_FORGERIES.values(), sandbox=Sandbox(limits=Limits(wall_s=8)))
    assert dict(zip(MORE_FORGERIES, [score.value for score in found], strict=True)) == dict.fromkeys(
        MORE_FORGERIES, 0.0
    )


WRONG_TASKS = [
    ({"test": "def check(candidate):\n    pass\n"}, "test", "The test doesn't call `f`"),
    ({"test": "def check(candidate):\n    candidate(1)\n"}, "test", "The test asserts nothing"),
    ({"test": "def check(candidate):\n    candidate(1)\n    assert True\n"}, "test", "The test asserts nothing"),
    ({"test": ""}, "test", "The test defines no function `check(candidate)`."),
    ({"test": "def other(candidate):\n    assert candidate(1) == 2\n"}, "test", "The test defines no function `check("),
    ({"test": "class check:\n    pass\nassert f(1) == 2\n"}, "test", "The test defines no function `check("),
    ({"test": "def check("}, "test", "The test isn't Python."),
    ({"entry_point": "f(x)"}, "entry_point", "The value can't be the name of a function."),
    ({"entry_point": "class"}, "entry_point", "The value can't be the name of a function."),
    ({"canonical_solution": None}, "canonical_solution", "The value is null"),
]


@pytest.mark.parametrize(("changed", "field", "sentence"), WRONG_TASKS)
def test_tests_that_test_nothing_are_data_errors(
    tmp_path: Path, changed: dict[str, Any], field: str, sentence: str
) -> None:
    rows = [{**TASK, "task_id": "T/0"}, {**TASK, **changed}]
    [(line, at, said)] = problems_in(written(tmp_path, lines_of(*rows), "humaneval.jsonl"))
    assert (line, at) == (2, field)
    assert said.startswith(sentence)


MBPP = {
    "task_id": 1,
    "prompt": "Double it.",
    "code": "def f(x):\n    return 2 * x",
    "test_list": ["assert f(1) == 2"],
    "entry_point": "f",
}


@pytest.mark.parametrize(
    ("tests", "sentence"),
    [
        ([], "The list has no test; a solution can't pass without one."),
        (["assert g(1)"], "The test doesn't call `f`"),
        (["assert f(1) =="], "Test 1 isn't Python."),
        (["assert f(1) == 2", "f(1)"], "The test asserts nothing"),
        ([1], "The value must be a list of texts."),
    ],
)
def test_lists_of_tests_that_test_nothing(tmp_path: Path, tests: list[Any], sentence: str) -> None:
    [(line, at, said)] = problems_in(written(tmp_path, lines_of({**MBPP, "test_list": tests}), "mbpp.jsonl"))
    assert (line, at) == (1, "test_list")
    assert said.startswith(sentence)


def test_visible_tests_are_joined_by_id_and_by_name_only_where_they_are_the_task_s_own(tmp_path: Path) -> None:
    tasks = [
        MBPP,
        {**MBPP, "task_id": 2, "test_list": ["assert f(1)  == 3", "assert f(1) == 2"]},
        {**MBPP, "task_id": 3, "test_list": ["assert f(9) == 9"]},
        {**MBPP, "task_id": 4, "test_list": ["assert g(9) == 9"], "entry_point": "g"},
    ]
    visible = [
        {"entry_point": "f", "test": ["assert candidate(1) == 2"]},
        {"entry_point": "f", "test": ["assert candidate(1) == 3"]},
        {"task_id": 4, "entry_point": "f", "test": ["assert candidate(0) == 0"]},
    ]
    written(tmp_path, lines_of(*visible), "mbpp_public_test.jsonl")
    data = read_items(written(tmp_path, lines_of(*tasks), "mbpp.jsonl"), part="all")
    assert {each.id: each.inputs["tests"] for each in data.items} == {
        "1": ["assert candidate(1) == 2"],
        "2": ["assert candidate(1) == 3"],
        "3": [],
        "4": ["assert candidate(0) == 0"],
    }
    written(tmp_path, lines_of({"entry_point": "f", "test": "assert"}, {"test": []}), "mbpp_public_test.jsonl")
    assert [(line, field) for line, field, _ in problems_in(tmp_path / "mbpp.jsonl")] == [(1, "test"), (2, None)]


async def test_own_data_has_no_tests_to_run(tmp_path: Path) -> None:
    data = read_items(written(tmp_path, lines_of({"q": "x", "a": "y"})), gold="a")
    with pytest.raises(DataError, match=r"data\.jsonl:1: There are no tests to run; use the reader humaneval or mbpp"):
        await check_scoring(data, metric("pass@1"))


def python_file(folder: Path, text: str) -> Path:
    return written(folder, text, "scoring.py")


async def scored_by_file(folder: Path, text: str, output: Any = "abc", sandbox: Sandbox | None = None) -> Score:
    return await metric("python", file=python_file(folder, text), sandbox=sandbox).score(item("abcd", q="?"), output)


async def test_a_python_file_scores(tmp_path: Path) -> None:
    shares = "def score(inputs, gold, output):\n    return len(set(gold) & set(output)) / len(gold), f'{inputs}'"
    assert await scored_by_file(tmp_path, shares) == Score(0.75, "abc", "{'q': '?'}")
    assert (await scored_by_file(tmp_path, "def score(i, g, o):\n    return g != o")).value == 1.0
    assert (
        await scored_by_file(tmp_path, "def score(i, g, o):\n    print(1)\n    return o['n']", {"n": 0.5})
    ).value == 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return 2", "scoring.py: score() must return a number from 0 to 1, not 2"),
        ("return float('nan')", "must return a number from 0 to 1"),
        ("return 10**400", "must return a number from 0 to 1"),
        ("return 'yes'", "must return a number from 0 to 1, not yes"),
        ("return None", "must return a number from 0 to 1"),
        ("return object()", "TypeError"),
        ("raise ValueError('odd')", "ValueError: odd"),
        ("raise SystemExit(0)", "scoring.py: "),
        ("import os; os._exit(0)", "scoring.py: "),
        ("while True: pass", "time limit"),
        ("return open('/etc/passwd').read()", "scoring.py: "),
    ],
)
async def test_a_file_that_fails_makes_the_item_invalid(tmp_path: Path, body: str, reason: str) -> None:
    limits = Limits(wall_s=3) if reason == "time limit" else Limits(wall_s=PATIENCE)
    with pytest.raises(InvalidItemError) as raised:
        await scored_by_file(tmp_path, f"def score(i, g, o):\n    {body}", sandbox=Sandbox(limits=limits))
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def score(output):\n    return 1", "scoring.py:1: The function `score` must take three values"),
        ("x = 1", "must define a function `score(inputs, gold, output)`"),
        ("x =\n", "scoring.py:1: The metric's file isn't Python"),
    ],
)
def test_a_file_that_can_not_score_is_a_data_error(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(DataError) as raised:
        metric("python", file=python_file(tmp_path, text))
    assert sentence in str(raised.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(DataError, match="The metric's file can't be read: No such file"):
        metric("python", file="none.py")


def test_another_text_of_the_file_is_another_metric(tmp_path: Path) -> None:
    texts = ["def score(i, g, o):\n    return 1", "def score(i, g, o):\n    return 0"]
    assert len({metric("python", file=python_file(tmp_path, text)).identity for text in texts}) == 2
    assert json.dumps(metric("python", file=tmp_path / "scoring.py").options)


async def test_no_sandbox_is_said_before_any_call() -> None:
    with pytest.raises(DataError, match="The metric pass@1 runs code"):
        await metric("pass@1", sandbox=Sandbox(backend="seatbelt" if sys.platform == "linux" else "landlock")).prepare()
