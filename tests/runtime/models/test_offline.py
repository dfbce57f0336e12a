"""The embedded model answers everything, always the same; who answered says that it is not a real model, values don't."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.models.making import asking

from merrow_runtime.models.offline import OfflineEndpoint
from merrow_runtime.models.offline_answers import PLACEHOLDER
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.requests import AnswerSchema

PYTHON = "Answer with one fenced Python block that holds the whole program."


async def said(prompt: str = "What is 6 times 7?", **changes: Any) -> str:
    return (await OfflineEndpoint().complete(asking(prompt, **changes))).text


async def test_a_call_of_it_counts_as_one_and_with_its_tokens() -> None:
    usage = (await OfflineEndpoint().complete(asking("What is 6 times 7?"))).usage
    assert (usage.calls, usage.cost_usd) == (1, 0.0)
    assert usage.prompt_tokens > 4
    assert usage.completion_tokens > 0


def run(answer: str, function: str, *arguments: object) -> object:
    code = answer.split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 (it is what is tested)
    return names[function](*arguments)


@given(st.text(max_size=200), st.text(max_size=200))
async def test_whatever_it_is_asked_its_name_says_what_it_is_and_it_costs_nothing(prompt: str, system: str) -> None:
    endpoint = OfflineEndpoint()
    pieces: list[str] = []
    reply = await endpoint.complete(asking(prompt, system=system), pieces.append)
    assert reply.text
    assert "not a real model" not in reply.text.replace(prompt, "").replace(system, "")
    assert "not a real model" in reply.model
    assert "".join(pieces) == reply.text
    assert reply == await endpoint.complete(asking(prompt, system=system, temperature=1.0, seed=1))
    assert reply.usage.cost_usd == 0.0
    assert reply.usage.completion_tokens > 0
    assert endpoint.origin == OFFLINE_ORIGIN


@pytest.mark.parametrize(
    ("problem", "result"),
    [
        ("What is 12 * (3 + 4)?", "84"),
        ("A shop sells 3 boxes for 2.5 + 4 each", "6.5"),
        ("Is 1 / 0 more than 8 / 2", "4"),
        ("What is 6 times 7?", "42"),
        ("Take 20 minus 8, then rest", "12"),
        ("What is 9 divided by 2?", "4.5"),
        ("3×4", "12"),
        ("What is 2+3?", "5"),
        ("12*(3+4)", "84"),
    ],
)
async def test_its_program_works_out_a_calculation_of_the_problem(problem: str, result: str) -> None:
    answer = await said(problem, system=f"Write a function `solve` without parameters. {PYTHON}")
    assert str(run(answer, "solve")) == result
    assert await said(problem) == result  # so that voters agree with the program


@pytest.mark.parametrize(
    "problem",
    ["Ann has 3 apples.", "from 2024-07-18", "10-20 minutes", "9**9**9", "5+ years", "C++ 3", "1 / 0", "(1 + 2", ""],
)
async def test_its_program_says_so_where_there_is_none(problem: str) -> None:
    assert "no plain calculation" in str(run(await said(problem, system=PYTHON), "solve"))


ENTRY_POINT = "## Problem\n```\nAdd two numbers.\n```\n\n## Entry point\n```\nadd_two\n```"


@pytest.mark.parametrize(
    ("system", "problem"),
    [
        (f"Your code must define `add_two`. {PYTHON}", "Add two numbers."),
        (f"Write the function named `add_two`. {PYTHON}", "Add `a` and `b`."),
        (PYTHON, ENTRY_POINT),
        (PYTHON, 'def add_two(a, b):\n    """Add them."""\n'),
    ],
)
async def test_its_program_has_the_function_that_was_asked_for(system: str, problem: str) -> None:
    answer = await said(problem, system=system)
    assert run(answer, "add_two", 1, 2) is None


async def test_a_voter_picks_a_letter_and_a_router_a_word() -> None:
    schema = {
        "type": "object",
        "properties": {
            "thought": {"type": "string"},
            "choice": {"type": "string", "enum": ["A", "B"]},
            "route": {"enum": ["math", "other"]},
        },
        "required": ["thought", "choice", "route"],
    }
    answer = json.loads(await said(schema=AnswerSchema("vote", schema)))
    assert answer == {"thought": "42", "choice": "A", "route": "math"}


@pytest.mark.parametrize(
    ("options", "data", "choice"),
    [
        (["refund", "complaint", "praise"], "I want to make a Complaint about my refund.", "complaint"),
        (["math", "other"], "What is 6 times 7?", "math"),
        (["math", "other"], "Why is the sky blue?", "other"),
        (["short text", "long poem"], "Write a poem.", "long poem"),
        (["yes", "no"], "Is it late?", "yes"),
        ([1, 2], "2", 1),
        (["alpha omega", "beta"], "alpha beta omega", "alpha omega"),
        (["omega alpha", "beta"], "beta omega alpha", "beta"),
        (["short tale", "long tale"], "a tale", "short tale"),
        (["a cat", "b dog"], "a dog", "b dog"),
        (["cat", "dog"], "catalogue of dogs", "cat"),
        (["words", "calculations", "math"], "6 * 7", "calculations"),
        (["words", "rest"], "6 * 7", "words"),
        (["words", "sums", "anything else", "else"], "Why?", "else"),
        (["words", "sums", "unknown"], "6 * 7", "sums"),
    ],
)
async def test_it_chooses_by_the_words_of_its_data(options: list[object], data: str, choice: object) -> None:
    schema = AnswerSchema("route", {"properties": {"route": {"enum": options}}})
    instructions = f"Choose one of {options}."
    framed = f"## Input\n```\n{data}\n```"
    for prompt in (data, framed):
        assert json.loads(await said(prompt, system=instructions, schema=schema)) == {"route": choice}


async def test_a_field_for_code_holds_code_that_runs() -> None:
    schema = {"type": "object", "properties": {"code": {"type": "string"}, "response": {"type": "string"}}}
    told = '- "response": Python code as text'
    answer = json.loads(await said("2 + 3", system=told, schema=AnswerSchema("program", schema)))
    for name in ("code", "response"):
        assert run(f"```python\n{answer[name]}```", "solve") == 5


async def test_json_is_given_where_it_is_asked_for_in_words() -> None:
    assert json.loads(await said(system="Answer with valid JSON and nothing else.")) == {"answer": "42"}
    schema = '{"type": "array", "items": {"type": "number", "minimum": 3}}'
    told = f"Answer with valid JSON and nothing else. It must be valid by this JSON Schema:\n{schema}"
    assert json.loads(await said(system=told)) == [3]


@pytest.mark.parametrize("depth", [1, 10, 19])
async def test_an_answer_may_be_nested_deeply(depth: int) -> None:
    schema: dict[str, Any] = {"type": "integer", "minimum": 7}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    answer = json.loads(await said(schema=AnswerSchema("nested", schema)))
    for _ in range(depth):
        (answer,) = answer
    assert answer == 7


LEAVES = st.one_of(
    st.just({"type": "string"}),
    st.builds(lambda least: {"type": "string", "minLength": least}, st.integers(0, 300)),
    st.builds(lambda most: {"type": "string", "maxLength": most}, st.integers(0, 300)),
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": ["integer", "null"]}),
    st.builds(
        lambda kind, low: {"type": kind, "minimum": low}, st.sampled_from(["integer", "number"]), st.integers(-9, 9)
    ),
    st.builds(
        lambda kind, low: {"type": kind, "exclusiveMinimum": low},
        st.sampled_from(["integer", "number"]),
        st.integers(-9, 9),
    ),
    st.builds(
        lambda kind, high: {"type": kind, "maximum": high}, st.sampled_from(["integer", "number"]), st.integers(-9, 9)
    ),
    st.builds(lambda words: {"enum": words}, st.lists(st.text(max_size=3), min_size=1, max_size=3)),
    st.builds(lambda word: {"const": word}, st.text(max_size=3)),
    st.just({"$ref": "#/$defs/Word"}),
    st.just({}),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda item, least: {"type": "array", "items": item, "minItems": least}, inner, st.integers(0, 3)),
        st.builds(lambda item: {"type": "array", "items": item, "maxItems": 0}, inner),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(
            lambda fields: {
                "type": "object",
                "properties": fields,
                "required": list(fields),
                "additionalProperties": False,
            },
            st.dictionaries(st.text(alphabet="abc", min_size=1, max_size=3), inner, max_size=3),
        ),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["a", "code", "thought"]), SCHEMAS, min_size=1))
async def test_its_json_is_valid_for_the_schema(fields: dict[str, Any]) -> None:
    schema = {
        "$defs": {"Word": {"type": "string", "enum": ["yes", "no"]}},
        "type": "object",
        "properties": fields,
        "required": list(fields),
    }
    answer = json.loads(await said(schema=AnswerSchema("any", schema)))
    jsonschema.Draft202012Validator(schema).validate(answer)


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"const": "word"}, "word"),
        ({"const": 0}, 0),
        ({"enum": ["no", "yes"]}, "no"),
        ({"type": "array", "items": {"const": 1}}, [1]),
        ({"type": "array", "items": {"const": 1}, "minItems": 0}, [1]),
        ({"type": "array", "items": {"const": 1}, "minItems": 3}, [1, 1, 1]),
        ({"type": "array", "items": {"const": 1}, "maxItems": 0}, []),
        ({"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 4}, [1, 1]),
        ({"type": "array", "items": {"const": 1}, "maxItems": 1}, [1]),
        ({"type": "array"}, [f"{PLACEHOLDER} to: Hello."]),
        ({"properties": {"a": {"const": "b"}}}, {"a": "b"}),
        ({"type": "object", "properties": None}, {}),
        ({"type": "string", "properties": {"a": {}}}, f"{PLACEHOLDER} to: Hello."),
        ({"enum": [], "const": 1}, 1),
        ({"enum": [], "type": "integer"}, 0),
        ({"anyOf": [], "type": "integer"}, 0),
        ({"oneOf": [{"const": 1}, {"const": 2}]}, 1),
        ({"allOf": [{"const": 1}]}, 1),
        ({"type": []}, f"{PLACEHOLDER} to: Hello."),
        ({"type": "null"}, None),
        ({"type": "integer", "minimum": 2}, 2),
        ({"type": "integer", "minimum": 2.5}, 3),
        ({"type": "integer", "maximum": -2.5}, -3),
        ({"type": "number", "maximum": -2.5}, -2.5),
        ({"type": "integer", "exclusiveMinimum": 2.5, "maximum": 3}, 3),
        ({"type": "number", "minimum": 2.5, "maximum": 2.5}, 2.5),
        ({"type": "integer", "exclusiveMaximum": 0}, -1),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": 0}, 1),
        ({"type": "number", "exclusiveMinimum": -1, "exclusiveMaximum": 1}, 0),
        ({"type": "string", "maxLength": 0}, ""),
        (True, f"{PLACEHOLDER} to: Hello."),
        ({"type": "object"}, {}),
        ({"anyOf": [{"const": 1}, {"const": 2}]}, 1),
        ({"type": ["integer", "null"]}, 0),
        ({"type": ["null", "integer"]}, None),
        ({"type": "boolean"}, True),
        ({"type": "integer", "maximum": -2}, -2),
        ({"type": "integer", "exclusiveMinimum": 2}, 3),
        ({"type": "number", "exclusiveMinimum": 2}, 2.5),
        ({"type": "number", "exclusiveMaximum": 0}, -0.5),
        ({"type": "integer", "minimum": -3, "maximum": 4}, 0),
        ({"type": "string"}, f"{PLACEHOLDER} to: Hello."),
        ({"type": "string", "maxLength": 4}, PLACEHOLDER[:4]),
        ({"type": "string", "minLength": len(PLACEHOLDER) + 13}, f"{PLACEHOLDER} to: Hello..."),
        ({}, f"{PLACEHOLDER} to: Hello."),
        ({"$ref": "#/$defs/Two"}, [0, 0]),
        ({"$ref": "#/$defs/a~1b~0c"}, "slash and tilde"),
        ({"$ref": "#/$defs/Two/items"}, 0),
        ({"$ref": "#/$defs/Nowhere/at/all"}, f"{PLACEHOLDER} to: Hello."),
        ({"$ref": "#/properties/f"}, f"{PLACEHOLDER} to: Hello."),
    ],
)
async def test_each_form_of_a_schema_has_its_answer(schema: dict[str, Any], answer: object) -> None:
    defined = {
        "Two": {"type": "array", "minItems": 2, "items": {"type": "integer"}},
        "a/b~c": {"const": "slash and tilde"},
    }
    asked = AnswerSchema("one", {"properties": {"f": schema}, "$defs": defined})
    assert json.loads(await said("Hello.", schema=asked)) == {"f": answer}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("Yes, it passed.", True),
        ("The draft is wrong.", False),
        ("The draft is not good.", False),
        ("There are no errors in it.", True),
        ("It was wrong at first, and is correct now.", True),
        ("It was correct at first, and fails now.", False),
        ("## Draft\n```\nA broken sentence\n```\n\n## Note\n```\nnothing\n```", False),
        ("A word about the weather.", True),
        ("It never was right.", False),
        ("It isn't very polite.", False),
        ("It doesn't fail.", True),
        ("Rejected, then accepted.", True),
        ("No.", False),
    ],
)
async def test_a_verdict_follows_the_words_of_the_data(data: str, expected: bool) -> None:
    schema = AnswerSchema("one", {"properties": {"f": {"type": "boolean"}}})
    answers = [json.loads(await said(data, schema=schema)) for _ in range(2)]
    assert answers == [{"f": expected}] * 2


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("w" * 160, f"{PLACEHOLDER} to: {'w' * 160}"),
        ("w" * 161, f"{PLACEHOLDER} to: {'w' * 160}..."),
        ("w" * 159 + " w", f"{PLACEHOLDER} to: {'w' * 159}..."),
        (" two\n words ", f"{PLACEHOLDER} to: two words"),
        (" ", f"{PLACEHOLDER}."),
        ("## Found\n```\n-12.5\n```\n", "-12.5"),
        ("## One\n````text\none ``` two\n````\n## Two\n```\nthree\n```", f"{PLACEHOLDER} to: one ``` two three"),
        ("9" * 40, "9" * 40),
        ("9" * 41, f"{PLACEHOLDER} to: {'9' * 41}"),
    ],
)
async def test_words_are_a_result_or_name_the_question(prompt: str, answer: str) -> None:
    assert await said(prompt) == answer
    assert await said(prompt, system="Be brief.") == answer


WORKFLOW = """```mermaid
flowchart TD
    PROBLEM([Problem]) --> ANSWER["Answer the problem."] --> RETURN([Result])
```"""


@pytest.mark.parametrize(
    ("system", "answer"),
    [
        ("Answer with one drawing in ```mermaid, and nothing else.", WORKFLOW),
        ("Answer with JSON.", {"answer": f"{PLACEHOLDER} to: Hello."}),
        ('Answer with JSON. JSON Schema: {"const": 3} {', 3),
        ("Answer with JSON. JSON Schema: {broken}", {"answer": f"{PLACEHOLDER} to: Hello."}),
        ("Answer with JSON. JSON Schema: [3]", {"answer": f"{PLACEHOLDER} to: Hello."}),
        ("Answer with words. JSON is a format.", f"{PLACEHOLDER} to: Hello."),
    ],
)
async def test_the_instructions_say_in_which_form_it_answers(system: str, answer: object) -> None:
    found = await said("Hello.", system=system)
    assert (found if isinstance(answer, str) else json.loads(found)) == answer
    # What the data says of forms is data.
    assert await said(f"## Data\n```\nHello.\n```\n{system}", system="Be brief.") == f"{PLACEHOLDER} to: Hello."


async def test_a_plan_is_a_draft_and_its_check() -> None:
    plan = json.loads(await said(schema=AnswerSchema("merrow_plan", {"const": 1})))
    assert [task["id"] for task in plan["tasks"]] == ["draft", "check"]
    assert [task["after"] for task in plan["tasks"]] == [[], ["draft"]]
    assert {task["agent"] for task in plan["tasks"]} == {agent["id"] for agent in plan["agents"]}


async def test_a_schema_that_refers_to_itself_ends() -> None:
    loop = {"$ref": "#/$defs/Loop"}
    schema = {"$defs": {"Loop": {"type": "array", "items": loop}}, "properties": {"f": loop}}
    found = json.loads(await said("Hello.", schema=AnswerSchema("one", schema)))["f"]
    depth = 0
    while isinstance(found, list):
        (found,) = found
        depth += 1
    assert (depth, found) == (10, f"{PLACEHOLDER} to: Hello.")


@pytest.mark.parametrize("field", ["code", "my_program", "Code"])
async def test_what_a_field_is_for_says_whether_it_holds_code(field: str) -> None:
    for schema, told, is_code in (
        ({field: {"type": "string"}}, "Be brief.", field != "my_program"),
        ({"f": {"type": "string", "description": "The Program, as text"}}, "Be brief.", True),
        ({"f": {"type": "string", "description": "Encode it."}}, "Be brief.", False),
        ({"f": {"type": "string"}}, '"g": Python code', False),
        ({"f": {"type": "string"}}, '"f": Python code', True),
    ):
        answer = json.loads(await said("2 + 3", system=told, schema=AnswerSchema("one", {"properties": schema})))
        (text,) = answer.values()
        assert ("def " in text) is is_code, (schema, told)
        assert is_code or text == "5"
