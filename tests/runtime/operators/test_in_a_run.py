"""Every operator in one workflow, run by the engine: against a server on loopback, and with the embedded offline model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step

from merrow_runtime import RunOptions, check_workflow, dry_run, run
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.offline import OfflineEndpoint
from merrow_runtime.models.openai_endpoint import OpenAIEndpoint

WORKFLOW = """\
---
workflow:
  model: fake
  memory: {last: 2}
  types: {Route: [sum, product]}
  prompts:
    route: Which kind of problem is it, {sum} or {product}?
    think: Think about the problem.
  operators:
    Planner: {inputs: {problem: Text}, outputs: {plan: Plan, steps: Number}, prompt: "Write a plan."}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    ENTRY_POINT([Name]):::Interface
    ROUTE["Custom<br/>(role: route, returns: Route)"]
    PLAN["Planner"]
    THINK@{ op: Custom, role: think, samples: 2, temperature: 0.7 }
    SHORT["AnswerGenerate"]
    COMPUTE["Programmer"]
    MOST["ScEnsemble"]
    CODE["CustomCodeGenerate"]
    OTHER["CustomCodeGenerate"]
    BEST["MdEnsemble"]
    TESTED@{ op: Test, tests: ["assert candidate(2, 3) == 5"] }
    JUDGED["Review"]
    REVISED["Revise"]
    ANSWER["Format"]
    RETURN([Result]):::Interface
    PROBLEM -->|input| ROUTE
    PROBLEM -->|problem| PLAN
    PROBLEM -->|input| THINK
    ROUTE & PLAN -->|input| SHORT
    PROBLEM -->|problem| COMPUTE
    PLAN -->|analysis| COMPUTE
    THINK & SHORT & COMPUTE --> MOST
    PROBLEM -->|problem| CODE
    ENTRY_POINT -->|entry_point| CODE
    PROBLEM -->|problem| OTHER
    MOST -->|problem| OTHER
    ENTRY_POINT -->|entry_point| OTHER
    CODE & OTHER --> BEST
    PROBLEM -->|problem| TESTED
    BEST -->|solution| TESTED
    ENTRY_POINT -->|entry_point| TESTED
    TESTED -->|solution:solution| JUDGED
    PROBLEM -->|problem| JUDGED
    TESTED -->|solution:solution| REVISED
    JUDGED -->|feedback:feedback| REVISED
    PROBLEM -->|problem| REVISED
    REVISED -->|solution| ANSWER
    PROBLEM -->|problem| ANSWER
    ANSWER --> RETURN
"""
INPUTS = {"problem": "Add {two} numbers.", "entry_point": "add"}
BAD = "```python\ndef add(a, b):\n    return a - b\n```"
GOOD = "```python\ndef add(a, b):\n    return a + b\n```"


@asynccontextmanager
async def closing(endpoint: OpenAIEndpoint) -> AsyncIterator[OpenAIEndpoint]:
    try:
        yield endpoint
    finally:
        await endpoint.close()


def answer(request: Received) -> Step:
    """What a good model would say, by what the instructions ask for."""
    asked = request.body["messages"][0]["content"]
    if "Which kind" in asked:
        return Reply('{"response": "sum"}')
    if "Write a plan." in asked:
        return Reply(json.dumps({"plan": "Add them.", "steps": 1}))
    if "Think about" in asked:
        return Reply("It is five.")
    if "Answer the question" in asked:
        return Reply('{"thought": "2 + 3", "answer": "5"}')
    if "`solve()`" in asked:
        return Reply("```python\ndef solve():\n    return 2 + 3\n```")
    if "candidate" in asked:
        return Reply('{"thought": "", "choice": "A"}')
    if "First reflect" in asked:
        return Reply(f"It subtracts.\n{GOOD}")
    if "Python 3 code" in asked:
        return Reply(BAD if "Problem 1 of 2" not in request.prompt else BAD.replace("a - b", "a * b"))
    if "Review the solution" in asked:
        return Reply('{"feedback": "Say what it does.", "accepted": false}')
    if "Revise the solution" in asked:
        return Reply(f"Here.\n{GOOD.replace('return', '# adds' + chr(10) + '    return')}")
    return Reply("a + b")


@pytest.mark.parametrize("schemas", ["taken", "refused"])
async def test_every_operator_runs_against_a_server(schemas: str) -> None:
    def respond(request: Received) -> Step:
        if schemas == "refused" and "response_format" in request.body:
            return Status(400, "response_format is not supported", param="response_format")
        return answer(request)

    workflow = check_workflow(WORKFLOW, name="all.mmd")
    async with (
        OpenAIServer(respond) as server,
        closing(OpenAIEndpoint(EndpointConnection(server.base_url))) as endpoint,
    ):
        result = await run(workflow, INPUTS, options=RunOptions(no_store=True), endpoint=endpoint)
    assert result.error is None
    assert result.outputs == {"RETURN": "a + b"}
    nodes = {name: node.outputs for name, node in result.nodes.items()}
    assert nodes["ROUTE"] == {"response": "sum"}
    assert nodes["PLAN"] == {"plan": "Add them.", "steps": 1}
    assert nodes["THINK"] == {"response": ["It is five."] * 2}
    assert nodes["COMPUTE"] == {"output": "5", "code": "def solve():\n    return 2 + 3"}
    assert nodes["MOST"] == {"response": "It is five."}
    assert nodes["TESTED"] == {
        "solution": "def add(a, b):\n    return a + b",
        "result": True,
        "feedback": "Visible tests after 1 repair. The only one passed.",
    }
    assert nodes["JUDGED"] == {"feedback": "Say what it does.", "result": False}
    assert nodes["REVISED"] == {"solution": "def add(a, b):\n    # adds\n    return a + b"}
    sent = [message["content"] for body in server.bodies for message in body["messages"]]
    assert any(text.startswith("Which kind of problem is it, {sum} or {product}?") for text in sent)
    assert any("Add {two} numbers." in text for text in sent)
    assert any(text.startswith("## Earlier result: ") for text in sent)


async def test_the_offline_model_answers_every_operator() -> None:
    options = RunOptions(no_store=True)
    result = await run(check_workflow(WORKFLOW, name="all.mmd"), INPUTS, options=options, endpoint=OfflineEndpoint())
    assert result.error is None
    assert result.status == "finished"
    assert isinstance(result.outputs["RETURN"], str)


def test_a_dry_run_shows_every_prompt_of_the_run() -> None:
    plan = dry_run(check_workflow(WORKFLOW, name="all.mmd"), INPUTS, endpoint=OfflineEndpoint())
    steps = {node.node: [question.step for question in node.questions] for node in plan.nodes if node.questions}
    assert steps["COMPUTE"] == ["write 1", "write 2", "write 3"]
    assert steps["BEST"] == [f"vote {number}" for number in range(1, 6)]
    assert steps["TESTED"] == ["reflect 1", "reflect 2", "reflect 3"]
    [vote] = next(node.questions for node in plan.nodes if node.node == "MOST")
    assert "## Candidate D" in vote.messages[-1].content
    assert plan.calls.to_json() == {"least": 11, "most": 22}
