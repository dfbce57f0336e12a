"""What a run leaves in the text: diagnostics where it failed, the last results in hovers and hints."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from urllib.parse import unquote

import pytest
from lsprotocol import types
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status
from tests.runtime.workflows import CHAIN
from tests.server.lsp.editor import MODERN, PULLING, Json
from tests.server.lsp.running import RUNS, WAIT, RunningEditor, editor_on
from tests.server.lsp.test_preview import BOXES
from tests.server.test_loops_that_were_stopped import judged, refining

QUESTION = {"problem": "How many legs has a spider?"}
A, B = 7, 8
"""Lines of the nodes."""


async def shown(editor: RunningEditor, uri: str, codes: list[str], *, pulls: bool) -> list[types.Diagnostic]:
    """The diagnostics of a document, once they have these codes."""

    async def wait() -> list[types.Diagnostic]:
        while True:
            found = await editor.diagnostics(uri) if pulls else list(editor.client.diagnostics.get(uri, []))
            if [one.code for one in found] == codes:
                return found
            await editor.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)

    return await asyncio.wait_for(wait(), WAIT)


@pytest.mark.slow
@pytest.mark.parametrize("pulls", [False, True], ids=["pushed", "pulled"])
async def test_a_failure_is_shown_at_its_node_until_an_edit_or_the_next_run(tmp_path: Path, pulls: bool) -> None:
    capabilities = PULLING if pulls else MODERN
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=capabilities) as editor:
        uri = editor.open(CHAIN)
        refusals = [Reply("eight legs"), Status(400, "no such thing")]
        server.script(*refusals)
        assert (await editor.execute("merrow.run", uri=uri, inputs=QUESTION))["status"] == "failed"
        (found,) = await shown(editor, uri, ["MW530"], pulls=pulls)
        assert found.range == types.Range(types.Position(B, 4), types.Position(B, 5))
        assert found.severity == types.DiagnosticSeverity.Error
        assert "no such thing" in found.message
        assert found.code_description is not None
        assert found.code_description.href.endswith("MW530.md")
        editor.change(uri, CHAIN + "%% a comment\n")
        await shown(editor, uri, [], pulls=pulls)
        server.script(Status(400, "no such thing"))
        editor.asked_to_pull.clear()
        await editor.execute("merrow.run", uri=uri, fresh=True)
        if pulls:
            await asyncio.wait_for(editor.asked_to_pull.wait(), WAIT)
        await shown(editor, uri, ["MW530"], pulls=pulls)
        assert (await editor.execute("merrow.run", uri=uri))["status"] == "finished"
        await shown(editor, uri, [], pulls=pulls)


THREE = """---
workflow:
  model: test-model
  prompts: {a: Ask a., b: Ask b., c: Ask c.}
---
flowchart LR
    PROBLEM([Problem]):::Interface --> A["Custom<br/>(role: a)"]:::CustomOp
    PROBLEM --> B["Custom<br/>(role: b)"]:::CustomOp
    PROBLEM --> C["Custom<br/>(role: c)"]:::CustomOp
    A & B & C --> V["ScEnsemble<br/>"]:::ScEnsembleOp
    V --> RETURN([Answer]):::Interface
    classDef CustomOp fill:#ddd
    classDef ScEnsembleOp fill:#ddd
    classDef Interface fill:#eee
