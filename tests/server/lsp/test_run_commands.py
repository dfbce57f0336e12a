"""Workflows run from an editor: a real server process, a real endpoint on loopback, or the embedded model."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import OpenAIServer, Reply, Status
from tests.runtime.planned.planning import ONCE
from tests.runtime.workflows import CHAIN, layers
from tests.server.lsp.editor import MINIMAL, Editor, ServerError
from tests.server.lsp.running import editor_on

QUESTION = {"problem": "How many legs has a spider?"}
FAILED = -32803


async def test_a_run_goes_to_its_end_with_events_and_progress(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        server.script(Reply("It has eight legs."), Reply("eight"))
        uri = editor.open(CHAIN)
        result = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert (result["status"], result["outputs"]) == ("finished", {"RETURN": "eight"})
        assert result["usage"]["calls"] == 2
        assert result["seconds"] > 0
        assert "How many legs has a spider?" in server.requests[0].prompt
        names = [event["event"] for event in editor.events]
        assert names[0] == "run_started"
        assert names[-1] == "run_finished"
        assert {event["run"] for event in editor.events} == {result["run"]}
        assert all(notice["uri"] == uri and notice["diagram"] == 1 for notice in editor.notices)
        told = {event["node"]: event for event in editor.named("node_finished")}
        assert told["A"]["outputs"] == {"response": "It has eight legs."}
        assert "".join(e["text"] for e in editor.named("node_output") if e["node"] == "A") == "It has eight legs."
        begin, *reports, end = editor.progress
        assert begin.title == "Running flow.mmd"
        assert begin.cancellable
        assert reports[0].message == "PROBLEM, 1 of 4 nodes done, $0"
        assert {report.percentage for report in reports} <= {25, 50, 75, 100}
        assert reports[-1].percentage == 100
        assert reports[-1].message == "RETURN, 4 of 4 nodes done, cost unknown"
        assert end.kind == "end"
        assert editor.client.messages == []


async def test_the_embedded_model_answers_where_no_endpoint_is_named(tmp_path: Path) -> None:
    async with editor_on(tmp_path, capabilities=MINIMAL) as editor:
        result = await editor.execute("merrow.run", uri=editor.open(CHAIN), inputs=QUESTION)
        assert result["status"] == "finished"
        assert result["outputs"]["RETURN"].startswith("Placeholder for an answer to: ")
        assert "not a real model" in editor.named("run_started")[0]["notices"][0]
        (message,) = editor.client.messages
        assert "answered by embedded model" in message.message


async def test_a_dry_run_says_what_would_be_asked_and_asks_nothing(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        plan = await editor.execute("merrow.dryRun", uri=editor.open(CHAIN))
        assert plan["order"] == ["PROBLEM", "A", "B", "RETURN"]
        assert plan["calls"] == {"least": 2, "most": 2}
        assert server.requests == []
        assert editor.events == []


async def test_a_client_that_shows_no_runs_is_told_how_they_end_and_what_they_would_cost(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=MINIMAL) as editor:

        async def told(command: str, **argument: Any) -> tuple[types.MessageType, str]:
            count = len(editor.client.messages)
            await editor.execute(command, **argument)
            [message] = editor.client.messages[count:]
            return message.type, message.message

        info, warning = types.MessageType.Info, types.MessageType.Warning
        for text, times in ((CHAIN, "2 to 2 times"), (ONCE, "an unknown number of times")):
            uri = editor.open(text, "chain.mmd" if text == CHAIN else "planned.mmd")
            kind, said = await told("merrow.dryRun", uri=uri)
            assert (kind, f"A run asks {server.origin} {times}; it costs $" in said) == (info, True), said
            assert said.endswith(" to unknown. No call was made.")
        uri = editor.uri("chain.mmd")
        server.script(Reply("It has eight legs."), Status(400, "no room"))
        kind, said = await told("merrow.run", uri=uri, inputs=QUESTION)
        [run] = await editor.ask("merrow/runs", uri=uri, diagram=1)
        assert kind is warning
        figures = rf"1 call, cost unknown, \d+\.\d s, answered by {re.escape(run['answered_by'])}"
        assert re.fullmatch(rf"Run {run['run']} failed \({figures}\)\. .*no room.*", said), said
        server.script(Reply("one\ntwo\nthree\nfour"))
        kind, said = await told("merrow.resume", run=run["run"])
        assert kind is info
        figures = figures.replace("1 call,", "2 calls,")
        assert re.fullmatch(rf"one\ntwo\nthree\n.*\n\({figures}\)", said), said
        kind, said = await told("merrow.resume", run=run["run"])
        assert kind is info
        assert "\n(finished before; nothing was called; 2 calls, " in said


async def test_a_workflow_with_errors_is_not_run_and_the_answer_says_which(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        broken = CHAIN.replace("A -->|input| B", "A -->|nothing| B").replace("    B --> RETURN\n", "")
        uri = editor.open(broken)
        with pytest.raises(JsonRpcException) as caught:
            await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert caught.value.code == FAILED
        assert "flow.mmd has" in caught.value.message
        shown = [one for one in await editor.diagnostics(uri) if one.severity == 1]
        assert all(f"({one.code})" in caught.value.message for one in shown[:3])
        assert f"line {shown[0].range.start.line + 1}: " in caught.value.message
        editor.change(uri, CHAIN.replace("A -->|input| B", "A -->|nothing| B"))
        with pytest.raises(JsonRpcException, match="has an error and"):
            await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert server.requests == []


@pytest.mark.parametrize("count", [1, 3, 4, 5])
def test_of_many_errors_in_a_workflow_the_first_three_are_told(editor: Editor, count: int) -> None:
    hot = "".join(
        f"    X{number}@{{op: Custom, temperature: hot}}\n    A --> X{number} --> B\n" for number in range(count)
    )
    uri = editor.open(CHAIN.replace("    B --> RETURN\n", f"    B --> RETURN\n{hot}"), "hot.mmd")
    (first, *_) = (one for one in editor.published(uri) if one["severity"] == 1)
    with pytest.raises(ServerError) as caught:
        editor.request("workspace/executeCommand", {"command": "merrow.run", "arguments": [{"uri": uri}]})
    line = first["range"]["start"]["line"] + 1
    errors = [
        f"line {line + 2 * number}: X{number} (Custom): `temperature` must be a number from 0 to 2, not `hot` (MW305)"
        for number in range(min(count, 3))
    ]
    said = "an error" if count == 1 else f"{count} errors"
    more = f"; and {count - 3} more" if count > 3 else ""
    assert caught.value.message == f"untitled:hot.mmd has {said} and is not run: {'; '.join(errors)}{more}."


async def test_what_the_runtime_refuses_is_said_in_a_sentence_and_the_server_goes_on(tmp_path: Path) -> None:
    async with editor_on(tmp_path) as editor:
        uri = editor.open(CHAIN)
        for command, argument, says in (
            ("merrow.run", {"inputs": QUESTION | {"problm": "1"}}, "no input problm. Did you mean PROBLEM?"),
            ("merrow.runFrom", {"inputs": QUESTION, "node": "A"}, "was not run before"),
            ("merrow.resume", {"run": "none"}, "no run 'none'"),
            ("merrow.cancel", {"run": "none"}, "no run 'none'"),
        ):
            with pytest.raises(JsonRpcException) as caught:
                await editor.execute(command, uri=uri, **argument)
            assert caught.value.code == FAILED
            assert says in caught.value.message
        assert (await editor.execute("merrow.run", uri=uri, inputs=QUESTION))["status"] == "finished"


async def test_the_text_in_the_editor_is_run_with_the_files_as_the_editor_has_them(tmp_path: Path) -> None:
    (tmp_path / "flow.mmd").write_text("flowchart TD\n  OLD\n")
    (tmp_path / "prompts.yaml").write_text("first: Saved prompt.\nsecond: Saved prompt.\n")
    text = CHAIN.replace('{first: "Answer the question.", second: "Shorten the answer."}', "./prompts.yaml")
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(CHAIN)
        editor.change(uri, text)
        editor.open("first: Unsaved prompt.\nsecond: Another.\n", "prompts.yaml", "yaml")
        assert (await editor.execute("merrow.run", uri=uri, inputs=QUESTION))["status"] == "finished"
        assert "Unsaved prompt." in server.requests[0].prompt
        assert "Another." in server.requests[1].prompt


async def test_a_diagram_of_a_markdown_file_is_run_by_its_number(tmp_path: Path) -> None:
    second = CHAIN.replace("Answer the question.", "Answer in French.")
    text = f"# Two\n\n```mermaid\n{CHAIN}```\n\nand\n\n```mermaid\n{second}```\n"
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(text, "notes.md", "markdown")
        result = await editor.execute("merrow.run", uri=uri, diagram=2, inputs=QUESTION)
        assert "Answer in French." in server.requests[0].prompt
        assert {notice["diagram"] for notice in editor.notices} == {2}
        (shown,) = await editor.ask("merrow/runs", uri=uri, diagram=2)
        assert (shown["run"], shown["uri"], shown["diagram"]) == (result["run"], uri, 2)
        assert await editor.ask("merrow/runs", uri=uri, diagram=1) == []


async def test_a_run_from_a_node_on_takes_the_rest_over(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(CHAIN)
        first = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        editor.change(uri, CHAIN.replace("Shorten the answer.", "Make it one word."))
        again = await editor.execute("merrow.runFrom", uri=uri, node="B")
        assert [event["node"] for event in editor.named("node_reused")] == ["A"]
        assert len(server.requests) == 3
        assert "Make it one word." in server.requests[2].prompt
        shown = await editor.ask("merrow/show", run=again["run"])
        assert shown["parent"] == first["run"]


async def test_a_person_sets_an_output_and_what_follows_runs_on_from_there(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        server.script(Reply("eight legs"), Reply("eight"), Reply("ten"))
        uri = editor.open(CHAIN)
        first = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        again = await editor.execute("merrow.runFrom", uri=uri, run=first["run"], outputs={"A": "ten legs"})
        assert again["outputs"] == {"RETURN": "ten"}
        assert {"endpoint": "merrow:person", "model": ""} in again["sources"]
        assert len(server.requests) == 3
        assert "ten legs" in server.requests[2].prompt
        shown = await editor.ask("merrow/show", run=again["run"], node="A")
        assert (shown["nodes"][0]["answered_by"], shown["parent"]) == ("a person", first["run"])
        assert shown["nodes"][0]["why_no_call"] == "A person set what it gives."
        whole = await editor.execute("merrow.run", uri=uri, inputs=QUESTION, outputs={"B": "mine"}, fresh=True)
        assert (whole["outputs"], len(server.requests)) == ({"RETURN": "mine"}, 4)


async def test_two_runs_go_on_at_once(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        server.script(Reply("slow", delay=0.5), Reply("slow", delay=0.5))
        uris = [editor.open(CHAIN, name) for name in ("one.mmd", "two.mmd")]
        runs = [editor.begin("merrow.run", uri=uri, inputs={"problem": uri}) for uri in uris]
        await editor.until(lambda: len(editor.named("run_started")) == 2)
        assert editor.named("run_finished") == []
        results = await asyncio.gather(*runs)
        assert [result["status"] for result in results] == ["finished", "finished"]
        of_run = {notice["event"]["run"]: notice["uri"] for notice in editor.notices}
        assert of_run == {result["run"]: uri for result, uri in zip(results, uris, strict=True)}


@pytest.mark.slow
async def test_many_events_arrive_whole_and_in_order(tmp_path: Path) -> None:
    async with editor_on(tmp_path) as editor:
        result = await editor.execute("merrow.run", uri=editor.open(layers(8, 25)), inputs=QUESTION)
        assert result["status"] == "finished"
        nodes = {f"N{layer}_{place}" for layer in range(8) for place in range(25)}
        for event in ("node_started", "node_finished"):
            named = [each["node"] for each in editor.named(event)]
            assert len(named) == len(set(named))
            assert nodes < set(named)
        order = {(each["event"], each["node"]): number for number, each in enumerate(editor.events)}
        assert all(order["node_started", node] < order["node_finished", node] for node in nodes)
        assert editor.events[-1]["event"] == "run_finished"


async def test_a_private_run_leaves_nothing_behind(tmp_path: Path) -> None:
    async with editor_on(tmp_path) as editor:
        uri = editor.open(CHAIN)
        result = await editor.execute("merrow.run", uri=uri, inputs={"problem": "the secret of 4711"}, noStore=True)
        assert result["status"] == "finished"
        assert await editor.ask("merrow/runs") == []
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".state").iterdir())
    assert b"4711" not in kept


async def test_a_journal_that_cannot_be_used_is_a_sentence_and_no_end_of_the_server(tmp_path: Path) -> None:
    (tmp_path / ".state").mkdir()
    (tmp_path / ".state" / "runs.sqlite").write_bytes(b"this is no database " * 400)
    async with editor_on(tmp_path) as editor:
        uri = editor.open(CHAIN)
        with pytest.raises(JsonRpcException, match="journal of runs is damaged"):
            await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert "Custom" in await editor.hover(uri, 7, 4)


async def test_a_failure_names_its_kind_and_remedy_for_programs(tmp_path: Path) -> None:
    """Clients choose their buttons by these, never by words: here the answer mentions an API key and means something else."""
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(CHAIN)
        server.script(Status(400, "no API key is needed for this"))
        failed = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert (failed["status"], failed["code"], failed.get("remedy")) == ("failed", "endpoint", None)
        server.script(Status(401, "who are you"))
        refused = await editor.execute("merrow.run", uri=uri, inputs=QUESTION, fresh=True)
        assert (refused["status"], refused["code"], refused["remedy"]) == ("failed", "endpoint", "key")
        assert (refused["failed_node"], refused["failed_path"]) == ("A", "")
        finished = await editor.execute("merrow.run", uri=uri, inputs=QUESTION, fresh=True)
        assert "code" not in finished


async def test_a_refusal_names_its_kind_and_remedy_for_programs(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        broken = editor.open(CHAIN.replace("    B --> RETURN\n", ""), "broken.mmd")
        uri = editor.open(CHAIN)
        found = []
        for command, asked in (
            ("merrow.run", {"uri": broken, "inputs": QUESTION}),
            ("merrow.run", {"uri": uri}),
            ("merrow.resume", {"run": "nonesuch"}),
        ):
            with pytest.raises(JsonRpcException) as caught:
                await editor.execute(command, **asked)
            found.append(caught.value.data)
        assert found == [{"code": "workflow", "remedy": "problems"}, {"code": "input"}, {"code": "usage"}]


async def test_a_flowchart_that_is_no_workflow_runs_as_it_is_drawn(tmp_path: Path) -> None:
    drawn = "flowchart TD\n    A([Mail]) --> B[Reply to it]\n"
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(drawn)
        asked = types.CodeLensParams(types.TextDocumentIdentifier(uri))
        lenses = await editor.client.text_document_code_lens_async(asked) or ()
        assert "▶ Run as Drawn" in [lens.command.title for lens in lenses if lens.command is not None]
        # What an editor asks for before it asks for the inputs.
        graph = await editor.ask("workspace/executeCommand", command="merrow.graph", arguments=[uri])
        assert [node["operator"] for node in graph["nodes"] if node["id"] == "B"] == ["Custom"]
        ended = await editor.execute("merrow.run", uri=uri, inputs={"a": "hello"})
        assert ended["status"] == "finished"
        assert list(ended["outputs"]) == ["RETURN"]
        editor.change(uri, f"---\nworkflow: false\n---\n{drawn}")
        with pytest.raises(JsonRpcException) as caught:
            await editor.execute("merrow.run", uri=uri)
        assert "its front matter says `workflow: false`" in caught.value.message


async def test_a_drawing_that_says_that_it_is_a_workflow_runs(tmp_path: Path) -> None:
    drawn = "---\nworkflow: true\n---\nflowchart TD\n    A([Mail]) --> B[Reply to it]\n"
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        server.script(Reply("Dear customer"))
        result = await editor.execute("merrow.run", uri=editor.open(drawn), inputs={"A": "Hello"})
        assert (result["status"], result["outputs"]) == ("finished", {"RETURN": "Dear customer"})
