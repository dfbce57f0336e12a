"""Runs that are revised from an editor while they go on: a real server process, a real endpoint on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Step
from tests.server.lsp.editor import MODERN
from tests.server.lsp.running import RunningEditor, editor_on
from tests.server.lsp.test_suggestions import applied
from tests.server.lsp.test_suggestions import asked as pressed

import merrow_runtime
from merrow_runtime import Store, check_workflow
from merrow_runtime.models.offline import OfflineEndpoint

Json = dict[str, Any]
REVISE, DIFF, ACCEPT, REVISION = "merrow.revise", "merrow.diff", "merrow.acceptRevision", "merrow/revision"

FLOW = """\
---
workflow: {model: m-1}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first"}
    B@{op: Custom, prompt: "second"}
    C@{op: Custom, prompt: "hold on"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> B --> C --> RETURN
"""
OTHER = FLOW.replace("hold on", "third")
WITHOUT_B = OTHER.replace('    B@{op: Custom, prompt: "second"}\n', "").replace("A --> B --> C", "A --> C")
BROKEN = FLOW.replace('op: Custom, prompt: "second"', "op: Nothing")
MORE = OTHER.replace("    A@{", "    MORE([More]):::Interface\n    MORE --> A\n    A@{")
REDONE = OTHER.replace("workflow: {model: m-1}", "workflow: {model: m-1, redo: {A: 1}}")


def answer(request: Received) -> Step:
    """The node's prompt; a node that is to hold on never answers."""
    said = request.body["messages"][0]["content"].split("\n")[0]
    return Hang() if "hold" in said else Reply(f"{said}!")


class Held:
    """A run whose last node never answers, with its editor and its endpoint."""

    def __init__(self, editor: RunningEditor, server: OpenAIServer, uri: str) -> None:
        self.editor, self.server, self.uri = editor, server, uri
        self.ended = editor.begin("merrow.run", uri=uri, inputs={"problem": "x"})
        self.run = ""

    async def reached(self) -> None:
        await self.editor.until(lambda: [one for one in self.editor.named("node_started") if one["node"] == "C"])
        self.run = self.editor.events[0]["run"]

    async def revise(self, **how: Any) -> Json:
        found: Json = await self.editor.execute(REVISE, run=self.run, **how)
        return found

    async def result(self) -> Json:
        found: Json = await self.ended
        return found

    @property
    def asked(self) -> list[str]:
        return [one.body["messages"][0]["content"].split("\n")[0] for one in self.server.requests]


@asynccontextmanager
async def held(folder: Path, capabilities: Json | None = None, text: str = FLOW) -> AsyncIterator[Held]:
    chosen = {} if capabilities is None else {"capabilities": capabilities}
    async with OpenAIServer(answer) as server, editor_on(folder, server, **chosen) as editor:
        run = Held(editor, server, editor.open(text))
        await run.reached()
        yield run


@pytest.mark.slow
async def test_a_run_continues_as_its_file_is_now_and_nothing_is_paid_again(tmp_path: Path) -> None:
    async with held(tmp_path) as run:
        run.editor.change(run.uri, OTHER)
        compared = await run.editor.execute(DIFF, run=run.run, uri=run.uri)
        assert (compared["kept"], compared["changed"], compared["refused"]) == (["A", "B"], ["C"], [])
        # The run of the document that goes on is meant where none is named.
        ended = await run.editor.execute(REVISE, uri=run.uri)
        assert (ended["run"], ended["state"], ended["revision"], ended["resumes"]) == (run.run, "applied", 1, False)
        assert ended["diff"]["kept"] == ["A", "B"]
        assert ended["diff"]["cancelled"] == ["C"]
        result = await run.result()
        assert result["status"] == "finished"
        assert run.asked == ["first", "second", "hold on", "third"]
        told = [event for event in run.editor.events if event["event"].startswith("revision_")]
        assert [(one["event"], one["revision"], one["trigger"]) for one in told] == [
            ("revision_opened", 1, "person"),
            ("revision_applied", 1, "person"),
        ]
        assert told[1]["diff"]["kept"] == ["A", "B"]
        shown = await run.editor.ask("merrow/show", run=run.run)
        assert [(one["revision"], one["state"]) for one in shown["revisions"]] == [(1, "applied")]
        assert shown["text"] == OTHER


@pytest.mark.slow
async def test_a_text_with_errors_is_refused_in_a_sentence_and_the_run_goes_on(tmp_path: Path) -> None:
    async with held(tmp_path) as run:
        run.editor.change(run.uri, BROKEN)
        ended = await run.revise(uri=run.uri)
        assert ended["state"] == "refused"
        assert "Nothing" in ended["reason"]
        assert ended["diff"]["refused"] == [ended["reason"]]
        assert not run.ended.done()
        gone = await run.revise(text=MORE)
        assert gone["state"] == "refused"
        assert "The input MORE is new: inputs and outputs of a run never change" in gone["reason"]
        assert (await run.revise(text=OTHER))["state"] == "applied"
        assert (await run.result())["status"] == "finished"
        shown = await run.editor.ask("merrow/show", run=run.run)
        assert [one["state"] for one in shown["revisions"]] == ["refused", "refused", "applied"]


@pytest.mark.slow
async def test_going_back_pays_nothing_again(tmp_path: Path) -> None:
    async with held(tmp_path) as run:
        await run.revise(text=WITHOUT_B)
        again = OTHER.replace("third", "hold it, too")
        # It has ended meanwhile or not: a run that is over can't be revised.
        assert (await run.result())["status"] == "finished"
        with pytest.raises(JsonRpcException, match="has finished, so nothing of it is left to change"):
            await run.revise(text=again)
    async with held(tmp_path / "other") as run:
        await run.revise(text=FLOW.replace("second", "another"))
        await run.editor.until(
            lambda: len([one for one in run.editor.named("node_started") if one["node"] == "C"]) == 2
        )
        back = await run.revise(revision=0)
        assert (back["state"], back["diff"]["changed"]) == ("applied", ["B"])
        await run.editor.until(
            lambda: len([one for one in run.editor.named("node_started") if one["node"] == "C"]) == 3
        )
        assert (await run.revise(text=OTHER))["state"] == "applied"
        assert (await run.result())["outputs"] == {"RETURN": "third!"}
        assert run.asked.count("first") == run.asked.count("second") == run.asked.count("another") == 1


async def test_a_run_that_has_stopped_continues_so_when_it_is_resumed(tmp_path: Path) -> None:
    async with held(tmp_path) as run:
        await run.editor.execute("merrow.cancel", run=run.run)
        assert (await run.result())["status"] == "cancelled"
        ended = await run.revise(text=OTHER)
        assert (ended["state"], ended["resumes"], ended["diff"]["kept"]) == ("asked", True, ["A", "B"])
        resumed = await run.editor.execute("merrow.resume", run=run.run)
        assert resumed["outputs"] == {"RETURN": "third!"}
        assert run.asked == ["first", "second", "hold on", "third"]


@pytest.mark.slow
async def test_a_client_that_shows_no_runs_is_told_what_became_of_it(tmp_path: Path) -> None:
    shows_none = {"experimental": {"merrowInput": True}}
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server, capabilities=shows_none) as editor:
        uri = editor.open(FLOW)
        ended = editor.begin("merrow.run", uri=uri, inputs={"problem": "x"})
        await editor.until(lambda: [one for one in editor.named("node_started") if one["node"] == "C"])
        run = editor.events[0]["run"]
        await editor.execute(REVISE, run=run, text=BROKEN)
        await editor.execute(REVISE, run=run, text=FLOW)
        await editor.execute(REVISE, run=run, text=OTHER)
        await ended
        said = [message.message for message in editor.client.messages]
        assert said[0].startswith(f"Revision 1 of run {run} is refused. ")
        assert said[1] == f"Nothing differs in revision 2 that run {run} would notice."
        # The run may have ended before what became of it is told.
        assert f"Revision 3 of run {run} is applied." in said[2:]


