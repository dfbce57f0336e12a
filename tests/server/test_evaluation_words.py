"""What an evaluation came to in words, word for word, of reports put together by hand."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from tests.server.test_evaluation_formats import report_of, rich_report, row_of

from merrow_optimizer.evaluation.data.names import shipped_file
from merrow_optimizer.evaluation.summary import compared
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.usage import NOTHING, Usage
from merrow_server.evaluations.evaluation_words import (
    cost_sentence,
    ended_text,
    facts,
    last_text,
    lens_title,
    may_cost,
    report_text,
)
from merrow_server.evaluations.so_far import SoFar
from merrow_server.evaluations.tables import MOST_ROWS, comparison_lines, report_lines


def coloured(text: str, **how: Any) -> str:
    return f"<{', '.join(f'{name} {one}' for name, one in how.items())}: {text}>"


def test_an_evaluation_is_a_table_with_a_score() -> None:
    rows = [
        {**row_of(0, "failed", "a\n b"), "title": "n" * 29, "inputs": None},
        {**row_of(1, "wrong", "漢" * 20), "title": "n" * 28, "repeat": 0, "reason": "r" * 49, "run": "e\x1b/1"},
        {**row_of(2, "right", ""), "inputs": {"A": "a\x1b", "B": [1]}, "title": "q2", "repeat": 0, "seconds": 61.0},
    ]
    report = report_of(rows)
    assert list(report_lines(report, whole=True)) == [
        f"inputs{' ' * 36}item{' ' * 26}status  answer{' ' * 21}  expected{' ' * 19}  reason{' ' * 44}cost     seconds  run",
        f"unknown{' ' * 35}{'n' * 25}...  failed  a b{' ' * 24}  a b{' ' * 24}  a b{' ' * 47}$0.0010  1.5 s    e1/q0",
        f"{'漢' * 20}  {'n' * 28}  wrong   {'漢' * 12}...  {'漢' * 12}...  {'r' * 45}...  $0.0010  1.5 s    e␛/1",
        f'{{ "A": "a\\u001b", "B": [ 1 ] }}{" " * 12}q2{" " * 26}  right   {" " * 29}{" " * 29}{" " * 50}$0.0010  1 min    e1/q2',
        "",
        "Score 0.500 [0.250, 0.750] on 3 items (exact, 95 % interval)",
        "1 right, 1 wrong, 1 failed",
        "3 calls, 15 tokens, cost unknown, 5.0 s",
    ]
    first, second, end, *_ = list(report_lines(report, whole=False))[1:]
    assert ("n" * 25 + "...  failed" in first, "n" * 28 + "  wrong" in second, end) == (True, True, "")
    lines = list(report_lines(rich_report(), whole=True, style=coloured))
    names = [re.findall(r"\bq\d", line)[0] for line in lines[1:5]]
    assert names == ["q0", "q0", "q1", "q1"]
    assert lines[0].startswith(f"<bold True: inputs{' ' * 34}>  <bold True: item            >  <bold True: status >  ")
    assert lines[1].startswith(f"b<d{' ' * 37}  q0 b<d (1)        <fg red: failed >  b<d ")


@pytest.mark.parametrize("count", [0, 1, MOST_ROWS, MOST_ROWS + 1, MOST_ROWS + 1200])
def test_of_many_failures_the_first_are_listed(count: int) -> None:
    report = report_of([*(row_of(number, "wrong", "x") for number in range(count)), row_of(count, "right", "x")])
    lines = list(report_lines(report, whole=False))
    shown = min(count, MOST_ROWS)
    assert sum(" wrong  " in line for line in lines) == shown
    more = [f"and {count - shown:,} more: merrow show e1"] if count > shown else []
    assert lines[shown + 1 if shown else 0 : -3] == ([*more, ""] if shown else [])
    assert not any("right  " in line for line in lines)


def test_the_score_comes_with_all_that_is_known_beside_it() -> None:
    def said(**more: Any) -> list[str]:
        return list(report_lines({**rich_report(), "rows": [], **more}, whole=False))

    used = "3,000 calls, 1,500 tokens, $0.2500, 21 min"
    score = "Score 0.500 [0.250, 0.750] on 1 item (exact, 95 % interval)"
    left = "2 right, 1 failed, 1 invalid, 1,234 not asked yet; the score leaves out what is unanswered or invalid"
    assert said() == [score, left, "pass^1 0.750, pass^3 0.500; 1 flaky: q0", used]
    masking = {"rate": 0.5, "only": ["B", "C"], "refine": True, "nodes": 2, "redone": 1, "expected": 0.5625}
    told = said(
        score=None,
        flaky=[f"q{number}" for number in range(9)],
        pass_hat=[0.5],
        masking=masking,
        people={"items": 1, "share": 1.0, "interval": [0.5, 1.0], "kappa": None, "kappa_interval": None},
        answers={"right": 0, "wrong": 0, "failed": 0, "unanswered": 1, "invalid": 0},
        missing=0,
    )
    assert told == [
        "No score (exact)",
        "1 unanswered; the score leaves out what is unanswered or invalid",
        "pass^1 0.500; 9 flaky: q0, q1, q2, q3, q4, q5, q6, q7, ...",
        "Each result of B, C was passed on as `none` with probability 0.5, with refinement. A workflow that is right exactly"
        " where nothing masked is left scores (1 - 0.5^2)^2 = 0.562.",
        "People agree with it on 1.000 [0.500, 1.000] of 1 answer that they rated; Cohen's kappa needs both verdicts.",
        used,
    ]
    few = said(flaky=[f"q{number}" for number in range(8)])[2]
    assert few == "pass^1 0.750, pass^3 0.500; 8 flaky: q0, q1, q2, q3, q4, q5, q6, q7"
    assert said(flaky=[])[2] == "pass^1 0.750, pass^3 0.500; 0 flaky"
    for redone, term in ((None, "0"), (0, "0.5")):
        wide = {**masking, "only": [], "refine": False, "redone": redone}
        assert said(masking=wide)[3] == (
            "Each result was passed on as `none` with probability 0.5, without refinement. A workflow that is right exactly where"
            f" nothing masked is left scores (1 - {term})^2 = 0.562."
        )
    people = {"items": 2, "share": 0.5, "interval": [0.25, 0.75], "kappa": 0.5, "kappa_interval": [-0.5, 1.0]}
    assert said(people=people)[3] == (
        "People agree with it on 0.500 [0.250, 0.750] of 2 answers that they rated, Cohen's kappa 0.500 [-0.500, 1.000]."
    )
    clean = said(repeats=1, missing=0, answers={"right": 1200, "wrong": 1, "failed": 0, "unanswered": 0, "invalid": 0})
    assert clean == [score, "1,200 right, 1 wrong", used]
    assert next(report_lines(rich_report() | {"rows": []}, whole=True, style=coloured)).startswith(
        "<bold True: Score> 0.5"
    )


def scored(values: dict[str, float]) -> list[ScoreRecord]:
    return [ScoreRecord(item, 0, "right", one, "", "", NOTHING, 0.0, "", b"", b"") for item, one in values.items()]


def test_two_evaluations_are_compared_in_words() -> None:
    def said(before: dict[str, float], after: dict[str, float]) -> list[str]:
        return list(comparison_lines(compared(scored(before), scored(after), repeats=1), "a", "b", coloured))

    assert said({"x": 1.0}, {"y": 1.0}) == ["a and b have scored no item in common."]
    first, *rest = said({"x\x1b": 0.0, "y": 1.0, "z": 1.0}, {"x\x1b": 1.0, "y": 0.0, "z": 1.0, "w": 1.0})
    assert first.startswith("<bold True: Difference> +0.000 [")
    assert first.endswith(" on 3 items (b minus a), p = 1.000 (McNemar)")
    assert rest == [
        "<fg green: better> on 1: x␛",
        "<fg red: worse> on 1: y",
        "So few items show no difference with probability .8, however large it is.",
        "1 item has a score in only one of them, and no part in this.",
    ]
    more = said({"x": 1.0, "v": 1.0}, {"x": 1.0, "w": 1.0})
    assert " on 1 item (b minus a), " in more[0]
    assert more[-1] == "2 items have a score in only one of them, and no part in this."
    assert len(said({"x": 1.0}, {"x": 1.0})) == 2


def test_what_there_is_so_far_is_the_score_the_money_and_the_rest() -> None:
    def one(status: str, value: float | None) -> ScoreRecord:
        return ScoreRecord("q", 0, status, value, "", "", Usage(1, 1, 1, 0.25), 0.0, "", b"", b"")

    assert SoFar(2).text() == "$0"
    known = SoFar(4, [one("right", 1.0), one("unanswered", None), one("invalid", None)])
    assert (known.done, known.text()) == (2, "score 1.000, $0.5000")
    known.add(one("wrong", 0.0))
    known.add(one("failed", None))
    assert (known.done, known.text()) == (4, "score 0.333, $1.0000, 0.0 s left")


def test_editors_tell_the_last_evaluation_in_a_few_words() -> None:
    rich = {**rich_report(), "started": time.time() - 7200, "changed": False}
    lens = "Score 0.500 [0.250, 0.750] · n = 1 · 2 h ago"
    hover = "Last evaluation, 2 h ago: score 0.500 [0.250, 0.750] on 1 item."
    assert (lens_title(rich), last_text(rich)) == (lens, hover)
    rich["changed"] = True
    assert lens_title(rich) == f"{lens} · before this change"
    assert last_text(rich) == f"{hover} The workflow does something else now."
    known = [("data", "/d/own.jsonl (part all, each item 2 times)"), ("metric", "exact"), ("answered by", "m at o")]
    assert facts(rich) == known
    once = {**rich, "repeats": 1, "model": "", "endpoint": OFFLINE_ORIGIN}
    offline = "the embedded offline model"
    assert facts(once) == [("data", "/d/own.jsonl (part all)"), ("metric", "exact"), ("answered by", offline)]
    used = "3,000 calls, 1,500 tokens, $0.2500, 21 min"
    score = (
        "Score 0.500 [0.250, 0.750] on 1 item (exact, 95 % interval): 2 right, 1 failed, 1 invalid, 1,234 not asked yet"
    )
    left = f"{score}; the score leaves out what is unanswered or invalid; {used}."
    for status, said in (
        ("finished", ""),
        ("cancelled", "Evaluation e1 was cancelled. "),
        ("stopped", "Evaluation e1 was stopped before its end. "),
        ("interrupted", "Evaluation e1 was interrupted. "),
        ("running", "Evaluation e1 was left. "),
    ):
        assert ended_text({**rich, "status": status, "error": None}) == said + left
    assert ended_text(rich) == f"Evaluation e1 was cancelled. {left} It was <stopped>."
    head = [
        "Evaluation e1 of /w/flow.mmd",
        "data /d/own.jsonl (part all, each item 2 times); metric exact; answered by m at o",
        "cancelled, 2 h ago",
    ]
    page = report_text(rich).splitlines()
    assert page[:5] == [*head, "It was <stopped>.", ""]
    assert page[5:] == list(report_lines(rich, whole=True))
    assert report_text({**rich, "error": None}).splitlines() == [*head, *page[4:]]


def test_editors_say_what_an_evaluation_may_cost() -> None:
    forecast: dict[str, Any] = {
        "cost_usd": {"most": 0.5},
        "items": 1,
        "repeats": 1,
        "calls": {"least": 1, "most": 1},
        "dataset": "/d/own.jsonl",
        "part": "all",
        "endpoint": "http://m.test",
    }
    end = "; what is known already costs nothing."
    for more, said in (
        ({}, "1 item of own.jsonl (part all): 1 call to http://m.test, for at most about $0.5000"),
        (
            {"dataset": str(shipped_file("mails"))},
            "1 item of mails (part all): 1 call to http://m.test, for at most about $0.5000",
        ),
        (
            {"items": 1200, "repeats": 3, "calls": {"least": 1000, "most": 2000}, "cost_usd": {"most": None}},
            "1,200 items of own.jsonl (part all), each 3 times: 1,000 to 2,000 calls to http://m.test, for a price that is not"
            " known",
        ),
        (
            {"calls": {"least": 1, "most": None}, "cost_usd": {"most": 0.0}},
            "1 item of own.jsonl (part all): 1 or more calls to http://m.test, for $0",
        ),
    ):
        assert cost_sentence({**forecast, **more}) == said + end
    assert [may_cost({**forecast, "cost_usd": {"most": most}}) for most in (None, 0, 0.5)] == [True, False, True]
    judged = {**forecast, "cost_usd": {"most": 0}, "judging": {"least": 1, "most": 2}}
    assert may_cost(judged)
    assert "the judge" in cost_sentence(judged)
    assert not may_cost({**judged, "judging": {"least": 0, "most": 0}})
    assert not may_cost({**forecast, "endpoint": OFFLINE_ORIGIN})
