"""A node whose result is validated: its attempts, what they know, and what becomes of it when none is valid."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.runtime.engine.fakes import workflow
from tests.runtime.validation.judged import ADD, Model, began, judged, run, validation, verdict

from merrow_runtime import RunOptions, dry_run
from merrow_runtime.errors import BudgetFailure, InvalidFailure, ValidatorFailure
from merrow_runtime.store.memory import MemoryStore

SHORT = {"if": "len(output) < 4"}
RUBRIC = {"rubric": "It rhymes."}


async def test_a_later_attempt_knows_all_earlier_results_and_what_was_wrong_with_them() -> None:
    model = Model(["first", "second", "3rd"])
    result = await run(judged(SHORT), model)
    assert (result.outputs, validation(result)) == (
        {"RETURN": "3rd"},
        (3, True, [["`len(output) < 4` does not hold."], ["`len(output) < 4` does not hold."], []]),
    )
    told = [(one.role, one.content) for one in model.seen[2].messages]
    assert told[:2] == [("system", "Say."), ("user", "x")]
    assert [one for one in told if one[0] == "assistant"] == [("assistant", "first"), ("assistant", "second")]
    assert [("`len(output) < 4` does not hold." in text) for role, text in told[2:] if role == "user"] == [True, True]
    assert len(told) == 6


async def test_calls_are_known_by_their_attempt() -> None:
    store = MemoryStore()
    result = await run(judged([RUBRIC, SHORT]), Model(["wordy", "abc"], [verdict(True)]), store=store)
    steps = [(call.key.node, call.key.step) for call in store.calls(result.run)]
    assert steps == [("A", "answer"), ("A", "2/answer"), ("A", "2/validate")]


async def test_a_judge_says_why_and_what_to_do_better() -> None:
    model = Model(["one", "two"], [verdict(False, "No rhyme.", feedback="End both lines alike."), verdict(True)])
    result = await run(judged(RUBRIC), model)
    assert (result.outputs, validation(result)) == ({"RETURN": "two"}, (2, True, [["No rhyme."], []]))
    said = model.questions()[1].messages[-1].content
    assert "No rhyme." in said
    assert "End both lines alike." in said
    asked = model.questions("merrow_verdict")[0]
    assert asked.schema is not None
    assert list(asked.schema.schema["properties"]) == ["pass", "reasons", "feedback"]
    assert "It rhymes." in asked.messages[0].content
    assert all(part in asked.messages[1].content for part in ("Say.", "x", "one"))


@pytest.mark.parametrize(("votes", "valid"), [("110", True), ("100", False), ("1100", False), ("11100", True)])
async def test_more_than_half_of_the_votes_decide(votes: str, valid: bool) -> None:
    model = Model(["one"], [verdict(vote == "1", f"vote {n}") for n, vote in enumerate(votes)])
    result = await run(judged({**RUBRIC, "votes": len(votes)}, ", attempts: 1, on_invalid: accept"), model)
    assert len(model.questions("merrow_verdict")) == len(votes)
    found = validation(result)
    assert found is not None
    assert found[:2] == (1, valid)
    assert len(found[2][0]) == (0 if valid else votes.count("0"))
    assert {one.temperature for one in model.questions("merrow_verdict")} == {1.0}


async def test_none_valid_fails_the_node_with_the_last_reason() -> None:
    result = await run(judged(SHORT, ", attempts: 2"), Model(["wordy"]))
    assert isinstance(result.failure, InvalidFailure)
    assert result.failure.fields() == {"code": "invalid", "node": "A", "path": ""}
    assert result.error == "Node A: none of its 2 results is valid; of the last: `len(output) < 4` does not hold."
    assert validation(result) == (2, False, [["`len(output) < 4` does not hold."]] * 2)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (verdict(False, "No rhyme.", "No metre.", feedback="Try again."), "No rhyme.; No metre."),
        (verdict(False, " ", feedback="End both lines alike."), "It does not meet the rubric."),
    ],
)
async def test_a_result_that_is_refused_fails_with_what_the_judge_said_of_it(said: Any, why: str) -> None:
    result = await run(judged(RUBRIC, ", attempts: 1"), Model(["one"], [said]))
    assert result.error == f"Node A: its result is not valid: {why}"


async def test_on_invalid_skip_skips_the_node_whatever_on_error_says() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "A.", validate: v, on_invalid: skip, on_error: fail}',
        'B@{op: Custom, prompt: "B."}',
        'C@{op: Custom, prompt: "C."}',
        "PROBLEM --> A & B --> C --> RETURN",
        front='{model: m, validators: {v: {if: "len(output) < 4"}}}',
    )
    model = Model(["wordy"])
    result = await run(flow, model)
    assert (result.status, result.nodes["A"].status) == ("finished", "failed")
    joined = next(one for one in model.seen if one.messages[0].content.startswith("C."))
    assert joined.messages[1].content == "wordy"


async def test_on_invalid_accept_uses_the_best_attempt_and_marks_it() -> None:
    checks = [{"if": "'a' in output"}, {"if": "'b' in output"}, {"if": "'c' in output"}]
    flow = judged(checks, ", on_invalid: accept")
    run_ = began(flow, Model(["a", "ab", "b"]))
    events = [event.to_json() async for event in run_.events()]
    result = await run_.result()
    assert result.outputs == {"RETURN": "ab"}
    found = validation(result)
    assert found is not None
    assert found[:2] == (2, False)
    assert [(one["attempt"], one["valid"]) for one in events if one["event"] == "node_judged"] == [
        (1, False),
        (2, False),
        (3, False),
    ]
    (end,) = [one for one in events if one["event"] == "node_finished" and one["node"] == "A"]
    assert (end["attempt"], end["valid"]) == (2, False)
    assert events[-1]["not_valid"] == ["A"]


async def test_of_equally_good_attempts_the_last_is_accepted() -> None:
    result = await run(judged(SHORT, ", on_invalid: accept"), Model(["first", "second", "third"]))
    assert result.outputs == {"RETURN": "third"}


async def test_on_invalid_refine_fails_in_a_sentence() -> None:
    result = await run(judged(SHORT, ", attempts: 1, on_invalid: refine"), Model(["wordy"]))
    assert isinstance(result.failure, InvalidFailure)
    assert result.failure.on_invalid == "refine"
    assert "`on_invalid: refine` has a model change the workflow" in str(result.error)


@pytest.mark.parametrize(
    ("keys", "wanted"), [("on_error: skip", ["wordy"]), ("on_error: default, default: d", ["d", "wordy"])]
)
async def test_on_error_speaks_of_results_that_are_not_valid(keys: str, wanted: list[str]) -> None:
    flow = workflow(
        f'A@{{op: Custom, prompt: "A.", validate: v, attempts: 1, {keys}}}',
        'B@{op: Custom, prompt: "B."}',
        "C@{op: Assemble, how: concat}",
        "PROBLEM --> A & B --> C --> RETURN",
        front='{model: m, validators: {v: {if: "len(output) < 4"}}}',
    )
    result = await run(flow, Model(["wordy"]))
    assert result.status == "finished"
    assert str(result.outputs["RETURN"]).split("\n\n") == wanted


async def test_an_attempt_that_asks_nothing_is_the_last() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "A."}',
        "B@{op: Assemble, how: concat, validate: v, attempts: 5}",
        "PROBLEM --> A --> B --> RETURN",
        front='{model: m, validators: {v: {if: "len(output) < 4"}}}',
    )
    result = await run(flow, Model(["wordy"]))
    assert isinstance(result.failure, InvalidFailure)
    found = validation(result, "B")
    assert found is not None
    assert found[0] == 1


async def test_a_node_that_asks_no_model_has_one_attempt() -> None:
    flow = workflow(
        "B@{op: Pass, validate: v, on_invalid: accept}",
        "PROBLEM --> B --> RETURN",
        front='{model: m, validators: {v: {if: "output == 1"}}}',
    )
    assert validation(await run(flow, Model(["a"])), "B") == (1, False, [["`output == 1` does not hold."]])


async def test_several_validators_must_all_be_passed_cheap_checks_first() -> None:
    flow = judged(
        RUBRIC,
        ", attempts: 1, on_invalid: accept",
        validators={"w": [{"if": "'q' in output"}, {"regex": "z"}]},
    )
    text = flow.text.replace("validate: v", "validate: [v, W]")
    from merrow_runtime.workflow import check_workflow

    model = Model(["abc"], [verdict(True)])
    result = await run(check_workflow(text, name="test.mmd"), model)
    assert validation(result) == (1, False, [["`'q' in output` does not hold.", "`z` is not found in it."]])
    assert model.questions("merrow_verdict") == []


async def test_each_sample_has_attempts_of_its_own() -> None:
    said = {"first": 0}

    class Samples(Model):
        def _said(self, request: Any) -> str:
            said["first"] += 1
            return "abc" if len(request.messages) > 2 or said["first"] == 1 else "wordy"

    flow = workflow(
        'A@{op: Custom, prompt: "A.", samples: 3, temperature: 1, validate: v}',
        "B@{op: ScEnsemble}",
        "A --> B --> RETURN",
        "PROBLEM --> A",
        front='{model: m, validators: {v: {if: "len(output) < 4"}}}',
    )
    store = MemoryStore()
    result = await run(flow, Samples(["x"]), store=store)
    assert result.outputs == {"RETURN": "abc"}
    steps = sorted((call.key.sample, call.key.step) for call in store.calls(result.run) if call.key.node == "A")
    assert steps == [(0, "answer"), (1, "2/answer"), (1, "answer"), (2, "2/answer"), (2, "answer")]
    found = result.nodes["A"].validation
    assert found is not None
    assert (found["attempt"], found["valid"]) == (2, True)
    assert [(one["sample"], one["attempt"]) for one in found["attempts"]] == [(0, 1), (1, 1), (2, 1), (1, 2), (2, 2)]


async def test_samples_that_are_not_valid_are_left_out_where_the_node_says_skip() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "A.", samples: 3, temperature: 1, validate: v, attempts: 1, on_invalid: skip}',
        "B@{op: ScEnsemble}",
        "A --> B --> RETURN",
        "PROBLEM --> A",
        front='{model: m, validators: {v: {if: "len(output) < 4"}}}',
    )
    result = await run(flow, Model(["wordy", "abc", "wordy"]))
    assert (result.outputs, result.nodes["A"].outputs) == ({"RETURN": "abc"}, {"response": ["abc"]})


async def test_an_output_is_judged_with_the_inputs_of_the_workflow() -> None:
    checks = {"w": [{"if": "output == inputs.PROBLEM"}, RUBRIC]}
    flow = judged(SHORT, "", of_return="validate: w", validators=checks)
    model = Model(["x"], [verdict(True)])
    result = await run(flow, model)
    assert result.status == "finished"
    assert validation(result, "RETURN") == (1, True, [[]])
    assert "Input of the workflow: PROBLEM" in model.questions("merrow_verdict")[0].messages[1].content
    other = await run(flow, Model(["y"], [verdict(True)]))
    assert other.failure is not None
    assert other.failure.fields() == {"code": "invalid", "node": "RETURN", "path": ""}
    assert other.outputs == {}


async def test_an_output_that_would_stay_empty_fails_the_run() -> None:
    flow = judged(SHORT, "", of_return="validate: w, on_invalid: skip", validators={"w": {"if": "output == 1"}})
    result = await run(flow, Model(["abc"]))
    assert isinstance(result.failure, InvalidFailure)
    assert (result.status, result.failure.node) == ("failed", "RETURN")


async def test_records_and_unions_are_judged_by_their_fields() -> None:
    front = (
        '{model: m, types: {Place: {city: Text, size: Number}}, validators: {v: {if: "output.size > 10 and '
        "outputs.response.city == 'Rome'\"}}}"
    )
    flow = workflow(
        'A@{op: Custom, prompt: "A.", returns: Place, validate: v}', "PROBLEM --> A --> RETURN", front=front
    )
    model = Model(['{"city": "Rome", "size": 3}', '{"city": "Rome", "size": 30}'])
    model._left["response"] = model._left[""]
    result = await run(flow, model)
    assert result.outputs == {"RETURN": {"city": "Rome", "size": 30}}
    assert '"size": 3' in model.seen[1].messages[-2].content


async def test_in_a_loop_and_a_map_each_visit_has_its_own_attempts() -> None:
    front = '{model: m, validators: {v: {if: "len(output) < 4"}}}'
    flow = workflow(
        "L@{op: Custom, prompt: List, format: json, returns: 'list[Text]'}",
        'subgraph M["Map (parallel: 1)"]',
        'A@{op: Custom, prompt: "A.", validate: v}',
        "end",
        "J@{op: Assemble, how: concat}",
        "PROBLEM --> L",
        "L -->|each:input| A",
        "A --> J --> RETURN",
        front=front,
    )
    store = MemoryStore()
    result = await run(flow, Model(['["p", "q"]', "wordy", "abc", "wordy", "abd"]), store=store)
    assert result.status == "finished", result.error
    places = [(call.key.path, call.key.step) for call in store.calls(result.run) if call.key.node == "A"]
    assert sorted(places) == [("M[1]", "2/answer"), ("M[1]", "answer"), ("M[2]", "2/answer"), ("M[2]", "answer")]
    assert validation(result, "M[2]/A") == (2, True, [["`len(output) < 4` does not hold."], []])


async def test_a_budget_stops_between_attempts() -> None:
    model = Model(["wordy"])
    options = RunOptions(budget_tokens=60)
    result = await run(judged(SHORT, ", attempts: 20, max_tokens: 5"), model, options=options)
    assert isinstance(result.failure, BudgetFailure)
    assert 1 <= len(model.seen) < 20


async def test_the_judge_is_not_limited_by_the_nodes_own_settings() -> None:
    model = Model(["abc"], [verdict(True)])
    await run(judged(RUBRIC, ", max_tokens: 5, temperature: 0.7, aims: true"), model)
    (asked,) = model.questions("merrow_verdict")
    assert (asked.max_tokens, asked.temperature) == (None, 0.0)


@pytest.mark.parametrize(
    ("check", "keys", "least", "most"),
    [
        (SHORT, ", attempts: 4", 1, 4),
        (RUBRIC, ", attempts: 4", 2, 8),
        ({**RUBRIC, "votes": 3}, ", attempts: 2, samples: 5", 20, 40),
        ([SHORT, RUBRIC, {**RUBRIC, "votes": 5}], "", 1, 21),
        ([RUBRIC, {**RUBRIC, "votes": 5}], "", 2, 21),
        ({"generate": 3, "entry_point": "f"}, ", attempts: 2", 2, 3),
        ([SHORT, {"generate": 3, "entry_point": "f"}], ", attempts: 2", 1, 3),
        (SHORT, ", attempts: 1", 1, 1),
    ],
)
def test_the_dry_run_counts_attempts_votes_and_written_tests(check: Any, keys: str, least: int, most: int) -> None:
    """What comes after a check is not asked for a result that the check refuses."""
    flow = judged(check, keys) if "samples" not in keys else _joined(check, keys)
    planned = dry_run(flow, {"problem": "x"})
    assert (planned.calls.least, planned.calls.most) == (least, most)
    from merrow_analysis.graph.measures.call_bounds import call_bounds

    assert call_bounds(flow.graph).most == most + ("samples" in keys)


@pytest.mark.parametrize("attempts", [1, 2])
async def test_the_dry_run_names_what_a_run_asks(attempts: int) -> None:
    checks = [RUBRIC, *({"generate": count, "entry_point": "add"} for count in (1, 2)), {"regex": "add"}, RUBRIC]
    flow = judged(checks, f", attempts: {attempts}")
    store = MemoryStore()
    tests = json.dumps({"tests": ["assert add(1, 2) == 3"]})
    result = await run(flow, Model([ADD], [verdict(True)], [tests]), store=store)
    assert result.status == "finished"
    asked = [call.key.step for call in store.calls(result.run) if "messages" in call.request]
    planned = [question.step for node in dry_run(flow, {"problem": "x"}).nodes for question in node.questions]
    assert [step for step in planned if "/" not in step] == asked
    assert ("2/answer" in planned) is (attempts > 1)


def _joined(check: Any, keys: str) -> Any:
    return workflow(
        f'A@{{op: Custom, prompt: "A.", validate: v{keys}}}',
        "B@{op: Assemble, how: concat}",
        "PROBLEM --> A --> B --> RETURN",
        front=json.dumps({"model": "m", "validators": {"v": check}}),
    )


async def test_a_validator_that_breaks_is_another_failure_than_a_result_that_is_not_valid() -> None:
    result = await run(judged({"if": "output > 3"}, ", on_invalid: accept"), Model(["abc"]))
    assert isinstance(result.failure, ValidatorFailure)
    assert result.failure.fields() == {"code": "validator", "node": "A", "path": ""}
    assert str(result.error).startswith(
        "Node A: its validator v can't judge the result: `if: output > 3` can't be worked out"
    )