"""


async def test_an_endpoint_that_is_down_is_one_finding_that_names_all_nodes(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=PULLING) as editor:
        server.script(*(Status(401, "no such key") for _ in range(3)))
        uri = editor.open(THREE)
        await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        failed = {one["node"] for one in editor.named("node_failed")}
        assert failed == {"A", "B", "C"}
        (found,) = [one for one in await editor.diagnostics(uri) if one.code in ("MW530", "MW531")]
        others = [one.message for one in found.related_information or ()]
        assert len(others) == 2
        assert all(message.endswith("failed for the same reason.") for message in others)


async def test_a_failure_that_was_got_over_is_a_warning(tmp_path: Path) -> None:
    node = 'B@{ op: Custom, prompt: "Shorten it.", on_error: default, default: "none" }'
    text = CHAIN.replace('B["Custom<br/>(role: second)"]:::CustomOp', node)
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=PULLING) as editor:
        server.script(Reply("eight legs"), Status(400, "no such thing"))
        uri = editor.open(text)
        result = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert result["outputs"] == {"RETURN": "none"}
        assert [one["on_error"] for one in editor.named("node_failed")] == ["default"]
        (found,) = [one for one in await editor.diagnostics(uri) if one.code == "MW530"]
        assert found.severity == types.DiagnosticSeverity.Warning


async def test_a_failure_in_a_markdown_file_stands_in_its_fence(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=PULLING) as editor:
        server.script(Status(400, "no such thing"))
        uri = editor.open(f"# 😀\n\n```mermaid\n{CHAIN}```\n", "notes.md", "markdown")
        await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        (found,) = await editor.diagnostics(uri)
        assert (found.code, found.range.start.line) == ("MW530", A + 3)


@pytest.mark.slow
@pytest.mark.parametrize("capabilities", [MODERN, RUNS], ids=["any client", "one that shows runs"])
async def test_hovers_and_hints_show_the_last_result(tmp_path: Path, capabilities: Json) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=capabilities) as editor:
        usage = {"prompt_tokens": 1000, "completion_tokens": 234, "total_tokens": 1234}
        server.script(Reply("Eight *legs*\n`and` [more](http://x) " + "of it " * 20, usage=usage), Reply("eight"))
        uri = editor.open(CHAIN)
        assert "Last run" not in await editor.hover(uri, A, 4)
        assert await editor.hints(uri) == []
        result = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        told = await editor.hover(uri, A, 4)
        assert "Last run: finished, 1,234 tokens, cost unknown" in told
        assert "```text\nEight *legs*\n`and` [more](http://x) of it" in told
        hint = next(hint for hint in await editor.hints(uri) if hint.position.line == A)
        assert hint.position.character == len(CHAIN.splitlines()[A].partition(":::")[0] + ":::CustomOp")
        (part,) = hint.label
        assert isinstance(part, types.InlayHintLabelPart)
        assert part.value.startswith("→ Eight *legs* `and` [more](http://x) of… · 1,234 tokens · cost unknown")
        where = {"uri": uri, "run": result["run"], "node": "A"}
        if capabilities is RUNS:
            assert part.command is not None
            assert (part.command.command, list(part.command.arguments or ())) == ("merrow.showNode", [where])
            link = told.rpartition("](command:merrow.showNode?")[2].removesuffix(")")
            assert json.loads(unquote(link)) == [where]
        else:
            assert part.command is None
            assert "command:" not in told
        editor.change(uri, CHAIN.replace("Answer the question.", "Answer it."))
        assert "The text has changed since." in await editor.hover(uri, A, 4)
        # A node's result is where it is declared, though an edge may name it before.
        edges = "    PROBLEM -->|input| A\n    A -->|input| B\n"
        editor.change(uri, CHAIN.replace(edges, "").replace("flowchart TD\n", f"flowchart TD\n{edges}"))
        assert A + 2 in [hint.position.line for hint in await editor.hints(uri)]


@pytest.mark.slow
async def test_results_of_the_run_that_began_last_are_shown_though_another_ends_later(tmp_path: Path) -> None:
    def slow(request: Received) -> Reply:
        return Reply("first", delay=1.0) if "number one" in request.prompt else Reply("second")

    async with OpenAIServer(slow) as server, editor_on(tmp_path, server, capabilities=RUNS) as editor:
        uri = editor.open(CHAIN)
        first = editor.begin("merrow.run", uri=uri, inputs={"problem": "number one"})
        await server.arrived(1)
        last = await editor.execute("merrow.run", uri=uri, inputs={"problem": "number two"})
        await first
        hint = next(hint for hint in await editor.hints(uri) if hint.position.line == A)
        assert "→ second" in str(hint.label)
        assert last["run"] in str(hint.label)


CALLS = """flowchart TD
    PROBLEM([Problem]):::Interface
    A@{ op: Custom, prompt: "Outside.", returns: Problem }
    CALL@{ op: Call, workflow: "./called.mmd" }
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    A -->|PROBLEM| CALL -->|RETURN:| RETURN
    classDef Interface fill:#eee