REVISING = FLOW.replace("{model: m-1}", "{model: m-1, refine: {every: 2, max: 1, ask: true}}")
WANTED = {"reason": "So it ends.", "changes": [{"do": "edit", "id": "C", "objective": "third"}]}


def wanting(request: Received) -> Step:
    """As `answer`; the reviser wants another last node."""
    first = request.body["messages"][0]["content"]
    return Reply(json.dumps(WANTED)) if first.startswith("You look after") else answer(request)


@pytest.mark.slow
@pytest.mark.parametrize("shows_runs", [True, False])
async def test_a_revision_of_a_model_that_asks_waits_for_the_user(tmp_path: Path, shows_runs: bool) -> None:
    capabilities = {"experimental": {"merrowInput": True, "merrowRuns": shows_runs}}
    async with OpenAIServer(wanting) as server, editor_on(tmp_path, server, capabilities=capabilities) as editor:
        questions = pressed(editor, "Apply")
        ended = editor.begin("merrow.run", uri=editor.open(REVISING), inputs={"problem": "x"})
        await editor.until(lambda: editor.named("revision_waiting"))
        (waits,) = editor.named("revision_waiting")
        assert (waits["reason"], waits["diff"]["changed"]) == ("So it ends.", ["C"])
        if shows_runs:
            with pytest.raises(JsonRpcException, match="Revision 7 of this run is not waiting for a decision"):
                await editor.execute("merrow.decideRevision", run=waits["run"], revision=7, apply=True)
            await editor.execute("merrow.decideRevision", run=waits["run"], revision=1, apply=True)
        assert (await ended)["outputs"] == {"RETURN": "third!"}
        assert [one["revision"] for one in editor.named("revision_applied")] == [1]
        said = [one.message for one in questions]
        assert said == (
            [] if shows_runs else [f"Revision 1 of run {waits['run']} waits for you (2 kept, 1 changed). So it ends."]
        )


