"""Operators drawn from solved cases in an editor: forecast, agreed to, written, listed, cancelled, gone on with, deleted."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import Hang, OpenAIServer
from tests.server.lsp.running import WAIT, editor_on

from merrow_analysis.check import analyse

EXAMPLE = Path(__file__).parents[3] / "examples" / "extraction"
OWN = {"dataset": "math_validate.jsonl", "reader": "math"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("math_validate.jsonl", "operators.replay.jsonl"):
        shutil.copy(EXAMPLE / name, tmp_path / name)
    return tmp_path


async def test_an_extraction_is_forecast_carried_out_and_listed_and_its_files_are_written(folder: Path) -> None:
    replayed = {**OWN, "replay": "operators.replay.jsonl"}
    async with OpenAIServer() as server, editor_on(folder, server) as editor:
        forecast = await editor.execute("merrow.extract", **replayed, dryRun=True)
        assert forecast["free"]
        assert forecast["text"].count("Stage ") == 5
        assert not (folder / "operators.yaml").exists()
        assert await editor.execute("merrow.extractions") == []

        ended = await editor.execute("merrow.extract", **replayed)
        assert (ended["status"], ended["library"]) == ("finished", str(folder / "operators.yaml"))
        assert Path(ended["page"]).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        names = [one["name"] for one in ended["report"]["operators"]]
        assert all(f"  {name}:" in (folder / "operators.yaml").read_text(encoding="utf-8") for name in names)
        assert not analyse((folder / "start" / "1.mmd").read_text(encoding="utf-8")).errors
        told = [
            report.message
            for reports in editor.client.progress_reports.values()
            for report in reports
            if report.message
        ]
        assert any("case" in message.lower() for message in told)

        assert [one["extraction"] for one in await editor.execute("merrow.extractions")] == [ended["extraction"]]
        again = await editor.execute("merrow.extract", resume=ended["extraction"])
        assert again["report"] == ended["report"]
        assert server.requests == []
        gone = await editor.execute("merrow.deleteExtraction", id=ended["extraction"])
        assert gone == {"extraction": ended["extraction"]}
        assert (folder / "operators.yaml").exists()


async def test_nothing_is_asked_before_the_user_agrees_and_what_is_stopped_is_kept(folder: Path) -> None:
    async with OpenAIServer(lambda _: Hang()) as server, editor_on(folder, server) as editor:
        asked = asyncio.Event()

        def refuse(params: types.ShowMessageRequestParams) -> None:
            assert "Stage 1" in params.message
            asked.set()

        editor.client.protocol.fm.add_builtin_feature(types.WINDOW_SHOW_MESSAGE_REQUEST, refuse)
        with pytest.raises(JsonRpcException, match="Nothing was extracted"):
            await editor.execute("merrow.extract", **OWN, model="m")
        assert asked.is_set()
        assert server.requests == []

        params = types.ExecuteCommandParams("merrow.extract", [{**OWN, "model": "m", "agreed": True}])
        send = editor.client.protocol.send_request_async
        sent = asyncio.ensure_future(send(types.WORKSPACE_EXECUTE_COMMAND, params, msg_id="extraction"))
        async with asyncio.timeout(WAIT):
            await server.arrived(1)
            editor.client.cancel_request(types.CancelParams("extraction"))
            with pytest.raises(JsonRpcException):
                await sent
            while (found := await editor.execute("merrow.extractions")) and found[0]["status"] == "running":
                await asyncio.sleep(0.01)
        assert [one["status"] for one in found] == ["cancelled"]
        assert not (folder / "operators.yaml").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"dataset": ""}, "a file with solved cases"),
        ({"without": ["all"]}, "initial, clustering, deep"),
        ({"coverage": 0}, "above 0"),
        ({"paths": 0}, "`paths`"),
        ({"out": "notes.txt"}, "YAML"),
        ({"dataset": "no.jsonl"}, "no.jsonl"),
    ],
)
async def test_mistakes_are_said_before_a_call(folder: Path, more: dict[str, object], says: str) -> None:
    async with OpenAIServer() as server, editor_on(folder, server) as editor:
        with pytest.raises(JsonRpcException, match=says):
            await editor.execute("merrow.extract", **{**OWN, **more}, agreed=True)
        assert server.requests == []


async def test_own_cases_are_read_by_the_fields_that_are_named(folder: Path) -> None:
    rows = [
        f'{{"id": "q{n}", "question": "What is {n} plus {n}?", "worked": "Add them.", "answer": "{2 * n}"}}\n'
        for n in range(10)
    ]
    (folder / "solved.jsonl").write_text("".join(rows), encoding="utf-8")
    fields = {"mapping": {"problem": "question"}, "solution": "worked", "gold": "answer", "metric": "numeric"}
    async with OpenAIServer() as server, editor_on(folder, server) as editor:
        asked = {"dataset": str(folder / "solved.jsonl"), **fields, "model": "m", "dryRun": True}
        forecast = await editor.execute("merrow.extract", **asked)
        assert "10 cases" in forecast["text"]
        assert not forecast["free"]
        assert server.requests == []
