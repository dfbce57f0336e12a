"""The ``workflow:`` block becomes settings; mistakes are told where they stand; the published schema says the same."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.analysis.definition_checks import check, fixed, said

from merrow_analysis.definitions.schema import FRONT_MATTER, NODE_KEYS, OPERATOR_KEYS, WORKFLOW_KEYS, schema
from merrow_analysis.definitions.settings import BudgetSettings, Memory, Refine, read_settings
from merrow_analysis.definitions.validation import violations


def workflow(block: str) -> str:
    lines = "".join(f"  {line}\n" for line in block.splitlines())
    return f"---\nworkflow:\n{lines}---\nflowchart TD\n  PROBLEM --> RETURN\n"


def test_everything_is_read() -> None:
    settings = read_settings(
        "workflow:\n  model: gpt-4o-mini\n  temperature: 0.5\n  max_tokens: 9\n  memory: {last: 3}\n  inputs: [A, B]\n"
        "  outputs: OUT\n  budget: {usd: 0.1, tokens: 20000}\n  prompts:\n    solver: Solve.\n  libraries: lib.yaml\n"
        "  types: {Draft: Text}\n  operators: {P: {outputs: {plan: Plan}}}\n"
    )
    assert settings.declared
    assert (settings.model, settings.temperature, settings.max_tokens) == ("gpt-4o-mini", 0.5, 9)
    assert settings.memory == Memory("last", 3)
    assert settings.budget == BudgetSettings(0.1, 20000, None)
    assert (settings.inputs, settings.outputs) == (["A", "B"], ["OUT"])
    assert settings.prompts == {"solver": "Solve."}
    assert settings.libraries == ("lib.yaml",)
    assert settings.types == {"Draft": "Text"}
    assert settings.violations == ()


@pytest.mark.parametrize(
    ("body", "declared", "opted_out"),
    [
        ("title: x", False, False),
        ("workflow: false", False, True),
        ("workflow:", True, False),
        ("workflow: {}", True, False),
    ],
)
def test_what_makes_a_workflow(body: str, declared: bool, opted_out: bool) -> None:
    settings = read_settings(body)
    assert (settings.declared, settings.opted_out) == (declared, opted_out)


@pytest.mark.parametrize(
    ("line", "code", "place"),
    [
        ("temprature: 1", "MW310", "temprature"),
        ("temperature: 3", "MW311", "3"),
        ("temperature: hot", "MW311", "hot"),
        ("retries: -1", "MW311", "-1"),
        ("retries: 1.5", "MW311", "1.5"),
        ("timeout: 0", "MW311", "0"),
        ("max_tokens: yes", "MW311", "yes"),
        ("memory: some", "MW311", "some"),
        ("memory: {last: 0}", "MW311", "{last: 0}"),
        ("budget: {usd: 1, token: 5}", "MW310", "token"),
        ("budget: {tokens: many}", "MW311", "many"),
        ("prompts: {a: 3}", "MW311", "3"),
        ("inputs: [A, 3]", "MW311", "3"),
        ("types: [A]", "MW311", "[A]"),
        ("base_url: http://x", "MW501", "base_url"),
        ("API_KEY: x", "MW501", "API_KEY"),
    ],
)
def test_mistakes_are_told_where_they_stand(line: str, code: str, place: str) -> None:
    assert said(workflow(line)) == [(code, place)]


VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, 2.5, "", "x", "all", "fail", "json"]),
    st.lists(st.sampled_from(["a", 1, ""]), max_size=2),
    st.dictionaries(st.sampled_from(["last", "tokens", "usd", "x"]), st.sampled_from([0, 1, "a"]), max_size=2),
)


@given(st.sampled_from(sorted({**WORKFLOW_KEYS, **NODE_KEYS, **OPERATOR_KEYS}.items())), VALUES)
def test_our_validator_agrees_with_json_schema(entry: tuple[str, Any], value: Any) -> None:
    fragment = entry[1]
    # A text of blanks is empty for us, which JSON Schema can only say by a pattern.
    assume(not isinstance(value, str) or value.strip())
    assert (violations(fragment, value) == []) == jsonschema.Draft202012Validator(fragment).is_valid(value)


@pytest.mark.parametrize("part", ["front-matter", "node", "edge", "library"])
def test_the_published_schema_is_a_schema(part: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(part))


def test_every_key_is_described() -> None:
    for keys in (WORKFLOW_KEYS, NODE_KEYS, OPERATOR_KEYS, FRONT_MATTER["properties"]):
        assert all(fragment.get("description", "").strip() for fragment in keys.values())


def test_what_refine_does_not_say_is_as_the_schema_says() -> None:
    (keys,) = [one["properties"] for one in WORKFLOW_KEYS["refine"]["anyOf"] if "properties" in one]
    defaults = {key: fragment["default"] for key, fragment in keys.items() if "default" in fragment}
    assert len(defaults) > 5
    assert {key: getattr(Refine(), key) for key in defaults} == defaults


def test_values_that_alias_each_other_are_refused_where_they_are_too_large() -> None:
    lines = ["workflow:", "  types:", "    A0: &a0 [x, y]"]
    lines += [f"    A{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 80)]
    document = read_settings("\n".join(lines)).document
    assert document.error is not None
    assert "too large" in document.error.message
    assert read_settings("\n".join(lines[:8])).declared


@pytest.mark.parametrize(("version", "codes"), [("1", []), ("2", ["MW314"]), ("17", ["MW314"]), ("0", ["MW311"])])
def test_a_version_of_the_language_that_is_not_known_is_an_error(version: str, codes: list[str]) -> None:
    text = f"---\nworkflow:\n  version: {version}\n---\nflowchart TD\n  A([In]) --> B[Sum it up] --> C([Out])\n"
    found = [one for one in check(text) if one.code != "MW313"]
    assert [one.code for one in found] == codes
    if codes == ["MW314"]:
        assert f"version {version} of the language" in found[0].message
        assert [one.code for one in check(fixed(text, found[0])) if one.code != "MW313"] == []
