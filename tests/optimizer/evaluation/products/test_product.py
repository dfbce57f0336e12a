"""The metric `product` and the data set `flow-tasks`: read, told what is missing, scored by the share of what was judged."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.optimizer.evaluation.products.good_slides import SETTINGS as SLIDES
from tests.optimizer.evaluation.products.good_slides import deck
from tests.optimizer.evaluation.products.good_website import SETTINGS as SITE
from tests.optimizer.evaluation.products.judging import answer, score_of

from merrow_optimizer.evaluation.data import DataError, read_items
from merrow_optimizer.evaluation.data.names import data_file, shipped_names
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics import check_scoring, metric
from merrow_optimizer.evaluation.scores import Score


def test_the_three_tasks_come_with_merrow() -> None:
    assert "flow-tasks" in shipped_names()
    data = read_items(data_file("flow-tasks"))
    by_scorer: dict[str, list[Item]] = {}
    for item in data.items:
        assert set(item.inputs) == {"problem"}, "what is wanted of a product is said in the task alone"
        by_scorer.setdefault(item.gold["scorer"], []).append(item)
    assert {name: len(items) for name, items in by_scorer.items()} == {"gobang": 1, "slides": 5, "website": 1}
    assert (data.metric_name, data.part) == ("product", "all")
    asyncio.run(check_scoring(data, metric("product")))
    four = ["Motivation", "Problem", "Intuition", "Mathematics"]
    decks = {item.id: item for item in by_scorer["slides"]}
    assert {name: (item.gold["frames"], item.gold["parts"]) for name, item in decks.items()} == {
        "slides-1": (30, four),
        "slides-2": (20, four),
        "slides-3": (30, [*four[:3], "Pseudocode"]),
        "slides-4": (20, ["Motivation", "Intuition"]),
        "slides-5": (30, four),
    }
    assert len({item.inputs["problem"] for item in decks.values()}) == 5, "each has answers of its own"
    for item in decks.values():
        task, gold = item.inputs["problem"], item.gold
        assert f"about {gold['frames']} frames" in task
        assert (f"at least {gold['equations']} displayed equations" in task) == bool(gold["equations"])
        assert ("Pseudocode" in task) == ("pseudocode" in gold)
        assert gold["sections"] == 3
        assert "at least three algorithms" in task
        assert all(f'"{part}"' in task for part in gold["parts"])
    site = by_scorer["website"][0]
    wanted = [each for name in ("information", "venue") for each in site.gold[name]]
    assert all(any(one in site.inputs["problem"] for one in each.split("|")) for each in wanted)


WRONG_GOLDS: list[tuple[Any, str]] = [
    ("gobang", "must be an object whose `scorer` is one of gobang, slides, website"),
    ({"scorer": "poem"}, "one of gobang, slides, website"),
    ({"scorer": "slides", **SLIDES, "frames": 0}, "`frames` of slides must be a whole number above 0"),
    ({"scorer": "slides", **SLIDES, "equations": True}, "`equations` of slides"),
    ({"scorer": "slides", **SLIDES, "equations": -1}, "`equations` of slides must be a whole number from 0"),
    ({"scorer": "slides", **SLIDES, "pseudocode": "some"}, "`pseudocode` of slides must be a whole number from 0"),
    ({"scorer": "slides", **SLIDES, "sections": 0}, "`sections` of slides must be a list of texts"),
    ({"scorer": "slides", **SLIDES, "sections": []}, "`sections` of slides must be a list of texts"),
    ({"scorer": "slides", **SLIDES, "parts": "motivation"}, "`parts` of slides"),
    ({"scorer": "website", **SITE, "venue": [""]}, "`venue` of a website must be a list of texts"),
    ({"scorer": "website"}, "`information` of a website"),
]


@pytest.mark.parametrize(("gold", "why"), WRONG_GOLDS)
def test_settings_that_can_not_be_used_are_said_before_the_first_call(gold: Any, why: str) -> None:
    assert why in str(metric("product").fault(Item("1", {}, gold)))


def test_wrong_settings_are_an_error_of_the_data(tmp_path: Any) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text('{"problem": "?", "product": {"scorer": "poem"}}\n', "utf-8")
    data = read_items(file, gold="product")
    with pytest.raises(DataError, match=r"own\.jsonl:1: The gold answer must be an object"):
        asyncio.run(check_scoring(data, metric("product")))


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("", "There is no file `slides.tex`; the answer has no fenced block that names a file."),
        ("All criteria are met. compiles: met. complete: met.", "There is no file `slides.tex`"),
        (answer(other_tex="x"), "There is no file `slides.tex`; there are other.tex."),
        ("```latex slides.tex\n\\documentclass{beamer}", "The file `slides.tex` is cut off"),
        ("```latex slides.tex\na\n```\n```latex slides.tex\nb\n```", "given twice"),
        ("```latex ../slides.tex\na\n```", "leads outside"),
        ("```\na\n```\n\n```\nb\n```", "There is no file `slides.tex`"),
    ],
)
def test_an_answer_without_the_product_misses_all(output: str, why: str) -> None:
    found = score_of({"scorer": "slides", **SLIDES}, output)
    assert isinstance(found, Score)
    assert (found.value, found.read, found.reason.count(": missed. ")) == (0.0, "", 3)
    assert why in found.reason


def test_what_is_missing_here_is_said_before_the_first_call_and_is_part_of_the_score(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    complete = metric("product")
    items = [Item("1", {}, {"scorer": "slides", **SLIDES}), Item("2", {}, {"scorer": "gobang"})]
    lacks_already = bool(complete.remarks(items))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("MERROW_BROWSER", "/nowhere/browser")
    lacking = metric("product")
    [said] = lacking.remarks(items)
    assert said.startswith(
        "Not judged of products that are scored as slides: compiles, length. It needs pdflatex with Beamer"
    )
    assert lacking.remarks([items[1]]) == []
    site = Item("3", {}, {"scorer": "website", **SITE})
    assert "works, information, sections" in lacking.remarks([site])[0]
    assert lacks_already or lacking.identity != complete.identity, "a score of less is not taken for a score of all"
    monkeypatch.undo()
    assert metric("product").identity == complete.identity


def test_the_score_is_the_share_of_what_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = score_of({"scorer": "slides", **SLIDES}, answer(slides_tex=deck("nothing")))
    assert isinstance(found, Score)
    assert found.value == 0.0
    assert found.reason.index("complete: missed.") < found.reason.index("compiles: not judged."), (
        "what is wrong comes first"
    )
    assert len(found.reason) <= 1000