@pytest.mark.slow
async def test_a_revision_is_shown_with_its_text_and_a_picture_with_what_is_gone(tmp_path: Path) -> None:
    async with held(tmp_path) as run:
        await run.revise(text=WITHOUT_B)
        await run.result()
        shown = await run.editor.ask(REVISION, run=run.run, revision=1)
        assert (shown["state"], shown["trigger"], shown["before"], shown["text"]) == (
            "applied",
            "person",
            FLOW,
            WITHOUT_B,
        )
        assert shown["diff"]["removed"] == ["B"]
        assert (shown["uri"], shown["ghosts"]) == (run.uri, ["B"])
        drawing = shown["drawing"]
        assert drawing["text"].startswith(WITHOUT_B)
        assert "A -.-> B" in drawing["text"]
        assert "B -.-> C" in drawing["text"]
        assert [node["id"] for node in drawing["nodes"]] == ["PROBLEM", "A", "C", "RETURN", "B"]
        assert {node["id"]: node["operator"] for node in drawing["nodes"]}["A"] == "Custom"
        assert drawing["nodes"][-1] == {
            "id": "B",
            "kind": "unknown",
            "operator": None,
            "style": None,
            "label": None,
            "range": drawing["range"],
            "places": [],
            "diagnostics": [],
        }
        assert (shown["diagram"], drawing["diagram"], drawing["diagnostics"]) == (1, 1, [])
        first = await run.editor.ask(REVISION, run=run.run, revision=0)
        assert (first["text"], first["before"], first["ghosts"]) == (FLOW, None, [])
        with pytest.raises(JsonRpcException, match="has no revision 7"):
            await run.editor.ask(REVISION, run=run.run, revision=7)