"""
CALLED = """flowchart TD
    PROBLEM([Problem]):::Interface
    A@{ op: Custom, prompt: "Inside.", on_error: default, default: "none" }
    B@{ op: Custom, prompt: "Inside, too." }
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A -->|input| B --> RETURN
    classDef Interface fill:#eee
"""


async def test_a_node_of_a_called_file_is_not_taken_for_one_of_the_same_id(tmp_path: Path) -> None:
    """Neither its result nor its failure."""
    (tmp_path / "called.mmd").write_text(CALLED, encoding="utf-8")

    def answer(request: Received) -> Reply | Status:
        if "Inside." in request.prompt:
            return Status(400, "no")
        return Reply("inner") if "Inside, too." in request.prompt else Reply("outer")

    async with OpenAIServer(answer) as server, editor_on(tmp_path, server, capabilities=PULLING) as editor:
        uri = editor.open(CALLS)
        result = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert result["outputs"] == {"RETURN": "inner"}
        hints = {hint.position.line: str(hint.label) for hint in await editor.hints(uri)}
        assert "→ outer" in hints[2]
        assert "→ inner" in hints[3]
        assert "Last run: finished" in await editor.hover(uri, 2, 4)
        assert not {"MW530", "MW531"} & {one.code for one in await editor.diagnostics(uri)}


async def test_a_client_that_shows_no_progress_after_all_has_the_run_all_the_same(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:

        def refuse(_: object) -> None:
            raise ValueError

        editor.client.protocol.fm.builtin_features[types.WINDOW_WORK_DONE_PROGRESS_CREATE] = refuse
        result = await editor.execute("merrow.run", uri=editor.open(CHAIN), inputs=QUESTION)
        assert result["status"] == "finished"
        assert not editor.client.progress_reports


async def test_a_result_that_is_used_although_it_is_not_valid_is_marked(tmp_path: Path) -> None:
    text = CHAIN.replace("  model: test-model\n", "  model: test-model\n  validators: {v: {if: len(output) < 4}}\n")
    text = text.replace("(role: first)", "(role: first, validate: v, attempts: 2, on_invalid: accept)")
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=RUNS) as editor:
        server.script(Reply("eight"), Reply("eight legs"), Reply("8"))
        uri = editor.open(text)
        result = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert (result["status"], result["not_valid"]) == ("finished", ["A"])
        assert "Last run: finished" in (told := await editor.hover(uri, A + 1, 4))
        assert "not valid, attempt 2" in told
        hint = next(hint for hint in await editor.hints(uri) if hint.position.line == A + 1)
        (part,) = hint.label
        assert isinstance(part, types.InlayHintLabelPart)
        assert "→ eight legs" in part.value
        assert "not valid, attempt 2" in part.value
        shown = await editor.ask("merrow/show", run=result["run"], node="A")
        (node,) = shown["nodes"]
        assert [(one["attempt"], one["valid"]) for one in node["attempts"]] == [(1, False), (2, False)]


async def test_an_editor_is_told_of_a_loop_that_was_stopped(tmp_path: Path) -> None:
    async with OpenAIServer(judged("bad")) as server, editor_on(tmp_path, server, capabilities=RUNS) as editor:
        uri = editor.open(refining())
        result = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert (result["status"], result["exhausted"]) == ("finished", ["REFINE"])
        (ended,) = editor.named("loop_ended")
        assert [ended[name] for name in ("path", "turns", "why", "stopped")] == ["REFINE", 3, "turns", True]
        assert "→ turns ran out after turn 3" in [hint.label for hint in await editor.hints(uri)]
        shown = await editor.ask("merrow/show", run=result["run"])
        assert (shown["loops"], shown["exhausted"]) == ([{"path": "REFINE", "turns": 3, "why": "turns"}], ["REFINE"])
        graph = await editor.ask("merrow/graph", textDocument={"uri": uri}, diagram=1)
        assert [edge["left"] for edge in graph["edges"] if edge["word"] == "over"] == [["REFINE"]]


async def test_hints_of_results_can_be_switched_off(tmp_path: Path) -> None:
    capabilities = {key: value for key, value in MODERN.items() if key != "workspace"}
    settings = {"inlayHintResults": False}
    async with editor_on(tmp_path, capabilities=capabilities, options=settings) as editor:
        uri = editor.open(CHAIN)
        await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert await editor.hints(uri) == []
        assert "Last run: finished" in await editor.hover(uri, A, 4)


@pytest.mark.parametrize("offline", [True, False])
async def test_the_embedded_model_is_named_wherever_a_result_is_shown(tmp_path: Path, offline: bool) -> None:
    """Nobody takes an answer by rule for that of a model."""
    name = "embedded model (offline)"
    async with OpenAIServer() as server, editor_on(tmp_path, None if offline else server, capabilities=RUNS) as editor:
        uri = editor.open(CHAIN)
        await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        document = types.TextDocumentIdentifier(uri)
        hover = await editor.client.text_document_hover_async(types.HoverParams(document, types.Position(A, 4)))
        assert hover is not None
        assert (f", {name}" in str(hover.contents)) is offline
        lenses = await editor.client.text_document_code_lens_async(types.CodeLensParams(document))
        assert (
            f"Last run: {name}" in [one.command.title for one in lenses or [] if one.command is not None]
        ) is offline


async def test_turns_are_shown_in_progress_hints_and_hovers(tmp_path: Path) -> None:
    async with editor_on(tmp_path, capabilities=RUNS) as editor:
        uri = editor.open(BOXES)
        result = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert result["status"] == "finished"
        messages = [str(getattr(one, "message", "")) for one in editor.progress]
        assert any(one.startswith(("REFINE[1]/", "REFINE[2]/", "REFINE, turn ")) for one in messages), messages
        hints = {hint.position.line: hint for hint in await editor.hints(uri) if "turn" in str(hint.label)}
        assert hints[3].label == "→ turn 2 of 2"
        told = await editor.hover(uri, 4, 8)
        assert "Last run: finished in REFINE[2]" in told
        (where,) = json.loads(unquote(told.rpartition("](command:merrow.showNode?")[2].removesuffix(")")))
        assert where["node"] == "REFINE[2]/WRITE"


async def test_a_node_in_turns_is_shown_by_its_last_one_with_all_of_them(tmp_path: Path) -> None:
    async with editor_on(tmp_path, capabilities=RUNS) as editor:
        uri = editor.open(BOXES)
        run = (await editor.execute("merrow.run", uri=uri, inputs=QUESTION))["run"]
        newest, first = [await editor.ask("merrow/show", run=run, node=one) for one in ("WRITE", "REFINE[1]/WRITE")]
        assert newest["visits"] == first["visits"] == ["REFINE[1]/WRITE", "REFINE[2]/WRITE"]
        assert [(one["node"], one["id"], one["path"]) for one in newest["nodes"]] == [
            ("REFINE[2]/WRITE", "WRITE", "REFINE[2]")
        ]
        assert [one["node"] for one in first["nodes"]] == ["REFINE[1]/WRITE"]
        assert first["nodes"][0]["calls"]
        assert "visits" not in await editor.ask("merrow/show", run=run, node="READ")
