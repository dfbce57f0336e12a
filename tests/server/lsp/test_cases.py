"""Cases in an editor: findings, completion, hover, the commands and the lens; a real server process where they run."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, OpenAIServer, Reply
from tests.runtime.workflows import CHAIN
from tests.server.lsp.editor import MODERN, PULLING, Editor, ServerError
from tests.server.lsp.running import RunningEditor, editor_on

CASES = """\
cases:
  - id: spider
    inputs: {PROBLEM: How many legs has a spider?}
    expect: [{contains: eight}, {not-contains: six}]
    tags: [smoke]
  - id: ant
    inputs: {PROBLEM: How many legs has an ant?}
    expect: {numeric: 6}
"""


def files(folder: Path, cases: str = CASES) -> str:
    """A workflow with its cases; the URI of the cases file."""
    (folder / "flow.mmd").write_text(CHAIN)
    (folder / "flow.cases.yaml").write_text(cases)
    return (folder / "flow.cases.yaml").as_uri()


def opened(open_editor: Callable[..., Editor], folder: Path, cases: str) -> tuple[Editor, str]:
    files(folder, cases)
    editor = open_editor(PULLING, folder)
    return editor, editor.open(cases, "flow.cases.yaml", "yaml")


def findings(editor: Editor, uri: str) -> list[tuple[int, str, str]]:
    report = editor.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    return [(one["range"]["start"]["line"], one["code"], one["message"]) for one in report["items"]]


def test_mistakes_have_their_places_and_fixes(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    wrong = CASES.replace("{numeric: 6}", "{numerc: 6}").replace(
        "PROBLEM: How many legs has an", "PROBLM: How many has an"
    )
    editor, uri = opened(open_editor, tmp_path, wrong)
    found = findings(editor, uri)
    assert [(line, code) for line, code, _ in found] == [(5, "MW522"), (6, "MW522"), (7, "MW521")]
    place = editor.at(uri, "numerc", 2)
    actions = editor.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": uri},
            "range": {"start": place["position"], "end": place["position"]},
            "context": {"diagnostics": []},
        },
    )
    (action,) = [one for one in actions if one["title"] == "Write numeric"]
    assert editor.applied(action["edit"])[uri] == wrong.replace("numerc", "numeric")


def test_a_change_of_the_workflow_changes_the_findings(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor, uri = opened(open_editor, tmp_path, CASES)
    assert findings(editor, uri) == []
    flow = editor.open(CHAIN, "flow.mmd")
    editor.change(flow, {"text": CHAIN.replace("PROBLEM", "QUESTION")})
    assert {code for _, code, _ in findings(editor, uri)} in (set(), {"MW522"})
    (tmp_path / "flow.mmd").unlink()
    editor.close_document(flow)
    assert [code for _, code, _ in findings(editor, uri)] == ["MW522"]


def labels(editor: Editor, uri: str, word: str, offset: int) -> list[str]:
    answer = editor.request("textDocument/completion", editor.at(uri, word, offset))
    return [item["label"] for item in answer["items"]]


def test_completion_knows_keys_metrics_inputs_and_tags(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    text = CASES + "  - id: more\n    inp\n    inputs:\n      PR\n    expect:\n      - con\n    tags: [s]\n"
    editor, uri = opened(open_editor, tmp_path, text)
    assert {"id", "inputs", "expect", "xfail", "max_cost"} <= set(labels(editor, uri, "    inp\n", 7))
    assert labels(editor, uri, "      PR\n", 8) == ["PROBLEM"]
    metrics = labels(editor, uri, "- con\n", 5)
    assert metrics[0] == "contains"
    assert {"not-regex", "judge", "at_least"} <= set(metrics)
    assert "smoke" in labels(editor, uri, "tags: [s]", 8)
    answer = editor.request("textDocument/completion", editor.at(uri, "- con\n", 5))
    first = next(item for item in answer["items"] if item["label"] == "contains")
    assert editor.edited(uri, [first["textEdit"]]) == text.replace("- con\n", "- contains: \n")
    assert "whole words" in first["documentation"]["value"]


def test_hover_says_what_a_metric_means(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor, uri = opened(open_editor, tmp_path, CASES)
    shown = editor.request("textDocument/hover", editor.at(uri, "not-contains", 3))
    assert "whole words" in shown["contents"]["value"]
    assert (
        "An input of flow.mmd"
        in editor.request("textDocument/hover", editor.at(uri, "PROBLEM", 1))["contents"]["value"]
    )
    assert editor.request("textDocument/hover", editor.at(uri, "eight", 1)) is None


def test_cases_that_were_never_saved_are_checked_completed_and_explained(editor: Editor) -> None:
    """No workflow is beside them, so nobody knows its inputs."""
    uri = editor.open(CASES + "  - id: more\n    inp\n    inputs:\n      PR\n", "flow.cases.yaml", "yaml")
    assert "MW521" in editor.codes(uri)
    assert "inputs" in labels(editor, uri, "    inp\n", 7)
    assert labels(editor, uri, "      PR\n", 8) == []
    assert "whole words" in editor.request("textDocument/hover", editor.at(uri, "not-contains", 3))["contents"]["value"]
    assert editor.request("textDocument/hover", editor.at(uri, "PROBLEM", 1)) is None


def test_a_lens_above_the_workflow_runs_its_cases(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    uri = files(tmp_path)
    editor = open_editor(PULLING, tmp_path)
    flow = editor.open(CHAIN, "flow.mmd")
    lenses = editor.request("textDocument/codeLens", {"textDocument": {"uri": flow}})
    titles = {one["command"]["title"]: one["command"] for one in lenses if one.get("command")}
    assert titles["▶ Run 2 cases"] == {"title": "▶ Run 2 cases", "command": "merrow.test", "arguments": [{"uri": uri}]}


@pytest.mark.slow
async def test_cases_are_listed_with_their_places(tmp_path: Path) -> None:
    uri = files(tmp_path)
    async with editor_on(tmp_path) as editor:
        flow = (tmp_path / "flow.mmd").as_uri()
        found = await editor.execute("merrow.cases", uri=flow)
        assert found == await editor.execute("merrow.cases", uri=uri)
        assert (found["uri"], found["workflow"], found["recording"], found["problems"]) == (uri, flow, None, 0)
        spider, ant = found["cases"]
        assert spider == {
            "id": "spider",
            "range": {"start": {"line": 1, "character": 8}, "end": {"line": 1, "character": 14}},
            "tags": ["smoke"],
            "repeat": 1,
            "xfail": None,
        }
        assert ant["range"]["start"] == {"line": 5, "character": 8}
        other = await editor.execute("merrow.cases", uri=(tmp_path / "other.mmd").as_uri())
        assert (other["uri"], other["cases"]) == (None, [])


def executed(editor: Editor, command: str, uri: str) -> Any:
    return editor.request("workspace/executeCommand", {"command": command, "arguments": [{"uri": uri}]})


def test_what_is_listed_of_cases_is_whole_with_and_without_a_workflow(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    text = CASES.replace("tags: [smoke]", "tags: [smoke, fast]\n    repeat: 3").replace("numeric", "numerc")
    editor, uri = opened(open_editor, tmp_path, text + "    xfail: it can't count\n")
    flow = (tmp_path / "flow.mmd").as_uri()

    def place(line: int, end: int) -> dict[str, Any]:
        return {"start": {"line": line, "character": 8}, "end": {"line": line, "character": end}}

    listed = {
        "uri": uri,
        "workflow": flow,
        "recording": None,
        "problems": 1,
        "cases": [
            {"id": "spider", "range": place(1, 14), "tags": ["smoke", "fast"], "repeat": 3, "xfail": None},
            {"id": "ant", "range": place(6, 11), "tags": [], "repeat": 1, "xfail": "it can't count"},
        ],
    }
    assert executed(editor, "merrow.cases", uri) == executed(editor, "merrow.cases", flow) == listed
    (tmp_path / "flow.replay.jsonl").write_text("")
    recorded = listed | {"recording": (tmp_path / "flow.replay.jsonl").as_uri()}
    assert executed(editor, "merrow.cases", uri) == recorded
    # The workflow is told by the URI that the client has it open under.
    written = flow.replace("flow.mmd", "%66low.mmd")
    editor.notify(
        "textDocument/didOpen", {"textDocument": {"uri": written, "languageId": "mermaid", "version": 1, "text": CHAIN}}
    )
    assert executed(editor, "merrow.cases", uri) == recorded | {"workflow": written}
    nothing = {"uri": None, "workflow": None, "recording": None, "problems": 0, "cases": []}
    other = (tmp_path / "other.mmd").as_uri()
    assert executed(editor, "merrow.cases", other) == nothing | {"workflow": other}
    for none in (other.replace(".mmd", ".cases.yaml"), "untitled:flow.mmd"):
        assert executed(editor, "merrow.cases", none) == nothing
    (tmp_path / "alone.cases.yaml").write_text(CASES)
    alone = executed(editor, "merrow.cases", (tmp_path / "alone.cases.yaml").as_uri())
    assert (alone["workflow"], alone["problems"], len(alone["cases"])) == (None, 1, 2)


def test_cases_of_a_workflow_that_cannot_be_run_are_not_carried_out(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    (tmp_path / "merrow.toml").write_text('ignore = ["MW522"]\n')
    editor, uri = opened(open_editor, tmp_path, CASES)
    flow = editor.open(CHAIN, "flow.mmd")
    for text, why in (
        ("flowchart TD\n    A[Mail]\n", "flow.mmd is not a workflow: it has no PROBLEM or RETURN"),
        (CHAIN.replace("    B --> RETURN\n", ""), "flow.mmd has an error and is not run: line 9: Nothing follows B"),
    ):
        editor.change(flow, {"text": text})
        with pytest.raises(ServerError) as caught:
            executed(editor, "merrow.test", uri)
        assert caught.value.message.startswith(why)
    (tmp_path / "alone.cases.yaml").write_text(CASES)
    with pytest.raises(ServerError) as caught:
        executed(editor, "merrow.test", (tmp_path / "alone.cases.yaml").as_uri())
    assert caught.value.message == "There is no workflow beside alone.cases.yaml."
    editor.notify("merrow/trust", {"trusted": False})
    with pytest.raises(ServerError) as caught:
        executed(editor, "merrow.test", uri)
    assert caught.value.message == (
        "This workspace is not trusted, so nothing in it is run; trust it in your editor first."
    )


def events_of_tests(editor: RunningEditor) -> list[Any]:
    """Where notifications of tests are collected from now on."""
    events: list[Any] = []
    editor.client.protocol.fm.add_builtin_feature("merrow/testEvent", lambda event: events.append(event))
    return events


async def test_a_test_tells_each_case_and_answers_all(tmp_path: Path) -> None:
    uri = files(tmp_path)
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        events = events_of_tests(editor)
        server.script(*[Reply("It has eight legs.")] * 4)
        result = await editor.execute("merrow.test", uri=uri)
        assert (result["ok"], result["cancelled"], result["counts"]) == (False, False, {"passed": 1, "failed": 1})
        passed, failed = result["results"]
        assert (passed["id"], passed["status"], passed["message"], passed["source"]) == (
            "spider",
            "passed",
            "",
            "endpoint",
        )
        assert failed["place"]["start"]["line"] == 7
        assert (failed["expected"], failed["actual"]) == ("numeric: 6", "It has eight legs.")
        assert failed["run"]
        ended = {event["id"]: event["result"] for event in map(_plain, events) if event["result"] is not None}
        assert ended == {"spider": passed, "ant": failed}
        assert {event["id"] for event in map(_plain, events) if event["result"] is None} == {"spider", "ant"}
        begin, *_, end = editor.progress
        assert (begin.title, end.kind) == ("Testing flow.mmd", "end")
        again = await editor.execute("merrow.test", uri=uri, ids=["spider"])
        assert [one["id"] for one in again["results"]] == ["spider"]
        assert len(server.requests) == 3  # equal questions are asked once, and answers are known
        with pytest.raises(JsonRpcException, match="Did you mean spider"):
            await editor.execute("merrow.test", uri=uri, ids=["spidr"])


def _plain(event: Any) -> Any:
    return json.loads(
        json.dumps(event, default=lambda value: value._asdict() if hasattr(value, "_asdict") else vars(value))
    )


async def test_what_cant_be_tested_is_refused_with_the_reason(tmp_path: Path) -> None:
    uri = files(tmp_path, CASES.replace("numeric", "numerc"))
    async with editor_on(tmp_path) as editor:
        with pytest.raises(JsonRpcException, match=r"flow.cases.yaml has an error and is not run: line 8: .*\(MW521\)"):
            await editor.execute("merrow.test", uri=uri)
        (tmp_path / "flow.cases.yaml").write_text(CASES)
        result = await editor.execute("merrow.test", uri=uri)
        assert result["counts"] == {"skipped": 2}
        assert result["ok"]
        with pytest.raises(JsonRpcException) as caught:
            await editor.execute("merrow.test", uri=uri, record=True)
        assert caught.value.data["remedy"] == "key"
        assert await editor.execute("merrow.cases", uri=uri)


@pytest.mark.parametrize("count", [1, 3, 4])
def test_of_many_errors_in_a_cases_file_the_first_three_are_told(
    open_editor: Callable[..., Editor], tmp_path: Path, count: int
) -> None:
    wrong = "".join(f"  - {{id: c{n}, inputs: {{PROBLEM: x}}, expect: {{numerc: 6}}}}\n" for n in range(count))
    editor, uri = opened(open_editor, tmp_path, f"cases:\n{wrong}")
    with pytest.raises(ServerError) as caught:
        editor.request("workspace/executeCommand", {"command": "merrow.test", "arguments": [{"uri": uri}]})
    said = "an error" if count == 1 else f"{count} errors"
    assert f"flow.cases.yaml has {said} and is not run: line 2: " in caught.value.message
    assert re.findall(r"line (\d+): ", caught.value.message) == [str(2 + n) for n in range(min(count, 3))]


async def test_who_shows_no_runs_is_told_how_many_passed_and_the_first_three_that_did_not(tmp_path: Path) -> None:
    ants = "".join(
        f"  - {{id: ant{n}, inputs: {{PROBLEM: How many legs have {n} ants?}}, expect: {{numeric: {6 * n}}}}}\n"
        for n in range(2, 6)
    )
    uri = files(tmp_path, CASES.partition("  - id: ant")[0] + ants)
    async with (
        OpenAIServer(lambda _: Reply("eight")) as server,
        editor_on(tmp_path, server, capabilities=MODERN) as editor,
    ):
        for ids, kind in ((None, types.MessageType.Warning), (["spider"], types.MessageType.Info)):
            result = await editor.execute("merrow.test", uri=uri, ids=ids)
            told = editor.client.messages[-1]
            head, *rest = told.message.split("\n")
            assert (head, told.type) == (f"flow.cases.yaml: 1 passed{'' if ids else ', 4 failed'}.", kind)
            failed = [f"{one['id']}: {one['message']}" for one in result["results"] if one["status"] == "failed"]
            assert rest == failed[:3]


async def test_a_test_is_cancelled_by_its_progress(tmp_path: Path) -> None:
    uri = files(tmp_path)
    async with OpenAIServer(lambda _: Hang()) as server, editor_on(tmp_path, server) as editor:
        task = editor.begin("merrow.test", uri=uri)
        await asyncio.wait_for(server.arrived(1), PATIENCE)
        token = list(editor.client.progress_reports)[-1]
        editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
        result = await asyncio.wait_for(task, PATIENCE)
        assert (result["cancelled"], result["ok"], result["results"]) == (True, False, [])


async def test_a_run_is_saved_as_a_case(tmp_path: Path) -> None:
    uri = files(tmp_path)
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        server.script(*[Reply("Eight.")] * 2)
        flow = (tmp_path / "flow.mmd").as_uri()
        editor.open(CHAIN, "flow.mmd")
        ran = await editor.execute("merrow.run", uri=flow, inputs={"PROBLEM": "Legs of a tick?"}, agreed=True)
        cases = editor.open(CASES + "# not saved\n", "flow.cases.yaml")
        with pytest.raises(JsonRpcException, match=r"flow\.cases\.yaml has changes that are not saved"):
            await editor.execute("merrow.saveAsCase", run=ran["run"])
        (tmp_path / "flow.cases.yaml").write_text(CASES + "# not saved\n")
        saved = await editor.execute("merrow.saveAsCase", run=ran["run"])
        assert (saved["uri"], saved["id"]) == (cases, "legs-of-a-tick")
        lines = (tmp_path / "flow.cases.yaml").read_text().splitlines()
        assert lines[saved["range"]["start"]["line"]] == "  - id: legs-of-a-tick"
        assert "Eight." in "\n".join(lines)
        elsewhere = await editor.execute("merrow.saveAsCase", run=ran["run"], uri=uri.replace("flow.", "other."))
        assert (tmp_path / "other.cases.yaml").as_uri() == elsewhere["uri"]
        with pytest.raises(JsonRpcException, match="There is no run"):
            await editor.execute("merrow.saveAsCase", run="zzz")


async def test_a_file_whose_name_no_system_takes_has_no_cases(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = (tmp_path / f"{'x' * 300}.mmd").as_uri()
        for wanted in (uri, uri.replace(".mmd", ".cases.yaml")):
            with pytest.raises(JsonRpcException, match="There is no cases file here"):
                await editor.execute("merrow.test", uri=wanted)
            assert (await editor.execute("merrow.cases", uri=wanted))["cases"] == []
