"""Validators in the front matter and at nodes: read, checked, repaired, offered, described and renamed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.ide.cursor import marked
from tests.analysis.workflows import diagnose

from merrow_analysis.check import analyse
from merrow_analysis.definitions.validators import KINDS, names_in
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.graph.measures.call_bounds import call_bounds
from merrow_analysis.ide.completion.completion import complete
from merrow_analysis.ide.hover import hover
from merrow_analysis.ide.names.rename import rename
from merrow_analysis.text import apply_edits
from merrow_optimizer.crossover.children import crossover

CODES = ("MW304", "MW305", "MW310", "MW311", "MW331", "MW332", "MW333", "MW334", "MW335", "MW406")


def flow(validators: str, *lines: str) -> str:
    front = "".join(f"    {line}\n" for line in validators.split("\n") if line)
    body = "".join(f"    {line}\n" for line in lines)
    return (
        f"---\nworkflow:\n  validators:\n{front}---\nflowchart TD\n    PROBLEM([Problem]):::Interface\n{body}"
        "    RETURN([Result]):::Interface\n    PROBLEM --> A --> RETURN\n    classDef Interface fill:#eee\n"
    )


def found(text: str, *codes: str) -> list[Diagnostic]:
    return [one for one in diagnose(text) if one.code in (codes or CODES)]


def node(name: str, more: str = "") -> str:
    return f'A["Custom"]@{{ prompt: "Draw.", validate: {name}{more} }}'


def test_a_validator_is_read_regardless_of_case_cheap_checks_first() -> None:
    text = flow("V: [{rubric: Good}, {python: 'def check(o, i): return True'}, {if: output}]", node("v"))
    assert not found(text)
    (validator,) = analyse(text).settings.validators.values()
    assert (validator.name, [check.kind for check in validator.checks]) == ("V", ["if", "python", "rubric"])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{if: output > 3}", None),
        ("{if: 3 >}", "MW333"),
        ("{if: answer > 3}", "MW333"),
        ("{if: open(output)}", "MW333"),
        (r"{regex: '\d+'}", None),
        ("{regex: '('}", "MW333"),
        ("{regex: '(?P<a>x)(?P<a>y)'}", "MW333"),
        (f"{{regex: '{'(' * 3000}{')' * 3000}'}}", "MW333"),
        ("{schema: {type: object}}", None),
        ("{schema: {properties: {a: {pattern: x}}}}", "MW333"),
        ("{schema: {properties: {pattern: {type: string}}}}", None),
        ("{schema: {$ref: 'http://example.org/x'}}", "MW333"),
        ("{schema: text}", "MW311"),
        ("{python: 'def check(output, inputs): return True'}", None),
        ("{python: 'def check(output): return True'}", "MW333"),
        ("{python: 'def check(output, inputs, more): return True'}", "MW333"),
        ("{python: 'def check(*all): return True'}", None),
        ("{python: 'x = 1'}", "MW333"),
        ("{python: 'def check('}", "MW333"),
        ("{tests: ['assert f(1)'], entry_point: f}", None),
        ("{tests: ['assert f(1)']}", "MW333"),
        ("{tests: ['assert f('], entry_point: f}", "MW333"),
        ("{tests: ['assert f(1)'], entry_point: 'a b'}", "MW333"),
        ("{tests: [], entry_point: f}", "MW335"),
        ("{tests: [], generate: 2, entry_point: f}", None),
        ("{generate: 2, entry_point: f}", None),
        ("{generate: 0, entry_point: f}", "MW311"),
        ("{rubric: Good, votes: 3}", None),
        ("{rubric: Good, votes: 26}", "MW311"),
        ("{rubric: ''}", "MW311"),
        ("{votes: 3}", "MW333"),
        ("{regex: a, votes: 3}", "MW333"),
        ("{regex: a, rubric: b}", "MW333"),
        ("{pattern: a}", "MW310"),
        ("[]", "MW311"),
        ("[{regex: a}, text]", "MW311"),
        ("text", "MW311"),
    ],
)
def test_validators_are_checked(body: str, code: str | None) -> None:
    codes = [one.code for one in found(flow(f"v: {body}", node("v")))]
    assert codes == [] if code is None else code in codes, codes


def test_an_unknown_validator_is_an_error_with_its_fixes() -> None:
    for named in ("shrt", "[other, shrt]"):
        text = flow("short: {if: len(output) < 9}\nother: {regex: a}", node(named))
        (problem,) = found(text, "MW331")
        assert "did you mean `short`" in problem.message
        assert not found(apply_edits(text, problem.fixes[0].edits), "MW331", "MW333")
        assert not found(apply_edits(text, problem.fixes[1].edits), "MW331", "MW333")


def test_a_validator_that_another_one_hides_is_a_hint() -> None:
    text = flow("a: {if: output}\nA: {if: output}", node("A"))
    (problem,) = found(text)
    assert (problem.code, "so nodes use `a`" in problem.message) == ("MW332", True)
    assert not found(apply_edits(text, problem.fixes[0].edits))


@pytest.mark.parametrize(
    "body",
    [
        "{tests: ['assert add(1, 2) == int(3)']}",
        "{regex: a, votes: 3}",
        "{regex: a, rubric: b}",
        "[{regex: a, votes: 2}]",
    ],
)
def test_the_first_fix_of_a_malformed_validator_repairs_it(body: str) -> None:
    text = flow(f"v: {body}", node("v"))
    (problem,) = found(text)
    assert not found(apply_edits(text, problem.fixes[0].edits))


@pytest.mark.parametrize("key", ["attempts: 2", "on_invalid: skip"])
@pytest.mark.parametrize("line", ['A["Custom"]@{{ prompt: x, {} }}', 'A["Custom<br/>(prompt: x, {})"]'])
def test_attempts_without_a_validator_are_idle(key: str, line: str) -> None:
    text = flow("v: {if: output}", line.format(key), "RETURN@{ validate: v }")
    (problem,) = found(text)
    assert problem.code == "MW334"
    assert not found(apply_edits(text, problem.fixes[0].edits))


def test_a_node_that_may_be_skipped_can_not_end_a_loop() -> None:
    def loop(keys: str) -> str:
        lines = [
            "subgraph L[\"Loop (max: 3, until: A.response == 'x')\"]",
            node("v", keys),
            "B@{ op: Custom, prompt: x }",
            "end",
            "A --> B",
            "B -->|again:input| A",
        ]
        return flow("v: {if: output}", *lines)

    assert not found(loop(""), "MW225")
    (problem,) = found(loop(", on_invalid: skip"), "MW225")
    assert "(`on_invalid: skip`); write `on_invalid: fail` at A" in problem.message
    assert not found(apply_edits(loop(", on_invalid: skip"), problem.fixes[0].edits), "MW225")


def test_bounds_of_calls_count_attempts_and_judges() -> None:
    text = flow("v: [{rubric: x, votes: 3}, {generate: 2, entry_point: f}]", node("v", ", attempts: 4"))
    graph = analyse(text).typed
    assert graph is not None
    assert call_bounds(graph).as_json() == {"least": 1, "most": 4 + 12 + 1}


@pytest.mark.parametrize("place", ["validate: <|>", "validate: [a, <|>]"])
def test_completion_offers_the_validators(place: str) -> None:
    here = marked(flow("a: {if: output}\nb: {rubric: Good}", f'A["Custom"]@{{ {place} }}'))
    assert [item.label for item in complete(here.analysis, here.position).items] == ["a", "b"]


def test_completion_offers_kinds_of_checks_and_what_follows_when_none_is_valid() -> None:
    here = marked(flow("v:\n  <|>", node("v")))
    offered = {item.label for item in complete(here.analysis, here.position).items}
    assert {*KINDS, "generate", "entry_point", "votes"} <= offered
    here = marked(flow("v: {if: output}", node("v", ", on_invalid: <|>")))
    assert [item.label for item in complete(here.analysis, here.position).items] == ["fail", "refine", "skip", "accept"]
    here = marked(flow("v: {if: output}", node("v"), "RETURN@{ <|> }"))
    assert {"validate", "on_invalid"} <= {item.label for item in complete(here.analysis, here.position).items}


def test_hover_says_what_is_checked() -> None:
    here = marked(flow("strict: [{rubric: Good, votes: 3}, {regex: '\\d'}]", node("str<|>ict", ", attempts: 2")))
    shown = hover(here.analysis, here.position)
    assert shown is not None
    text = shown.text.markdown()
    assert text.index("regex: \\d") < text.index("rubric: Good, 3 votes")
    assert "A" in text
    here = marked(
        flow("strict: {regex: '\\d'}", node("strict", ", attempts: 2, on_invalid: accept").replace("A[", "<|>A["))
    )
    shown = hover(here.analysis, here.position)
    assert shown is not None
    assert "It has 2 attempts; if none passes, the best attempt is used, and marked." in shown.text.markdown()


def test_a_rename_reaches_every_place() -> None:
    here = marked(flow("str<|>ict: {if: output}", node("[Strict]"), "RETURN@{ validate: strict }"))
    done = rename(here.analysis, here.position, "exact")
    assert done is not None
    after = apply_edits(here.text, done.edits)
    assert list(analyse(after).settings.validators) == ["exact"]
    assert not found(after)
    assert "strict" not in after.casefold()


checks = st.one_of(
    st.none(),
    st.text(max_size=5),
    st.integers(),
    st.dictionaries(
        st.sampled_from([*KINDS, "generate", "entry_point", "votes", "other"]),
        st.one_of(
            st.none(),
            st.text(max_size=8),
            st.integers(-2, 60),
            st.lists(st.text(max_size=8), max_size=2),
            st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
        ),
        max_size=4,
    ),
)


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), st.one_of(checks, st.lists(checks, max_size=3))))
def test_whatever_validators_are_they_are_survived_and_repairs_apply(said: dict[str, Any]) -> None:
    written = json.dumps(said)
    text = (
        f"---\nworkflow:\n  validators: {written}\n---\nflowchart TD\n    PROBLEM([P]):::Interface\n"
        f"    {node('[a, b]')}\n    RETURN([R]):::Interface\n    PROBLEM --> A --> RETURN\n    classDef Interface fill:#eee\n"
    )
    problems = diagnose(text)
    for problem in problems:
        for fix in problem.fixes:
            diagnose(apply_edits(text, fix.edits))
    if not [one for one in problems if one.severity.value == "error"]:
        from merrow_runtime.errors import UsageFailure
        from merrow_runtime.options import RunOptions
        from merrow_runtime.program.definitions import make_steps
        from merrow_runtime.workflow import check_workflow

        try:
            (step,) = make_steps(check_workflow(text), RunOptions()).values()
        except UsageFailure as failure:
            assert "JSON Schema" in str(failure)  # noqa: PT017 (only sometimes raised)
        else:
            assert step.validation is not None


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 40), st.sampled_from(["output", "len(output) > 2"]), st.sampled_from(["", "x, "]))
def test_children_have_the_validators_of_their_nodes(seed: int, other: str, more: str) -> None:
    lines = ('A["Custom"]@{ prompt: a, validate: x }', 'B["Custom"]@{ prompt: b, validate: x }', "PROBLEM --> B --> A")
    host = analyse(flow("x: {if: output}", *lines))
    theirs = [line.replace("prompt: ", "prompt: other ").replace(": x", f": [{more}y]") for line in lines]
    donor = analyse(flow(f"x: {{if: {other}}}\ny: {{rubric: Good}}", *theirs))
    for child in crossover(host, donor, seed):
        after = analyse(child.text)
        assert after.typed is not None
        assert not after.errors, child.text
        for one in after.typed.nodes:
            if one.kind != "operator":
                continue
            said = one.resolution.parameters
            checks = [
                check.said
                for name in names_in(said["validate"].value)
                for check in after.settings.validators[name.casefold()].checks
            ]
            is_other = "other" in str(said["prompt"].value)
            assert checks == ([*([other] if more else []), "Good"] if is_other else ["output"])
