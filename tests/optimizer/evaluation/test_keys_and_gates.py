"""What decides an answer's key; when an evaluation stops; what gates ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.optimizer.evaluation.trials import Ends
from tests.runtime.engine.fakes import workflow

from merrow_optimizer.evaluation.gates import Gates
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.keys import score_key, semantic_hash, work_key
from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.stopping import EARLY, FIRST, Stopping
from merrow_optimizer.evaluation.summary import compared, item_means, summary_of
from merrow_runtime import RunOptions, Workflow
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.usage import Usage

BASE = (
    'A@{op: Custom, prompt: "first"}',
    'B@{op: Custom, prompt: "second"}',
    "V@{op: ScEnsemble}",
    "PROBLEM --> A",
    "PROBLEM --> B",
    "A --> V",
    "B --> V",
    "V --> RETURN",
)


def hashed(flow: Workflow) -> str:
    return semantic_hash(flow, make_steps(flow, RunOptions()))


def test_names_comments_style_and_the_order_of_voters_count_for_nothing() -> None:
    expected = hashed(workflow(*BASE))
    assert hashed(workflow(*BASE, "%% a comment", "style A fill:#fff")) == expected
    assert hashed(workflow(*BASE[:5], BASE[6], BASE[5], BASE[7])) == expected
    assert (
        hashed(workflow(*[line.replace("A@", "ONE@").replace(" A", " ONE").replace("A -", "ONE -") for line in BASE]))
        == expected
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"first"', '"other"'),
        ('"first"', '"first", temperature: 0.5'),
        ('"first"', '"first", model: "m-2"'),
        ('"first"', '"first", max_tokens: 5'),
        ('"first"', '"first", timeout: 5'),
        ('"first"', '"first", on_error: skip'),
        ("ScEnsemble", "MdEnsemble"),
        ("PROBLEM --> B", "A --> B"),
    ],
)
def test_what_changes_answers_changes_the_key(before: str, after: str) -> None:
    changed = "\n".join(BASE).replace(before, after, 1)
    assert hashed(workflow(*changed.split("\n"))) != hashed(workflow(*BASE))


def test_what_validates_a_result_changes_the_key_and_its_name_does_not() -> None:
    def validated(name: str, check: str, keys: str = "") -> str:
        lines = [
            BASE[0].replace('"first"', f'"first", validate: {name}{keys}'),
            *BASE[1:],
            f"RETURN@{{validate: {name}}}",
        ]
        return hashed(workflow(*lines, front=f"{{validators: {{{name}: {check}}}}}"))

    one = validated("v", "{if: output}")
    assert validated("V", "[{if: output}]") != hashed(workflow(*BASE))
    assert one not in {
        validated("v", "{regex: a}"),
        validated("v", "{if: output}", ", attempts: 2"),
        validated("v", "{if: output}", ", on_invalid: accept"),
        hashed(workflow(*BASE)),
    }


ITEM = Item("q", {"problem": "x"}, "gold", {"tests": ["a"]})


def test_each_part_of_a_key_counts() -> None:
    keys = {
        work_key("s", "http://a", 1, 0, {"problem": "x"}),
        work_key("t", "http://a", 1, 0, {"problem": "x"}),
        work_key("s", "http://b", 1, 0, {"problem": "x"}),
        work_key("s", "http://a", 2, 0, {"problem": "x"}),
        work_key("s", "http://a", 1, 1, {"problem": "x"}),
        work_key("s", "http://a", 1, 0, {"problem": "y"}),
        work_key("s", "http://a", 1, 0, {"problem": 1}),
    }
    assert len(keys) == 7
    assert work_key("s", "http://a", 1, 0, {"Problem": "x"}) in keys
    gold, extra = Item("q", ITEM.inputs, "other", ITEM.extra), Item("q", ITEM.inputs, ITEM.gold, {})
    scores = {score_key(b"w", item, Ends(options)) for item in (ITEM, gold, extra) for options in ({}, {"a": 1})}
    assert len(scores | {score_key(b"v", ITEM, Ends())}) == 7
    assert score_key(b"w", Item("other id", ITEM.inputs, ITEM.gold, ITEM.extra), Ends()) in scores


@given(st.lists(st.sampled_from(Status), min_size=60, max_size=60), st.randoms())
def test_the_first_items_are_judged_by_start_whatever_ends_first(kinds: list[Status], chance: st.DataObject) -> None:
    """In any order of ends the same is said of the first 20, and of the first 50."""

    def early(kinds: list[Status]) -> bool:
        nothing = [kind for kind in kinds if kind in (Status.UNANSWERED, Status.INVALID)]
        first = kinds[:FIRST]
        all_of_one = len(set(first)) == 1 and first[0] in nothing
        share = max((kinds[:EARLY].count(kind) for kind in set(nothing)), default=0)
        return all_of_one or share >= 0.3 * EARLY

    order = list(range(60))
    chance.shuffle(order)  # type: ignore[attr-defined]
    stopping, stopped, in_a_row = Stopping(), False, 0
    for place in order:
        in_a_row = in_a_row + 1 if kinds[place] is Status.UNANSWERED else 0
        why = stopping.ended(place, kinds[place], f"reason of {place}")
        if why is not None:
            stopped = True
        if in_a_row >= FIRST:
            assert why is not None
    assert stopped or not early(kinds)
    assert not stopped or early(kinds) or any(kind is Status.UNANSWERED for kind in kinds)


def row(item: str, status: Status, value: float | None = None, repeat: int = 0) -> ScoreRecord:
    worth = {Status.RIGHT: 1.0, Status.FAILED: 0.0}.get(status, value)
    return ScoreRecord(item, repeat, status, worth, "", "", Usage(1, 1, 1, 0.5), 0.1, "", b"w", b"s")


def test_repeats_are_averaged_inside_an_item_and_are_no_items() -> None:
    rows = [
        row("a", Status.RIGHT),
        row("a", Status.WRONG, 0.0, 1),
        row("b", Status.RIGHT),
        row("b", Status.RIGHT, None, 1),
    ]
    rows += [row("c", Status.UNANSWERED), row("c", Status.FAILED, None, 1), row("d", Status.INVALID)]
    assert item_means(rows) == {"a": 0.5, "b": 1.0, "c": 0.0}
    summary = summary_of(rows, 5, 2)
    assert (summary.score, summary.counted, summary.left_out, summary.missing) == (0.5, 3, 2, 3)
    assert (list(summary.flaky), summary.usage.cost_usd) == (["a"], 3.5)
    assert list(summary.pass_hat) == [pytest.approx(0.5), pytest.approx(0.5)]


def test_only_items_that_both_scored_are_compared() -> None:
    before = [row("a", Status.RIGHT), row("b", Status.RIGHT), row("c", Status.WRONG, 0.0), row("d", Status.RIGHT)]
    after = [row("a", Status.FAILED), row("b", Status.UNANSWERED), row("c", Status.RIGHT), row("e", Status.RIGHT)]
    found = compared(before, after, repeats=1)
    assert found.difference is not None
    assert (found.difference.items, found.difference.difference) == (2, 0.0)
    assert (list(found.better), list(found.worse), found.left_out) == (["c"], ["a"], 3)
    assert compared(before, [], repeats=1).difference is None


def test_errors_fail_every_gate_and_no_gate_fails_nothing() -> None:
    rows = [row(f"q{n}", Status.RIGHT) for n in range(9)] + [row("x", Status.INVALID)]
    summary = summary_of(rows, 10, 1)
    assert list(Gates().failed(summary, None)) == []
    for gates in (Gates(fail_under=0.1), Gates(fail_under_lower=0.1), Gates(allow_errors=0)):
        [sentence] = gates.failed(summary, None)
        assert sentence == "1 answer is unanswered or invalid; --allow-errors allows 0."
    assert list(Gates(fail_under=1.0, allow_errors=1).failed(summary, None)) == []
    nothing = summary_of([], 10, 1)
    assert list(Gates(fail_under=0.0).failed(nothing, None)) == ["No item has a score."]


def test_the_lower_end_is_not_the_score_and_a_drop_may_be_as_large_as_allowed() -> None:
    half = [row(f"q{n}", Status.RIGHT if n < 10 else Status.WRONG, 0.0) for n in range(20)]
    summary = summary_of(half, 20, 1)
    [sentence] = Gates(fail_under_lower=0.4).failed(summary, None)
    assert sentence.startswith("The lower end of the interval, 0.289, is under 0.4")
    assert list(Gates(fail_under=0.4, fail_under_lower=0.25).failed(summary, None)) == []
    before = [row(f"q{n}", Status.RIGHT if n < 15 else Status.WRONG, 0.0) for n in range(20)]
    drop = compared(before, half, repeats=1)
    assert list(Gates(max_drop=0.25).failed(summary, drop)) == []
    assert len(list(Gates(max_drop=0.24).failed(summary, drop))) == 1


def test_gates_of_the_difference() -> None:
    before = [row(f"q{n:02}", Status.RIGHT) for n in range(20)]
    after = [row(f"q{n:02}", Status.WRONG if n < 6 else Status.RIGHT, 0.0) for n in range(20)]
    summary = summary_of(after, 20, 1)
    worse, better = compared(before, after, repeats=1), compared(after, before, repeats=1)
    assert [one[:18] for one in Gates(max_drop=0.2, fail_if_worse=True).failed(summary, worse)] == [
        "The score dropped ",
        "It is worse than t",
    ]
    assert list(Gates(max_drop=0.31).failed(summary, worse)) == []
    assert list(Gates(max_drop=0.0, fail_if_worse=True).failed(summary, better)) == []
    [sentence] = Gates(fail_if_worse=True).failed(summary, compared(before, [], repeats=1))
    assert "no item in common" in sentence


def test_the_twentieth_in_a_row_without_an_answer_stops_it_and_another_reason_begins_a_row() -> None:
    stopping = Stopping()
    later = iter(range(100, 200))  # none of the first
    ended = [stopping.ended(next(later), Status.UNANSWERED, "it is down") for _ in range(19)]
    ended += [stopping.ended(next(later), Status.UNANSWERED, "it is busy") for _ in range(20)]
    assert ended == [*[None] * 38, "it is busy"]


def test_three_of_ten_of_the_first_fifty_stop_it() -> None:
    for invalid, why in ((14, None), (15, "no number")):
        stopping = Stopping()
        kinds = [Status.RIGHT] * (50 - invalid) + [Status.INVALID] * invalid
        assert [stopping.ended(place, kind, "no number") for place, kind in enumerate(kinds)][-1] == why
