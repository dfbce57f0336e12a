"""JSON Schemas of others: the verdicts and the words of `jsonschema`, in a bounded number of steps."""

from __future__ import annotations

import json
import time
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from merrow_analysis.bounded.schema_check import SchemaRefusedError
from merrow_analysis.bounded.schema_forms import problem_of_schema
from merrow_analysis.bounded.schemas import first_fault

NAMES = st.sampled_from(["a", "b", "ab", "c"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, 2.5, 1e300]),
    st.sampled_from(["", "a", "ab", "1"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
COUNTS = st.integers(0, 3)
PATTERN = st.sampled_from(["^a", "b$", "^[ab]+$", "1"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    maps = st.dictionaries(NAMES, inner, min_size=1, max_size=2)
    several = st.lists(inner, min_size=1, max_size=3)
    kinds = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
    keys: dict[str, st.SearchStrategy[Any]] = {
        "type": st.one_of(kinds, st.lists(kinds, min_size=1, max_size=2, unique=True)),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        **{key: st.integers(-2, 2) for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")},
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
                         "minContains"), COUNTS),
        "pattern": PATTERN,
        "uniqueItems": st.booleans(),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        **dict.fromkeys(("properties", "dependentSchemas", "$defs"), maps),
        "patternProperties": st.dictionaries(PATTERN, inner, min_size=1, max_size=2),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), several),
        **dict.fromkeys(("additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else",
                         "unevaluatedItems", "unevaluatedProperties"), inner),
    }  # fmt: skip
    return st.lists(st.sampled_from(sorted(keys)), min_size=1, max_size=3, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({key: keys[key] for key in chosen})
    )


SCHEMAS = st.recursive(st.one_of(st.booleans(), schemas(st.booleans())), schemas, max_leaves=5).filter(
    lambda one: isinstance(one, dict)
)


def by_package(schema: Any, value: Any) -> tuple[str, str] | None:
    problem = next(iter(jsonschema.Draft202012Validator(schema).iter_errors(value)), None)
    return None if problem is None else ("/".join(map(str, problem.absolute_path)), problem.message)


@settings(max_examples=150, deadline=None)
@given(SCHEMAS, VALUES)
def test_a_value_is_valid_where_it_is_by_the_package(schema: Any, value: Any) -> None:
    assert problem_of_schema(schema) is None
    expected = by_package(schema, value)
    found = first_fault(schema, value)
    assert (found is None) is (expected is None)
    if found is not None and expected is not None:
        # The package takes additional properties in no order, and leaves out where `false` refused something.
        words = ("additionalProperties", "unevaluated", "oneOf", "contains")
        several = any(word in json.dumps(schema) for word in words)
        assert several or found.message == expected[1]
        assert several or found.message.startswith("False schema") or found.place == expected[0]


@settings(max_examples=75, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            ["type", "required", "items", "minLength", "multipleOf", "properties", "allOf", "pattern", "$ref"]
        ),
        VALUES,
        min_size=1,
    )
)
def test_what_is_no_schema_is_found(schema: Any) -> None:
    assume("format" not in schema)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError:
        assert problem_of_schema(schema) is not None
    else:
        assert problem_of_schema(schema) is None


def levels(count: int, keyword: str) -> Any:
    """A schema whose size is ``count`` and whose steps are two to the power of it."""
    inner = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(count)}
    return {"$defs": {**inner, f"d{count}": {"type": "object"}}, "$ref": "#/$defs/d0"}


MANY = [f"k{number}" for number in range(20_000)]
LONG = "A" * 5_000


def often(schema: Any, name: str = "d", code: str = "d") -> Any:
    """A schema that is applied again and again to the same value; references write its name as ``code``."""
    inner = {f"{name}{n}": {"allOf": [{"$ref": f"#/$defs/{code}{n + 1}"}] * 2} for n in range(40)}
    return {"$defs": {**inner, f"{name}40": schema}, "$ref": f"#/$defs/{code}0"}


