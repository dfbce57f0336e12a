"""What runs may do in an editor: trust, keys, and what files in the workspace have no say in."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import OpenAIServer
from tests.runtime.workflows import CHAIN
from tests.server.lsp.running import editor_on

QUESTION = {"problem": "How many legs has a spider?"}
KEY = "sk-" + "k3y" * 12


async def lenses(editor: object, uri: str) -> list[str]:
    client = editor.client  # type: ignore[attr-defined]
    found = await client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    return [lens.command.command for lens in found if lens.command is not None]


@pytest.mark.slow
async def test_nothing_is_run_before_the_workspace_is_trusted(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, options={"trusted": False}) as editor:
        uri = editor.open(CHAIN)
        assert await lenses(editor, uri) == []
        for command in ("merrow.run", "merrow.dryRun", "merrow.runFrom", "merrow.resume"):
            with pytest.raises(JsonRpcException, match="not trusted"):
                await editor.execute(command, uri=uri, inputs=QUESTION, node="A", run="1")
        assert "Custom" in await editor.hover(uri, 7, 4)
        assert server.requests == []
        editor.client.protocol.notify("merrow/trust", {"trusted": True})
        assert await lenses(editor, uri) == ["merrow.run", "merrow.dryRun"]
        assert (await editor.execute("merrow.run", uri=uri, inputs=QUESTION))["status"] == "finished"


@pytest.mark.slow
async def test_a_key_goes_to_the_origin_it_was_set_for_and_nowhere_else(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    async with (
        OpenAIServer() as server,
        OpenAIServer() as other,
        editor_on(tmp_path, server, arguments=("--log-file", str(log))) as editor,
    ):
        uri = editor.open(CHAIN)
        assert await editor.ask("merrow/setKey", origin=other.base_url, key=KEY) == {"origin": other.origin}
        await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert len(server.requests) == 2
        assert all(KEY not in str(request.headers) for request in server.requests)
        assert await editor.ask("merrow/setKey", origin=server.base_url, key=KEY) == {"origin": server.origin}
        await editor.execute("merrow.run", uri=uri, inputs={"problem": "Another question."})
        assert [request.headers.get("authorization") for request in server.requests[2:]] == [f"Bearer {KEY}"] * 2
        await editor.ask("merrow/setKey", origin=server.base_url, key=None)
        await editor.execute("merrow.run", uri=uri, inputs={"problem": "A third question."})
        assert all(KEY not in str(request.headers) for request in server.requests[4:])
        assert len(server.requests) == 6
        assert other.requests == []
        for origin, key in (("no address", KEY), (server.base_url, 5)):
            with pytest.raises(JsonRpcException) as caught:
                await editor.ask("merrow/setKey", origin=origin, key=key)
            assert KEY not in str(caught.value)
        shown = str(await editor.ask("merrow/show", run=editor.events[0]["run"]))
        said = shown + str(editor.client.log_messages) + str(editor.notices)
        assert KEY not in said
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert log in kept
    assert all(KEY.encode() not in path.read_bytes() for path in kept)


async def test_an_address_in_a_file_of_the_workspace_is_reported_and_has_no_say(tmp_path: Path) -> None:
    async with OpenAIServer() as server, OpenAIServer() as stranger, editor_on(tmp_path, server) as editor:
        (tmp_path / "merrow.toml").write_text(f'base_url = "{stranger.base_url}"\n')
        text = CHAIN.replace("  model: test-model", f"  model: test-model\n  base_url: {stranger.base_url}")
        uri = editor.open(text)
        assert "MW501" in [one.code for one in await editor.diagnostics(uri)]
        await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert len(server.requests) == 2
        assert stranger.requests == []
        (started,) = editor.named("run_started")
        assert started["endpoint"] == server.origin
        assert any("`base_url`" in notice for notice in started["notices"])


async def test_who_would_answer_is_told_without_a_key(tmp_path: Path) -> None:
    text = CHAIN.replace("(role: second)", "(role: second, model: big-model)")
    async with OpenAIServer() as server, editor_on(tmp_path, server, environment={"OPENAI_API_KEY": KEY}) as editor:
        uri = editor.open(text)
        found = await editor.ask("merrow/answering", uri=uri)
        models = ["test-model", "big-model"]
        assert found == {"endpoint": server.origin, "source": "environment", "key": True, "models": models}
        assert (await editor.ask("merrow/answering", uri=uri, model="mine"))["models"] == ["mine", "big-model"]
        assert (await editor.ask("merrow/answering"))["models"] == ["gpt-4o-mini"]
        editor.change(uri, "flowchart TD\n  A[\n")
        assert (await editor.ask("merrow/answering", uri=uri))["endpoint"] == server.origin
        assert server.requests == []
        other = CHAIN.replace("model: test-model", "model: other")
        notes = editor.open(f"```mermaid\n{CHAIN}```\n\n```mermaid\n{other}```\n", "notes.md", "markdown")
        for number, models in ((0, ["gpt-4o-mini"]), (1, ["test-model"]), (2, ["other"]), (3, ["gpt-4o-mini"])):
            assert (await editor.ask("merrow/answering", uri=notes, diagram=number))["models"] == models
        assert (await editor.ask("merrow/answering", uri=notes, model=""))["models"] == ["test-model"]


async def test_the_only_model_of_an_endpoint_is_told_and_asked(tmp_path: Path) -> None:
    text = CHAIN.replace("  model: test-model\n", "")
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        server.models = ("tiny",)
        uri = editor.open(text)
        assert (await editor.ask("merrow/answering", uri=uri))["models"] == ["tiny"]
        assert (await editor.ask("merrow/answering"))["models"] == ["tiny"]
        assert server.requests == []
        await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert [body["model"] for body in server.bodies] == ["tiny", "tiny"]
        (started,) = editor.named("run_started")
        assert [notice.count("`tiny`") for notice in started["notices"]] == [1]


async def test_the_embedded_model_answers_without_an_endpoint_and_the_doctor_says_so(tmp_path: Path) -> None:
    async with editor_on(tmp_path, environment={"OPENAI_API_KEY": ""}) as editor:
        uri = editor.open(CHAIN)
        found = await editor.ask("merrow/answering", uri=uri)
        assert (found["endpoint"], found["key"]) == ("merrow:offline", False)
        params = types.ExecuteCommandParams("merrow.doctor")
        report = await editor.client.workspace_execute_command_async(params)
        assert report["endpoint"]["ok"] is True
        assert "embedded offline model" in report["endpoint"]["lines"][0]["text"]
        assert set(report) == {"installed", "journal", "endpoint", "sandbox"}


async def test_models_that_are_served_are_listed_and_one_is_used(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, environment={"OPENAI_API_KEY": ""}) as editor:
        server.models = ("big", "tiny")
        place = {"url": server.base_url, "model": "tiny"}
        with pytest.raises(JsonRpcException, match="use one of: `big`, `tiny`"):
            await editor.execute("merrow.useModel", **{**place, "model": "other"})
        with pytest.raises(JsonRpcException, match="needs `url`"):
            await editor.execute("merrow.useModel", model="tiny")
        used = await editor.execute("merrow.useModel", **place)
        assert (used["base_url"], used["model"], used["note"]) == (server.base_url, "tiny", "")
        (listed, *_) = (await editor.execute("merrow.models"))["endpoints"]
        assert (listed["base_url"], listed["used"], listed["models"]) == (server.base_url, True, ["big", "tiny"])
        uri = editor.open(CHAIN)
        plan = await editor.execute("merrow.dryRun", uri=uri)
        assert (plan["served"], len(plan["findings"])) == (["big", "tiny"], 1)
        assert "no model `test-model`; use one of: `big`, `tiny`" in plan["findings"][0]
        assert (await editor.execute("merrow.dryRun", uri=uri, model="big"))["findings"] == []
        assert server.requests == []


async def test_input_sets_are_read_for_the_editor(tmp_path: Path) -> None:
    async with editor_on(tmp_path) as editor:
        found = await editor.ask("merrow/inputSets", text="late:\n  LETTER: x\n")
        assert found == {"sets": [{"name": "late", "line": 0, "inputs": {"LETTER": {"text": "x"}}}], "problem": None}
        with pytest.raises(JsonRpcException, match="needs `text`"):
            await editor.ask("merrow/inputSets")
