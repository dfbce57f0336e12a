"""Where the inputs of a run come from: the command, the last run, the workflow, the user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import OpenAIServer
from tests.runtime.workflows import CHAIN
from tests.server.lsp.editor import MODERN, Editor
from tests.server.lsp.running import editor_on

from merrow_server.lsp.protocol import FeatureError


async def test_an_input_that_is_missing_is_named_with_the_remedy(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        uri = editor.open(CHAIN)
        with pytest.raises(JsonRpcException) as caught:
            await editor.execute("merrow.run", uri=uri)
        assert (
            'missing for the input PROBLEM: run the command with `inputs: {"PROBLEM": "..."}`' in caught.value.message
        )
        assert "`default:`" in caught.value.message
        assert server.requests == []


async def test_values_of_the_last_run_are_remembered_for_each_document(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        uri = editor.open(CHAIN)
        await editor.execute("merrow.run", uri=uri, inputs={"problem": "the first question"})
        editor.change(uri, CHAIN.replace("Answer the question.", "Answer it."))
        await editor.execute("merrow.run", uri=uri)
        assert "the first question" in server.requests[2].prompt
        plan = await editor.execute("merrow.dryRun", uri=uri)
        assert "the first question" in str(plan["nodes"])
        other = editor.open(CHAIN, "other.mmd")
        with pytest.raises(JsonRpcException, match="PROBLEM"):
            await editor.execute("merrow.run", uri=other)


async def test_an_input_with_a_default_need_not_be_given(tmp_path: Path) -> None:
    node = 'PROBLEM@{ label: "Problem", default: "the usual question" }'
    text = CHAIN.replace("PROBLEM([Problem]):::Interface", f"{node}\n    class PROBLEM Interface")
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        assert (await editor.execute("merrow.run", uri=editor.open(text)))["status"] == "finished"
        assert "the usual question" in server.requests[0].prompt
        assert editor.asked == []


async def test_the_client_is_asked_once_and_again_where_that_is_wanted(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(CHAIN)
        editor.inputs["PROBLEM"] = "the user's question"
        for _ in range(2):
            assert (await editor.execute("merrow.run", uri=uri))["status"] == "finished"
        assert "the user's question" in server.requests[0].prompt
        asked = {"uri": uri, "diagram": 1, "name": "PROBLEM", "title": "Problem", "type": "Problem"}
        assert editor.asked == [asked]
        editor.inputs["PROBLEM"] = "another question"
        await editor.execute("merrow.run", uri=uri, ask=True)
        assert editor.asked == [asked, asked | {"last": "the user's question"}]
        assert "another question" in server.requests[2].prompt


async def test_a_user_who_gives_no_value_has_nothing_run(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        with pytest.raises(JsonRpcException, match="No value was given for the input PROBLEM"):
            await editor.execute("merrow.run", uri=editor.open(CHAIN))
        assert server.requests == []
        assert editor.events == []


TWO = """flowchart TD
    Topic([The topic]):::Interface
    Style@{ shape: stadium, label: "Style", default: "short" }
    Words([Words]):::Interface
    A@{ op: Custom, prompt: "Write." }
    RETURN([Answer]):::Interface
    Topic & Style & Words -->|input| A
    A --> RETURN
    class Style Interface
    classDef Interface fill:#eee
"""


def test_values_are_those_given_then_those_remembered_and_the_rest_is_named_or_asked_for(
    open_editor: Callable[..., Editor],
) -> None:
    asking = MODERN | {"experimental": {"merrowInput": True}}
    for capabilities in (MODERN, asking):
        editor = open_editor(capabilities)
        editor.on("merrow/input", lambda _: None)
        uri = editor.open(TWO)
        [diagram] = editor.server.diagrams(uri)
        inputs = editor.server.runs.inputs

        def complete(given: dict[str, Any], *, ask: bool = False) -> dict[str, Any]:
            return editor.do(inputs.complete(diagram, 1, given, ask=ask))  # noqa: B023

        def refusal(given: dict[str, Any], *, ask: bool = False) -> tuple[int, str]:
            with pytest.raises(FeatureError) as caught:
                complete(given, ask=ask)
            assert caught.value.data == {"code": "input"}
            return caught.value.code, caught.value.message

        assert complete({"topic": "x", "WORDS": 5}) == {"Topic": "x", "Words": 5}
        assert inputs.known(diagram, 1, {"other": 1, "style": "long"}) == {"other": 1, "Style": "long"}
        if capabilities is MODERN:
            assert refusal({}) == (
                -32803,
                'A value is missing for the inputs Topic, Words: run the command with `inputs: {"Topic": "...", "Words":'
                ' "..."}`, or write `default:` at them.',
            )
            assert refusal({"words": 5}) == (
                -32803,
                'A value is missing for the input Topic: run the command with `inputs: {"Topic": "..."}`, or write'
                " `default:` at it.",
            )
        else:
            answer = "No value was given for the input Topic; the workflow is not run."
            assert refusal({}) == (-32800, answer)
            assert refusal({"Words": 1}) == (-32800, answer)
            questions = [one["params"] for one in editor.requests if one["method"] == "merrow/input"]
            assert (
                questions
                == [{"uri": uri, "diagram": 1, "name": "Topic", "title": "The topic", "type": questions[0]["type"]}] * 2
            )
        inputs.remember(diagram, 1, {"Topic": "old", "Words": 3, "Gone": 1})
        assert inputs.known(diagram, 1, {"topic": "new"}) == {"Topic": "new", "Words": 3}
        assert inputs.known(diagram, 2, {}) == {}
        assert complete({"words": 4}) == {"Topic": "old", "Words": 4}
        if capabilities is MODERN:
            assert complete({}, ask=True) == {"Topic": "old", "Words": 3}
        else:
            assert refusal({"TOPIC": "new"}, ask=True)[1].startswith("No value was given for the input Style;")
            last = [one["params"] for one in editor.requests if one["method"] == "merrow/input"][-1]
            assert (last["name"], "last" in last) == ("Style", False)
            assert refusal({"TOPIC": "new", "style": "s"}, ask=True)[1].startswith(
                "No value was given for the input Words;"
            )
            last = [one["params"] for one in editor.requests if one["method"] == "merrow/input"][-1]
            assert (last["name"], last["last"]) == ("Words", 3)
        editor.change(uri, {"text": "no diagram"})
        [diagram] = editor.server.diagrams(uri)
        assert inputs.known(diagram, 1, {"topic": 1}) == {"topic": 1}
        for number in range(3, 203):
            inputs.remember(diagram, number, {})
        editor.change(uri, {"text": TWO})
        assert inputs.known(diagram, 1, {}) == {}, "of 200 diagrams the values are kept, those used last"