OBJECTS = [{"name": f"n{number}", "more": [number]} for number in range(6_000)]
PRIME = 2**61 - 1
HOSTILE: dict[str, tuple[Any, Any]] = {
    "pattern": ({"pattern": "^([A-Za-z]+ ?)+$"}, "Maximilian Alexander Bartholomew Featherstone the 3rd"),
    "long pattern": ({"pattern": "a*a*a*a*b"}, "a" * 300_000),
    "patternProperties": ({"patternProperties": {"^(a+)+$": False}}, {"a" * 60 + "b": 1}),
    "many patternProperties": ({"patternProperties": {f"a*a*{n}": True for n in range(500)}},
                               {"a" * 200 + str(n): 1 for n in range(500)}),
    "additionalProperties": ({"patternProperties": {"^(a+)+$": True}, "additionalProperties": {"type": "integer"}},
                             {"a" * 60 + "b": 1}),
    "allOf": (levels(40, "allOf"), {}),
    "anyOf": (levels(40, "oneOf"), {}),
    "unevaluatedProperties": ({**levels(40, "allOf"), "unevaluatedProperties": False}, {}),
    "unevaluatedItems": ({**levels(40, "allOf"), "unevaluatedItems": False}, []),
    "many unevaluated": ({"unevaluatedProperties": False, "patternProperties": {"^(a|a)*$": True}},
                         {"a" * 50 + str(n): 1 for n in range(3_000)}),
    "uniqueItems": ({"uniqueItems": True}, OBJECTS),
    "uniqueItems of mixed": ({"uniqueItems": True}, [*OBJECTS, 1, "x", None]),
    "uniqueItems of chosen numbers": ({"uniqueItems": True}, [n * PRIME for n in range(30_000)]),
    "enum": ({"items": {"enum": OBJECTS}}, OBJECTS[::-1]),
    "contains": ({"items": {"contains": {"const": OBJECTS}}}, [[OBJECTS] * 50] * 50),
    "messages": ({"anyOf": [{"type": "integer"}] * 2_000}, "x" * 300_000),
    "another draft inside": ({"allOf": [{"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "(a+)+$"}]},
                             "a" * 60 + "b"),
    "many required": (often({"required": MANY}), dict.fromkeys(MANY, 1)),
    "many properties": (often({"properties": dict.fromkeys(MANY, True)}), {}),
    "many dependentRequired": (often({"dependentRequired": {name: [] for name in MANY}}), {}),
    "many dependentSchemas": (often({"dependentSchemas": dict.fromkeys(MANY, True)}), {}),
    "many patterns of no property": (often({"patternProperties": dict.fromkeys(MANY[:2_000], True)}), {}),
    "many patterns": (often({"patternProperties": dict.fromkeys(MANY[:300], True)}), {"a": 1}),
    "parts of nothing": (often({"pattern": "(?:)" * 2_000}), ""),
    "many properties, no more": (often({"properties": dict.fromkeys(MANY, True), "additionalProperties": False}),
                                 dict.fromkeys(MANY, 1)),
    "many properties, unevaluated": (often({"properties": dict.fromkeys(MANY, True), "unevaluatedProperties": False}),
                                     dict.fromkeys(MANY, 1)),
    "many names": (often({"propertyNames": True}), dict.fromkeys(MANY, 1)),
    "many items": (often({"items": True}), MANY),
    "many items, unevaluated": (often({"items": True, "unevaluatedItems": False}), MANY),
    "many items in order": (often({"prefixItems": [True] * 20_000}), MANY),
    "contains anything": (often({"contains": True}), MANY),
    "long const": (often({"const": "x" * 1_000_000}), "".join(["x"] * 1_000_000)),
    "long escaped names": (often(True, LONG, "%41" * 5_000), 1),
    "back to itself": ({"$ref": "#"}, {}),
    "back to itself in two steps": ({"anyOf": [{"not": {"$ref": "#"}}]}, 1),
    "back to itself, unevaluated": ({"unevaluatedProperties": False, "allOf": [{"$ref": "#"}]}, {"a": 1}),
    "deep": ({"items": {"$ref": "#"}}, json.loads("[" * 500 + "]" * 500)),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "value"), HOSTILE.values(), ids=HOSTILE)
def test_a_schema_ends_whatever_it_asks_for(schema: Any, value: Any) -> None:
    before = time.process_time()
    assert problem_of_schema(schema) is None
    try:
        found = first_fault(schema, value)
    except SchemaRefusedError as problem:
        said = str(problem)
    else:
        said = "valid" if found is None else found.message
    assert 0 < len(said) <= 300
    assert time.process_time() - before < 15  # some 0.5 s; without bounds minutes, or for good


@pytest.mark.parametrize(
    ("reference", "value", "valid"),
    [
        ("#/$defs/name", "x", True),
        ("#/$defs/name", 1, False),
        ("#named", 1, False),
        ("name.json", 1, False),
        ("#/$defs/a~1b%20c", 1, False),
        ("#/allOf/0", "x", True),
    ],
)
def test_references_lead_to_what_is_in_the_schema(reference: str, value: Any, valid: bool) -> None:
    text = {"$anchor": "named", "$id": "name.json", "type": "string"}
    schema = {"$defs": {"name": text, "a/b c": {"type": "string"}}, "allOf": [True], "items": {"$ref": reference}}
    assert (first_fault(schema, [value]) is None) is valid


@pytest.mark.parametrize(
    "other",
    [{"required": 5}, {"type": "nosuch"}, {"properties": {"a": 5}}, {"$ref": 5}, {"multipleOf": 0}, {"minimum": "a"}],
)
@pytest.mark.parametrize("reference", ["#/enum/0", "#named", "x.json"])
def test_what_a_reference_leads_to_must_be_a_schema(reference: str, other: Any) -> None:
    named = {"$anchor": "named", "$id": "x.json", **other}
    assert problem_of_schema({"properties": {"b": {"$ref": reference}}, "enum": [named]}) is not None
    assert problem_of_schema({"enum": [named]}) is None


@pytest.mark.parametrize(
    "schema",
    [{"items": [{"type": "string"}]}, {"exclusiveMinimum": True}, {"required": True}, {"type": "any"}, {"type": [{}]}],
)
def test_a_form_of_an_older_draft_is_no_schema(schema: Any) -> None:
    assert problem_of_schema({"$schema": "http://json-schema.org/draft-04/schema#", **schema}) is not None


NUMBERS: list[Any] = [0, -1, 10**400, 10**4_000, 16**5_000, 0.5, 1e-300, 5e-324, 1e308, float("1e999"), float("-1e999")]


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            ["multipleOf", "minimum", "exclusiveMaximum", "minLength", "maxItems", "const", "enum", "type"]
        ),
        st.sampled_from([*NUMBERS, NUMBERS, "number", "integer"]),
        min_size=1,
    ),
    st.sampled_from([*NUMBERS, NUMBERS, "text"]),
)
def test_numbers_of_any_size_are_looked_at(schema: Any, value: Any) -> None:
    if problem_of_schema(schema) is None:
        first_fault(schema, value)


@pytest.mark.parametrize("reference", ["#/$defs/none", "http://127.0.0.1:9/x", "other.json#/a", "#none"])
def test_a_reference_to_nothing_is_refused(reference: str) -> None:
    with pytest.raises(SchemaRefusedError, match="which is not in it"):
        first_fault({"$ref": reference}, 1)
