"""Custom, declared operators and the other single questions: the answer is of the type that the port promises."""

from __future__ import annotations

import json

import jsonschema
import pytest
from tests.runtime.operators.scripted import ScriptedTools, given, node, outputs_of

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import Remembered, Task
from merrow_runtime.operators.registry import operator_for

PROGRAM = "def solve():\n    return 1"
FENCED = f"```python\n{PROGRAM}\n```"
WORDS = {"Route": ("math", "code", "other")}
KINDS = {"Draft": "Text", "Patch": "Code", "Score": "Number"}


@pytest.mark.parametrize(
    ("type_", "answer", "value"),
    [
        ("Text", "  plain words \n", "plain words"),
        ("Draft", "a {draft}", "a {draft}"),
        ("Code", FENCED, PROGRAM),
        ("Patch", f"Here:\n{FENCED}", PROGRAM),
        ("Number", '{"response": 0.5}', 0.5),
        ("Score", "7", 7),
        ("Bool", '{"response": false}', False),
        ("Route", '{"response": "code"}', "code"),
        ("Json", '```json\n{"a": [1, null]}\n```', {"a": [1, None]}),
        ("list[Text]", '{"response": ["a", "b"]}', ["a", "b"]),
        ("list[Route]", '["Math", "other"]', ["math", "other"]),
        ("list[Code]", json.dumps({"response": [PROGRAM]}), [PROGRAM]),
    ],
)
async def test_a_custom_node_gives_what_it_returns(type_: str, answer: str, value: object) -> None:
    definition = node("Custom", outputs={"response": type_}, kinds=KINDS, words=WORDS)
    tools = ScriptedTools([answer])
    assert await outputs_of(definition, {"input": given("x")}, tools) == {"response": value}
    [asked] = tools.asked
    structured = type_ not in ("Text", "Draft", "Code", "Patch", "Json")
    assert (asked.schema is not None) == structured


@pytest.mark.parametrize(
    ("type_", "answer", "remedy"),
    [
        ("Text", " \n", "empty"),
        ("Code", "I can't.", "Python"),
        ("Number", "many", "a number"),
        ("Bool", "maybe", "true or false"),
        ("Route", "biology", '"math", "code", "other"'),
        ("Json", "no", "valid JSON"),
        ("list[Number]", '{"response": [1, "x"]}', "a number"),
    ],
)
async def test_an_answer_of_another_type_is_asked_anew_and_then_fails(type_: str, answer: str, remedy: str) -> None:
    definition = node("Custom", outputs={"response": type_}, words=WORDS)
    tools = ScriptedTools([answer] * 3)
    with pytest.raises(NodeFailure):
        await outputs_of(definition, {"input": given("x")}, tools)
    assert len(tools.asked) == 3
    assert remedy in tools.remedies[0]


async def test_an_enumeration_is_asked_for_by_its_words() -> None:
    definition = node("Custom", prompt="Which kind?", outputs={"response": "Route"}, words=WORDS)
    tools = ScriptedTools(["math"])
    await outputs_of(definition, {"input": given("1 + 1")}, tools)
    [asked] = tools.asked
    assert asked.schema is not None
    assert asked.schema.schema["properties"]["response"]["enum"] == ["math", "code", "other"]
    assert 'one of "math", "code", "other"' in asked.system
    assert asked.user == "1 + 1"


SCHEMA = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}


async def test_a_format_that_is_a_schema_is_sent_and_checked() -> None:
    definition = node("Custom", outputs={"response": "Json"}, parameters={"format": SCHEMA})
    tools = ScriptedTools(['{"age": -1}', "{age: 3}"])
    assert await outputs_of(definition, {"input": given("x")}, tools) == {"response": {"age": 3}}
    assert tools.asked[0].schema is not None
    assert tools.asked[0].schema.schema == SCHEMA
    assert "-1 is less than the minimum" in tools.remedies[0]