async def test_a_revision_that_proposes_nothing_has_neither_text_nor_picture(tmp_path: Path) -> None:
    def content(request: Received) -> Step:
        first = request.body["messages"][0]["content"]
        nothing = {"reason": "All is well.", "changes": []}
        return Reply(json.dumps(nothing)) if first.startswith("You look after") else answer(request)

    async with OpenAIServer(content) as server, editor_on(tmp_path, server) as editor:
        text = REVISING.replace("hold on", "third")
        ended = await editor.execute("merrow.run", uri=editor.open(text), inputs={"problem": "x"})
        assert ended["outputs"] == {"RETURN": "third!"}
        shown = await editor.ask(REVISION, run=ended["run"], revision=1)
        assert (shown["state"], shown["text"], shown["drawing"]) == ("unchanged", None, None)
        assert (shown["before"], shown["ghosts"]) == (text, [])


@pytest.mark.slow
async def test_what_a_run_became_is_merged_with_what_was_typed_meanwhile(tmp_path: Path) -> None:
    async with held(tmp_path, MODERN | {"experimental": {"merrowInput": True, "merrowRuns": True}}) as run:
        edits = applied(run.editor)
        await run.revise(text=REDONE)
        await run.result()
        run.editor.change(run.uri, FLOW.replace('"first"', '"first of all"'))
        done = await run.editor.execute(ACCEPT, run=run.run, revision=1)
        assert (done["accepted"], done["edits"], done["text"]) == (True, 1, OTHER)
        (sent,) = edits
        ((change,),) = [
            one.edits for one in sent.edit.document_changes or [] if isinstance(one, types.TextDocumentEdit)
        ]
        assert isinstance(change, types.TextEdit)
        assert change.new_text == '    C@{op: Custom, prompt: "third"}\n'
        assert change.range.start.line == 7
        run.editor.change(run.uri, OTHER)
        assert (await run.editor.execute(ACCEPT, run=run.run))["edits"] == 0
        run.editor.change(run.uri, FLOW.replace("hold on", "mine"))
        not_done = await run.editor.execute(ACCEPT, run=run.run)
        assert (not_done["accepted"], not_done["why"]) == (False, "The file was changed at the same lines.")
        assert len(edits) == 1
        # Where each change is fine by itself and both together are not, nothing is written either.
        run.editor.change(run.uri, FLOW.replace("    PROBLEM([Problem])", "    %% mine\n    PROBLEM([Problem])"))
        assert (await run.editor.execute(ACCEPT, run=run.run))["edits"] == 1


QUIET: Json = MODERN | {"experimental": {"merrowInput": True}}
"""A client that shows no runs and applies edits."""


