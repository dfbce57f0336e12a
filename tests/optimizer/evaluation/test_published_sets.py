"""The six published data sets: a gold answer is right for its own item, and wrong for another one with a different gold."""

from __future__ import annotations

import asyncio

import pytest
from tests.shared import SHARED
from tests.sizes import sized

from merrow_optimizer.evaluation.data import DataSet, read_items
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics import check_scoring, metric
from merrow_optimizer.evaluation.metrics.solutions import answer_in
from merrow_optimizer.evaluation.metrics.words import tokens
from merrow_optimizer.evaluation.scores import Score

DATASETS = SHARED / "datasets"
pytestmark = [
    pytest.mark.shared("datasets"),
    pytest.mark.thinned(8, "published sets"),
]

FILES = {
    "gsm8k_validate": (264, "gsm8k"),
    "gsm8k_test": (1055, "gsm8k"),
    "math_validate": (119, "math"),
    "math_test": (486, "math"),
    "drop_validate": (200, "f1"),
    "drop_test": (800, "f1"),
    "hotpotqa_validate": (200, "f1"),
    "humaneval_validate": (33, "pass@1"),
    "humaneval_test": (131, "pass@1"),
    "mbpp_validate": (86, "pass@1"),
    "mbpp_test": (341, "pass@1"),
}
TEXT_SETS = [name for name, (_, scored) in FILES.items() if scored != "pass@1"]
CODE_SETS = [name for name, (_, scored) in FILES.items() if scored == "pass@1"]
FAULTY = {"630"}
"""MBPP: its published solution uses a name that it does not define."""
EVERY = sized(14, 3)


def data(name: str) -> DataSet:
    return read_items(DATASETS / f"{name}.jsonl")


def score_all(read: DataSet, pairs: list[tuple[Item, object]]) -> list[Score]:
    async def main() -> list[Score]:
        scored_by = metric(read.metric_name, **read.metric_options)
        await check_scoring(read, scored_by)
        found = list(await asyncio.gather(*(scored_by.score(item, output) for item, output in pairs)))
        await scored_by.close()
        return found

    return asyncio.run(main())


@pytest.mark.parametrize("name", FILES)
def test_every_record_is_an_item_of_the_part_that_the_file_is(name: str) -> None:
    read = data(name)
    assert (len(read.items), read.metric_name) == FILES[name]
    assert (read.part, read.held_out) == (name.partition("_")[2], name.endswith("_test"))
    assert all(item.inputs["problem"] for item in read.items)


@pytest.mark.parametrize("name", TEXT_SETS)
def test_a_gold_answer_is_right(name: str) -> None:
    read = data(name)
    wrong = [score for score in score_all(read, [(item, item.gold) for item in read.items]) if score.value != 1.0]
    assert wrong == []


def key(item: Item, name: str) -> object:
    """What makes two golds of a data set the same answer."""
    if name.startswith("drop"):
        return [tuple(tokens(part)) for part in item.gold.split("|")]
    return answer_in(item.gold).replace(" ", "") if name.startswith("math") else item.gold.replace(",", "").lower()


def same(one: object, other: object) -> bool:
    return bool(set(one) & set(other)) if isinstance(one, list) and isinstance(other, list) else one == other


@pytest.mark.parametrize("name", TEXT_SETS)
def test_the_gold_of_another_item_is_wrong(name: str) -> None:
    read = data(name)
    items = list(read.items)
    pairs = [(one, other) for one, other in zip(items, items[1:] + items[:1], strict=True)]
    differing = [(one, other) for one, other in pairs if not same(key(one, name), key(other, name))]
    assert len(differing) > 0.9 * len(pairs)
    found = score_all(read, [(one, other.gold) for one, other in differing])
    assert [
        (one.id, other.id) for (one, other), score in zip(differing, found, strict=True) if score.value == 1.0
    ] == []


@pytest.mark.parametrize("name", CODE_SETS)
def test_a_published_solution_passes_and_that_of_another_task_fails(name: str) -> None:
    read = data(name)
    chosen = [item for item in read.items if item.id not in FAULTY][::EVERY]
    others = chosen[1:] + chosen[:1]
    pairs: list[tuple[Item, object]] = [(item, f"```python\n{item.gold}\n```") for item in chosen]
    pairs += [(item, other.gold) for item, other in zip(chosen, others, strict=True)]
    found = [score.value for score in score_all(read, pairs)]
    assert found == [1.0] * len(chosen) + [0.0] * len(chosen)


def test_tasks_whose_tests_need_the_prompt_s_helpers() -> None:
    read = [item for name in ("humaneval_test", "humaneval_validate") for item in data(name).items]
    needing = [item for item in read if item.id in {"HumanEval/32", "HumanEval/38", "HumanEval/50"}]
    assert len(needing) == 3
    pairs: list[tuple[Item, object]] = []
    for item in needing:
        body = item.gold.removeprefix(item.extra["prompt"])
        name = item.extra["entry_point"]
        pairs.append((item, f"def {name}(s):\n{body}" if "xs" not in body else f"def {name}(xs):\n{body}"))
    assert [score.value for score in score_all(data("humaneval_test"), pairs)] == [1.0] * 3


def test_visible_tests_are_joined() -> None:
    humaneval = [item for name in ("humaneval_test", "humaneval_validate") for item in data(name).items]
    without = {item.extra["entry_point"] for item in humaneval if not item.inputs["tests"]}
    assert without == {"find_zero", "decode_cyclic", "decode_shift", "by_length", "starts_one_ends"}
    mbpp = {item.id: item for name in ("mbpp_test", "mbpp_validate") for item in data(name).items}
    assert mbpp["631"].inputs["tests"] == ["assert candidate('Jumanji The Jungle') == 'Jumanji_The_Jungle'"]
    assert mbpp["628"].inputs["tests"] == ["assert candidate(\"My Name is Dawood\") == 'My%20Name%20is%20Dawood'"]
    assert mbpp["591"].inputs["tests"] == ["assert candidate([12, 35, 9, 56, 24]) == [24, 35, 9, 56, 12]"]
    # The published file has these with the function called twice over, which no solution passes.
    assert {item.id for item in mbpp.values() if not item.inputs["tests"]} == {"2", "7", "111", "140", "232"}