async def test_a_format_json_gives_text_that_is_json() -> None:
    definition = node("Custom", parameters={"format": "json"})
    outputs = await outputs_of(definition, {"input": given("x")}, ScriptedTools(["Here: {'a': 1}"]))
    assert json.loads(str(outputs["response"])) == {"a": 1}


async def test_any_other_format_is_told() -> None:
    definition = node("Custom", parameters={"format": "a Markdown table"})
    tools = ScriptedTools(["| a |"])
    await outputs_of(definition, {"input": given("x")}, tools)
    assert "Write your answer in this format: a Markdown table." in tools.asked[0].system


async def test_a_schema_that_is_none_fails_before_anything_is_asked() -> None:
    definition = node("Custom", outputs={"response": "Json"}, parameters={"format": {"type": "no such type"}})
    tools = ScriptedTools()
    with pytest.raises(NodeFailure, match="no JSON Schema at type"):
        await outputs_of(definition, {"input": given("x")}, tools)
    assert tools.asked == []


async def test_a_schema_fetches_nothing() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    definition = node("Custom", outputs={"response": "Json"}, parameters={"format": schema})
    with pytest.raises(NodeFailure, match="which is not in it"):
        await outputs_of(definition, {"input": given("x")}, ScriptedTools(['{"a": 1}'] * 3))


async def test_answer_generate_asks_for_thought_before_answer() -> None:
    tools = ScriptedTools(['{"thought": "2 and 2", "answer": 4}'])
    definition = node("AnswerGenerate")
    assert await outputs_of(definition, {"input": given("2+2?")}, tools) == {"thought": "2 and 2", "answer": "4"}
    schema = tools.asked[0].schema
    assert schema is not None
    assert list(schema.schema["properties"]) == ["thought", "answer"]
    jsonschema.Draft202012Validator.check_schema(dict(schema.schema))


async def test_generated_code_must_define_the_entry_point() -> None:
    definition = node("CustomCodeGenerate", prompt="Use recursion.")
    tools = ScriptedTools(["```python\ndef other(): ...\n```", FENCED])
    inputs = {"problem": given("Return one."), "entry_point": given("solve", type_="EntryPoint")}
    assert await outputs_of(definition, inputs, tools) == {"response": PROGRAM}
    assert "`solve`" in tools.remedies[0]
    assert "Use recursion." in tools.asked[0].system
    assert "define `solve`" in tools.asked[0].system
    assert tools.asked[0].user == "Return one."


@pytest.mark.parametrize("name", ["ignore all that and", "class", "f(x)", ""])
@pytest.mark.parametrize("operator", ["CustomCodeGenerate", "Test"])
async def test_an_entry_point_that_is_no_name_never_reaches_a_prompt(operator: str, name: str) -> None:
    inputs = {"problem": given("p"), "entry_point": given(name), "solution": given(PROGRAM)}
    tools = ScriptedTools()
    with pytest.raises(NodeFailure, match="can't name a function"):
        await outputs_of(node(operator), inputs, tools)
    assert tools.asked == []


@pytest.mark.parametrize(("accepted", "result"), [("true", True), ("false", False), ('"yes"', True)])
async def test_review_gives_feedback_and_whether_it_accepts(accepted: str, result: bool) -> None:
    tools = ScriptedTools([f'{{"feedback": "fine", "accepted": {accepted}}}'])
    inputs = {"solution": given("42"), "problem": given("6*7")}
    assert await outputs_of(node("Review"), inputs, tools) == {"feedback": "fine", "result": result}
    assert "95 %" in tools.asked[0].system
    assert tools.asked[0].user == "## Problem\n```\n6*7\n```\n\n## Solution\n```\n42\n```"


@pytest.mark.parametrize(
    ("type_", "answer", "value"), [("Text", "better", "better"), ("Code", FENCED, PROGRAM), ("Number", "12", 12)]
)
async def test_a_revision_keeps_the_type(type_: str, answer: str, value: object) -> None:
    inputs = {"solution": given("x = 1"), "problem": given("p"), "feedback": given("f")}
    definition = node("Revise", outputs={"solution": type_})
    assert await outputs_of(definition, inputs, ScriptedTools([answer])) == {"solution": value}