@pytest.mark.slow
async def test_what_a_run_became_is_written_only_where_it_fits_into_any_document(tmp_path: Path) -> None:
    labelled = FLOW.replace('prompt: "second"', 'prompt: "second", label: "Look again"')
    async with held(tmp_path, QUIET, labelled) as run:
        edits = applied(run.editor)
        await run.editor.execute("merrow.cancel", run=run.run)
        await run.result()
        run.editor.client.messages.clear()
        await run.revise(text=WITHOUT_B)
        (told,) = run.editor.client.messages
        said = f"Revision 1 of run {run.run} is asked for. Resume the run to continue it so."
        assert (told.message, told.type) == (said, types.MessageType.Info)
        assert (await run.editor.execute("merrow.resume", run=run.run))["status"] == "finished"
        shown = await run.editor.ask(REVISION, run=run.run, revision=1)
        assert {node["id"]: node["label"] for node in shown["drawing"]["nodes"]}["B"] == "Look again"

        answered = {"run": run.run, "revision": None, "uri": run.uri, "diagram": 1, "text": WITHOUT_B}
        not_written = answered | {"accepted": False, "edits": 0}
        run.editor.change(run.uri, labelled.replace("hold on", "mine"))
        conflict = not_written | {"why": "The file was changed at the same lines."}
        assert await run.editor.execute(ACCEPT, run=run.run) == conflict
        # Each change is fine by itself; together they have an edge from a node that is gone.
        other = "    OTHER([Other]):::Interface\n    B --> OTHER\n"
        together = labelled.replace("    PROBLEM([", f"{other}    PROBLEM([")
        run.editor.change(run.uri, together)
        refused = await run.editor.execute(ACCEPT, run=run.run, revision=1)
        why = refused.pop("why")
        assert refused == not_written | {"revision": 1}
        assert why.startswith("Together with the changes in the file it has an error: Nothing leads to B")
        assert edits == []
        # A file that has errors already is merged: they are not the run's.
        run.editor.change(run.uri, together.replace("    PROBLEM([", "    WRONG@{op: Nothing}\n    PROBLEM(["))
        done = await run.editor.execute(ACCEPT, run=run.run, revision=1)
        assert done == answered | {"revision": 1, "accepted": True, "edits": 2}
        notes = run.editor.open(
            f"# One\n\n```mermaid\n{OTHER}```\n\n```mermaid\n{labelled}```\n", "notes.md", "markdown"
        )
        done = await run.editor.execute(ACCEPT, run=run.run, uri=notes, diagram=2)
        assert done == answered | {"uri": notes, "diagram": 2, "accepted": True, "edits": 2}
        labels = [f"Accept revision 1 of run {run.run}", f"Accept what run {run.run} became"]
        assert [one.label for one in edits] == labels
        (change,) = edits[1].edit.document_changes or []
        assert isinstance(change, types.TextDocumentEdit)
        first = 5 + len(OTHER.split("\n"))
        lines = [one.range.start.line for one in change.edits if isinstance(one, types.TextEdit)]
        assert lines == [first + 6, first + 9], "those of the second diagram in the file"
        # Without a run it is the newest one of the document; one that has none says so.
        run.editor.change(run.uri, labelled)
        newest = await run.editor.execute(
            "merrow.run", uri=run.uri, inputs={"problem": "y"}, node="A", budget={"tokens": 0}
        )
        assert newest["status"] == "failed"
        assert (await run.editor.execute(ACCEPT, uri=run.uri))["run"] == newest["run"]
        for place in ({"uri": run.uri, "diagram": 1}, {"uri": run.uri.replace("flow", "%66low")}):
            compared = await run.editor.execute(DIFF, text=WITHOUT_B, **place)
            assert (compared["removed"], compared["refused"]) == (["B"], [])
        for place in ({"uri": notes, "diagram": 2}, {"uri": run.uri.replace("flow", "none")}):
            with pytest.raises(JsonRpcException, match="There is no run of this workflow; run it first"):
                await run.editor.execute(DIFF, text=WITHOUT_B, **place)


async def test_a_text_lies_where_the_workflow_of_its_run_lies(tmp_path: Path) -> None:
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "prompts.yaml").write_text("third: third\n")
    path = tmp_path / "flows" / "flow.mmd"
    path.write_text(FLOW)
    text = OTHER.replace("workflow: {", "workflow: {prompts: ./prompts.yaml, ").replace(
        'prompt: "third"', "role: third"
    )
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(FLOW, "flows/flow.mmd")
        ended = editor.begin("merrow.run", uri=uri, inputs={"problem": "x"})
        await editor.until(lambda: [one for one in editor.named("node_started") if one["node"] == "C"])
        await editor.execute("merrow.cancel", uri=uri)
        run = (await ended)["run"]
        # Open or not, and where the text is said to lie elsewhere, it has no such file.
        elsewhere = editor.open(FLOW, "elsewhere.mmd")
        assert (await editor.execute(DIFF, run=run, text=text))["refused"] == []
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        assert (await editor.execute(DIFF, run=run, text=text))["refused"] == []
        (why,) = (await editor.execute(DIFF, run=run, text=text, uri=elsewhere))["refused"]
        assert "elsewhere.mmd has an error on line 2 and is not run: There is no file ./prompts.yaml. (MW502)" in why
        revised = await editor.execute(REVISE, run=run, text=text)
        assert (revised["state"], revised["diff"]["changed"]) == ("asked", ["C"])
        assert (await editor.execute("merrow.resume", run=run))["outputs"] == {"RETURN": "third!"}


