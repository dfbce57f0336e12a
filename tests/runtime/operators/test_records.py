"""Values of records and unions: what is asked for, which answers are taken, which are asked for again and why."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from tests.runtime.operators.scripted import ScriptedTools, given, node, outputs_of

from merrow_analysis.definitions.declared_types import declare_types
from merrow_analysis.definitions.types import TypeTable, item_of, list_of
from merrow_runtime.errors import AnswerFailure, NodeFailure, UsageFailure
from merrow_runtime.operators.base import Given, NodeDefinition
from merrow_runtime.operators.formats.shapes import ValueShape, coerce, is_of, placeholder, schema_of, shape_of
from merrow_runtime.program.definitions import meanings_of
from merrow_runtime.program.inputs import typed_value
from merrow_runtime.values import Value

DECLARED = {
    "Route": ["math", "code"],
    "Place": {"city": "Text", "rank": "Number"},
    "Verdict": {"kind": "Route", "place": "Place", "marks": "list[Number]", "good": "Bool", "__proto__": "Json"},
    "Fair": "Verdict",
    "Query": "Text",
    "Step": "Place | Query | Route",
    "Trail": {"steps": "list[Step]", "value": "Step"},
}
TABLE, _ = declare_types(DECLARED)
VERDICT = {
    "kind": "math",
    "place": {"city": "Rome", "rank": 3},
    "marks": [1, 2.5],
    "good": True,
    "__proto__": {"a": [None]},
}


def shape(type_: str, table: TypeTable = TABLE) -> ValueShape:
    return shape_of(type_, *meanings_of([type_], table))


def custom(type_: str, operator: str = "Custom", port: str = "response", **more: Any) -> NodeDefinition:
    return node(operator, outputs={port: type_}, **meanings_of([type_], TABLE)._asdict(), **more)


async def answered(type_: str, *answers: str) -> tuple[Value, ScriptedTools]:
    tools = ScriptedTools(answers)
    return (await outputs_of(custom(type_), {"input": given("x")}, tools))["response"], tools


# Whatever the checker accepts

NAMES = ["Alpha", "Beta", "Gamma", "Delta", "Text", "Code", "Number", "Bool", "Json", "Route"]


@st.composite
def tables(draw: st.DrawFn) -> TypeTable:
    """Types in which records and unions name what is declared before them, often under the names that values use."""
    declared: dict[str, Any] = {"Route": ["math", "code"]}
    for number, name in enumerate(NAMES[:4]):
        known = [*NAMES[4:], *NAMES[:number]]
        kinds = [one for one in known if one not in ("Json", "Text") and not isinstance(declared.get(one), str)]
        if number and draw(st.booleans()):
            declared[name] = " | ".join(draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=3, unique=True)))
        else:
            fields = st.sampled_from(["a", "kind", "value", "__proto__", "length", "response"])
            types = st.sampled_from(known).flatmap(lambda one: st.sampled_from([one, list_of(one)]))
            declared[name] = draw(st.dictionaries(fields, types, min_size=1, max_size=4))
    table, problems = declare_types(declared)
    assert not problems, problems
    return table


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-99, 99), st.text(max_size=5)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "kind", "value"]), inner, max_size=3)
    ),
    max_leaves=5,
)
PLAIN = {
    "Text": st.text(max_size=8).map(str.strip),
    "Code": st.sampled_from(["x = 1", "def solve():\n    return 1"]),
    "Number": st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False),
    "Bool": st.booleans(),
    "Json": JSON,
    "Route": st.sampled_from(["math", "code"]),
}


def values(type_: str, table: TypeTable) -> st.SearchStrategy[Any]:
    item = item_of(type_)
    if item is not None:
        return st.lists(values(item, table), max_size=2)
    fields, kinds = table.fields_of(type_), table.kinds_of(type_)
    if fields is not None:
        return st.fixed_dictionaries({name: values(one, table) for name, one in fields.items()})
    if kinds is not None:
        forms = [st.fixed_dictionaries({"kind": st.just(one), "value": values(one, table)}) for one in kinds]
        return st.one_of(forms)
    return PLAIN[type_]


@pytest.mark.slow
@settings(max_examples=38, deadline=None)
@drawn(st.data())
def test_a_value_of_a_type_is_taken_as_it_is(data: st.DataObject) -> None:
    table = data.draw(tables())
    type_ = data.draw(st.sampled_from(NAMES[:4]))
    value, wanted = data.draw(values(type_, table)), shape(type_, table)
    assert is_of(value, wanted)
    assert coerce(value, wanted) == value
    assert typed_value(json.dumps(value), type_, table, "It") == value
    jsonschema.validate(value, dict(schema_of(wanted)))
    assert is_of(placeholder(wanted, "here"), wanted)


@pytest.mark.slow
@settings(max_examples=75, deadline=None)
@drawn(st.data())
def test_whatever_is_taken_is_of_the_type(data: st.DataObject) -> None:
    table = data.draw(tables())
    type_ = data.draw(st.sampled_from(NAMES[:4]))
    wanted = shape(type_, table)
    value: Any = data.draw(JSON | values(data.draw(st.sampled_from(NAMES[:4])), table))
    try:
        assert is_of(coerce(value, wanted), wanted)
    except AnswerFailure as failure:
        assert str(failure).endswith(".")  # noqa: PT017 (either outcome is right)
        assert not is_of(value, wanted)


@settings(max_examples=50, deadline=None)
@drawn(values("Verdict", TABLE), st.data())
def test_a_record_with_a_field_missing_too_many_or_ill_typed_is_refused(value: Any, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(sorted(set(VERDICT) - {"__proto__"})))
    how = data.draw(st.sampled_from(["missing", "more", "ill-typed"]))
    spoilt = dict(value)
    if how == "missing":
        del spoilt[field]
    elif how == "more":
        field = "extra"
        spoilt[field] = 1
    else:
        spoilt[field] = data.draw(st.sampled_from([None, {"a": 1}, "neither", [[]]]))
    assert not is_of(spoilt, shape("Verdict"))
    with pytest.raises(AnswerFailure, match=rf"^Field `{field}"):
        coerce(spoilt, shape("Verdict"))
    with pytest.raises(UsageFailure, match=rf"^It must be of type Verdict: Field `{field}"):
        typed_value(spoilt, "Verdict", TABLE, "It")


# What is asked, and asked again


@pytest.mark.parametrize("type_", ["Verdict", "Fair"])
async def test_a_record_is_asked_for_by_its_fields(type_: str) -> None:
    value, tools = await answered(type_, "Here it is:\n```json\n" + json.dumps(VERDICT) + "\n```")
    assert value == VERDICT
    [asked] = tools.asked
    assert asked.schema is not None
    schema = asked.schema.schema
    jsonschema.Draft202012Validator.check_schema(dict(schema))
    assert schema["required"] == list(VERDICT)
    assert schema["additionalProperties"] is False
    assert schema["properties"]["place"] == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "rank": {"type": "number"}},
        "required": ["city", "rank"],
        "additionalProperties": False,
    }
    assert '- "place": an object with the fields "city" (text), "rank" (a number) and no others' in asked.system


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"good": None}, "Field `good` of the answer is wrong: `null` is not true or false."),
        ({"place": {"city": "Rome"}}, "Field `place.rank` of the answer is missing."),
        ({"place": {"city": ["Rome"], "rank": 1}}, "Field `place.city` of the answer is wrong"),
        (
            {"place": "Rome"},
            "Field `place` of the answer is wrong: `Rome` is not a Place, which is a JSON object with `city`, `rank`.",
        ),
        ({"marks": [1, "many"]}, "Field `marks` of the answer is wrong: `many` is not a number."),
        ({"more": 1}, "Field `more` of the answer is not a field of Verdict."),
    ],
)
async def test_a_misfit_is_asked_again_and_then_fails_by_the_fields_name(change: dict[str, Any], said: str) -> None:
    wrong = json.dumps({**VERDICT, **change})
    value, tools = await answered("Verdict", wrong, json.dumps(VERDICT))
    assert value == VERDICT
    assert f"`{said.split('`')[1]}`" in tools.remedies[0]
    with pytest.raises(NodeFailure) as failed:
        await answered("Verdict", wrong, wrong, wrong)
    assert said in str(failed.value)


async def test_a_list_of_records_names_the_item() -> None:
    wrong = json.dumps({"response": [{"city": "Rome", "rank": 1}, {"city": "Bonn"}]})
    with pytest.raises(NodeFailure, match=r"Field `\[1\].rank` is missing"):
        await answered("list[Place]", wrong, wrong, wrong)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ({"response": {"kind": "Place", "value": {"city": "Rome", "rank": 1}}}, {"city": "Rome", "rank": 1}),
        ({"kind": "place", "value": {"CITY": "Rome", "rank": "1"}}, {"city": "Rome", "rank": 1}),
        ({"kind": "Place", "city": "Rome", "rank": 1}, {"city": "Rome", "rank": 1}),
        ({"response": {"kind": "Place", "rank": 1, "city": "Rome"}}, {"city": "Rome", "rank": 1}),
    ],
)
async def test_a_union_says_its_kind(answer: dict[str, Any], value: Any) -> None:
    given_value, tools = await answered("Step", json.dumps(answer))
    assert given_value == {"kind": "Place", "value": value}
    [asked] = tools.asked
    assert asked.schema is not None
    forms = asked.schema.schema["properties"]["response"]["anyOf"]
    assert [form["properties"]["kind"]["enum"] for form in forms] == [["Place"], ["Query"], ["Route"]]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"response": {"kind": "Town", "value": "Rome"}}, "The kind of the Step is `Town`"),
        ({"response": {"value": "Rome"}}, "The kind of the Step is missing"),
        ({"response": {"kind": "Query"}}, "Field `value` is missing"),
        ({"response": {"kind": "Route", "value": "art"}}, "Field `value` is wrong: `art` is not one of"),
        ({"response": {"kind": "Query", "value": {"a": 1}}}, "Field `value` is wrong"),
        ({"response": {"kind": "Place", "city": "Rome"}}, "Field `rank` is missing"),
        ({"response": "Rome"}, "`Rome` is not a Step"),
        ({"kind": "Place", "value": {"city": "Rome"}}, "Field `value.rank` is missing"),
        ({"kind": "Town", "value": "Rome"}, "The kind of the Step is `Town`"),
    ],
)
async def test_an_answer_of_none_of_the_kinds_fails(answer: dict[str, Any], said: str) -> None:
    with pytest.raises(NodeFailure) as failed:
        await answered("Step", *[json.dumps(answer)] * 3)
    assert said in str(failed.value)


# Pass and Select


@pytest.mark.parametrize("value", ["text", 3, [], {"a": 1}, None])
async def test_pass_hands_on_what_it_is_given(value: Value) -> None:
    tools = ScriptedTools()
    definition = node("Pass", outputs={"value": "Any"})
    assert await outputs_of(definition, {"value": given(value, type_="Any")}, tools) == {"value": value}
    assert tools.asked == []


async def test_pass_makes_a_record() -> None:
    definition = custom("Trail", "Pass", "value", parameters={"returns": "Trail"})
    step = {"kind": "Query", "value": "x"}
    inputs = {
        "value": given(step, type_="Step"),
        "steps": [*given(step, type_="Step"), *given([step], type_="list[Step]")],
    }
    assert await outputs_of(definition, inputs, ScriptedTools()) == {"value": {"steps": [step, step], "value": step}}


@st.composite
def nested(draw: st.DrawFn) -> list[Given]:
    """Numbers by single edges, lists and lists of lists."""
    number = st.integers(-3, 3) | st.floats(-3, 3)
    by_edge = draw(st.lists(st.recursive(number, lambda inner: st.lists(inner, max_size=3), max_leaves=6), max_size=4))
    return [Given(f"N{place}", None, "Number", value, "") for place, value in enumerate(by_edge)]


def flat(value: Any) -> list[Any]:
    return [one for inner in value for one in flat(inner)] if isinstance(value, list) else [value]


@settings(max_examples=50, deadline=None)
@drawn(nested(), st.integers(1, 5) | st.none(), st.booleans())
async def test_select_orders_by_number_best_first_and_the_earlier_of_equals(
    items: list[Given], keep: int | None, by_field: bool
) -> None:
    numbers = flat([one.value for one in items])
    parameters: dict[str, Value] = {} if keep is None else {"keep": keep}
    expected = sorted(enumerate(numbers), key=lambda one: (-one[1], one[0]))
    if by_field:
        places = [{"city": str(place), "rank": number} for place, number in enumerate(numbers)]
        parameters["by"] = "rank"
        items, chosen, type_ = given(*places, type_="Place"), [places[place] for place, _ in expected], "Place"
    else:
        chosen, type_ = [number for _, number in expected], "Number"
    outputs = {"selected": list_of(type_), "best": type_, "score": "Number"}
    definition = node("Select", outputs=outputs, parameters=parameters, **meanings_of([type_], TABLE)._asdict())
    if not numbers:
        with pytest.raises(NodeFailure, match="nothing to select from"):
            await outputs_of(definition, {"items": items}, ScriptedTools())
        return
    found = await outputs_of(definition, {"items": items}, ScriptedTools())
    assert found == {"selected": chosen[: keep or 1], "best": chosen[0], "score": expected[0][1]}


@pytest.mark.parametrize(
    ("item", "by", "said"),
    [
        ("high", None, "`high` is not a number"),
        (True, None, "`true` is not a number"),
        (None, None, "`null` is not a number"),
        ({"rank": "3"}, "rank", '`{"rank": "3"}` has no number in its field `rank`'),
        ({"rank": True}, "rank", '`{"rank": true}` has no number in its field `rank`'),
        ({"city": "Rome"}, "rank", '`{"city": "Rome"}` has no number in its field `rank`'),
        ({"place": 3}, "place.rank", '`{"place": 3}` has no number in its field `place.rank`'),
    ],
)
async def test_select_names_an_item_that_can_not_be_compared(item: Value, by: str | None, said: str) -> None:
    """Where fields may be anything, the checker can't tell."""
    definition = node("Select", parameters={} if by is None else {"by": by})
    number = 1 if by is None else {"rank": 1, "place": {"rank": 1}}
    with pytest.raises(NodeFailure) as failed:
        await outputs_of(definition, {"items": given([number, item], type_="list[Json]")}, ScriptedTools())
    assert str(failed.value) == f"Node N: {said}, so it can't be compared with the others."