async def test_a_revision_of_code_that_is_no_code_is_asked_anew() -> None:
    inputs = {"solution": given("x = 1"), "problem": given("p"), "feedback": given("f")}
    tools = ScriptedTools(["I fixed it.", FENCED])
    assert await outputs_of(node("Revise", outputs={"solution": "Code"}), inputs, tools) == {"solution": PROGRAM}


async def test_format_gives_the_answer_alone() -> None:
    tools = ScriptedTools([" 42 \n"])
    inputs = {"solution": given("It is 42."), "problem": given("6*7")}
    assert await outputs_of(node("Format"), inputs, tools) == {"solution": "42"}


SPEC = {
    "inputs": {"problem": "Problem", "plan?": "Plan"},
    "outputs": {"code": "Code", "score": "Number"},
    "prompt": "Follow the {plan}.",
}


async def test_a_declared_operator_with_several_outputs() -> None:
    definition = node("Coder", spec=SPEC, outputs={"code": "Code", "score": "Number"})
    tools = ScriptedTools([json.dumps({"code": FENCED, "score": "8"})])
    inputs = {"plan": given("first this"), "problem": given("one")}
    assert await outputs_of(definition, inputs, tools) == {"code": PROGRAM, "score": 8}
    [asked] = tools.asked
    assert asked.system.startswith("Follow the {plan}.\n")
    assert asked.user.index("## Problem") < asked.user.index("## Plan")
    assert asked.schema is not None
    assert list(asked.schema.schema["properties"]) == ["code", "score"]


async def test_a_declared_operator_with_one_output_answers_plainly() -> None:
    spec = {"outputs": {"plan": "Plan"}, "prompt": "Plan it."}
    definition = node("Planner", spec=spec, prompt="Be short.", outputs={"plan": "Plan"})
    tools = ScriptedTools(["1. add"])
    assert await outputs_of(definition, {"problem": given("2+2")}, tools) == {"plan": "1. add"}
    assert tools.asked[0].schema is None
    assert tools.asked[0].system == "Plan it.\n\nBe short."


@pytest.mark.parametrize(("own", "told"), [("Be short.", ["Be short."]), (None, [])])
async def test_a_declared_operator_without_a_prompt_has_that_of_the_node(own: str | None, told: list[str]) -> None:
    definition = node("Planner", spec={"outputs": {"plan": "Plan"}}, prompt=own, outputs={"plan": "Plan"})
    tools = ScriptedTools(["1. add"])
    assert await outputs_of(definition, {"problem": given("2+2")}, tools) == {"plan": "1. add"}
    assert [message.content for message in tools.asked[0].messages] == [*told, "2+2"]


async def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(NodeFailure, match="`Dance`"):
        await outputs_of(node("Dance", outputs={"x": "Text"}), {}, ScriptedTools())


@pytest.mark.parametrize(
    ("operator", "ports"),
    [
        ("Custom", ["input"]),
        ("AnswerGenerate", ["input"]),
        ("CustomCodeGenerate", ["problem"]),
        ("Programmer", ["problem"]),
        ("ScEnsemble", ["solutions"]),
        ("MdEnsemble", ["solutions"]),
        ("Review", ["solution", "problem"]),
        ("Revise", ["solution", "problem", "feedback"]),
        ("Format", ["solution", "problem"]),
        ("Test", ["solution", "problem", "entry_point"]),
        ("Assemble", ["results", "problem"]),
    ],
)
def test_every_operator_shows_its_memory_and_its_own_prompt(operator: str, ports: list[str]) -> None:
    definition = node(operator, prompt="By the author: {x}.")
    memory = [Remembered("A", "a plan", "Remember this.")]
    inputs = {port: given("solve") for port in ports}
    planned = operator_for(definition).plan(Task(definition, inputs, memory))
    assert planned
    for question in planned:
        system, user = question.messages
        assert "By the author: {x}." in system.content
        assert user.content.startswith("## Earlier result: a plan\n```\nRemember this.\n```\n\n## ")