async def test_a_run_of_a_text_in_no_file_goes_into_the_document_that_is_named(tmp_path: Path) -> None:
    (tmp_path / ".state").mkdir()
    store = Store.open(tmp_path / ".state" / "runs.sqlite")
    workflow = check_workflow(OTHER, name="of a program")
    await merrow_runtime.run(workflow, {"problem": "x"}, endpoint=OfflineEndpoint(), store=store)
    store.close()
    async with editor_on(tmp_path, capabilities=QUIET) as editor:
        applied(editor)
        (run,) = (one["run"] for one in await editor.ask("merrow/runs"))
        with pytest.raises(JsonRpcException) as caught:
            await editor.execute(ACCEPT, run=run)
        assert caught.value.message == (
            f"The workflow of run {run} lies in no file; say in `uri` which document takes it."
        )
        taken = await editor.execute(ACCEPT, run=run, uri=editor.open(OTHER))
        assert (taken["accepted"], taken["edits"], taken["text"]) == (True, 0, OTHER)


async def test_a_run_that_is_not_there_is_refused_and_two_texts_are_compared_without_one(tmp_path: Path) -> None:
    wrong: list[tuple[str, Json, str]] = [
        (REVISE, {"run": "none", "text": OTHER}, "no run 'none'"),
        (REVISE, {"run": "none", "revision": 0}, "no run 'none'"),
        (DIFF, {"run": "none", "text": OTHER, "finished": ["A"]}, "no run 'none'"),
        ("merrow.decideRevision", {"run": "none", "revision": 0, "apply": False}, "Run none does not continue here"),
        (ACCEPT, {"run": "none"}, "no run 'none'"),
    ]
    async with editor_on(tmp_path) as editor:
        for command, argument, words in wrong:
            with pytest.raises(JsonRpcException, match=words):
                await editor.execute(command, **argument)
        old, new = editor.open(FLOW), editor.open(WITHOUT_B, "new.mmd")
        found = await editor.execute(DIFF, old=old, uri=new, finished=["A", "B"])
        assert (found["kept"], found["removed"], found["changed"]) == (["A"], ["B"], ["C"])
        assert (await editor.execute(DIFF, old=old, text=BROKEN))["refused"]
        with pytest.raises(JsonRpcException, match="has no node X"):
            await editor.execute(DIFF, old=old, uri=new, finished=["X"])


async def test_a_run_is_refined_as_its_argument_says(tmp_path: Path) -> None:
    def looked(request: Received) -> Step:
        first = request.body["messages"][0]["content"].split("\n")[0]
        return Reply("{}" if first.startswith("You look after") else f"{first}!")

    text = FLOW.replace("hold on", "third")
    async with OpenAIServer(looked) as endpoint, editor_on(tmp_path, endpoint) as editor:
        uri = editor.open(text)
        for refine, times in ((None, 0), (True, 0), ({"every": 1}, 2), (False, 0)):
            endpoint.requests.clear()
            ended = await editor.execute(
                "merrow.run",
                uri=uri,
                inputs={"problem": "x"},
                fresh=True,
                **({} if refine is None else {"refine": refine}),
            )
            assert ended["status"] == "finished"
            asked = [one.body["messages"][0]["content"] for one in endpoint.requests]
            assert sum(one.startswith("You look after") for one in asked) == times, refine
        for wrong, words in (({"evry": 1}, "There is no `refine.evry`"), ("yes", "`refine` must be an object")):
            with pytest.raises(JsonRpcException, match=words):
                await editor.execute("merrow.run", uri=uri, inputs={"problem": "x"}, refine=wrong)
