"""Sessions with servers of tools: honest ones, and those that do what no server should."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.patience import PATIENCE

from merrow_runtime.errors import StaleStateFailure, ToolFailure
from merrow_runtime.models.tool_servers import ToolServer
from merrow_runtime.outside.http import HttpServer
from merrow_runtime.outside.results import ServerResult
from merrow_runtime.outside.sessions import Sessions
from merrow_runtime.requests import ToolLeg, ToolQuestion, ToolQuestions

HERE = Path(__file__).parent
KEY = "sk-mine-and-secret"
ENVIRONMENT = {"PATH": os.environ["PATH"], "SECRET": KEY, "OTHER": "x"}
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has subreapers")


def program(script: str, *words: str, timeout: float = PATIENCE, **given: Any) -> ToolServer:
    return ToolServer("web", (sys.executable, str(HERE / script), *words), timeout=timeout, **given)


def hostile(how: str, mark: Path | str = "", **given: Any) -> ToolServer:
    return program("hostile.py", how, str(mark), env=("SECRET",), **given)


async def called(how: str, mark: Path | str = "", **given: Any) -> ServerResult:
    async with Sessions(ENVIRONMENT) as sessions:
        server = hostile(how, mark, **given)
        await sessions.tools(server)
        return await sessions.call(server, how, {"place": f"{mark}/left"})


def left_of(mark: Path) -> list[str]:
    """The command lines of processes that have a path in them."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(mark) in line and place.parent.name != str(os.getpid()):
            found.append(line)
    return found


LIMITS = {
    "long": "sent a line of more than 8 MB.",
    "endless": "sent a line of more than 8 MB.",
    "deep": "sent a message of more than 100 levels.",
    "unlike": "answered with values that JSON does not have.",
    "nested": "sent a message of more than 100 levels.",
    "notifications": "sent more than 1,000 messages that answer nothing during one call.",
    "requests": "sent more than 1,000 messages that answer nothing during one call.",
    "dies": "ended with exit code 3.",
    "another": "answered a request that was never made.",
    "chatters": r"writes lines that are not messages of the protocol, such as '\x1b[2Jlistening'.",
    "shapeless": "answered with something that is not an answer of the protocol.",
    "refuses": "refused: no [31m such [hidden].",
    "pages": "lists its tools on more than 100 pages.",
    "many": "lists more than 1,000 tools.",
    "same": "lists the tool `same` twice.",
    "gone": "ended with exit code 2.",
}
ALIKE = ("endless", "requests", "many", "refuses")
"""What others have shown."""


@pytest.mark.parametrize("how", [pytest.param(how, marks=[pytest.mark.slow] if how in ALIKE else []) for how in LIMITS])
async def test_a_server_that_goes_too_far_is_ended_with_one_sentence(how: str, tmp_path: Path) -> None:
    with pytest.raises(ToolFailure) as failure:
        await called(how, tmp_path)
    assert str(failure.value) == f"The server `web` {LIMITS[how]}"
    assert not left_of(tmp_path)
    if how == "dies":
        assert failure.value.told == "\u241b[31mno database\nkey [hidden]"


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("hangs", "did not answer within {:g} seconds."),
        pytest.param("mute", "did not start within {:g} seconds.", marks=pytest.mark.slow),
        pytest.param("deaf", "did not answer within {:g} seconds.", marks=pytest.mark.slow),
    ],
)
async def test_a_server_that_does_not_answer_is_not_waited_for(how: str, sentence: str, tmp_path: Path) -> None:
    for seconds in (1.0, 10.0, PATIENCE):  # A busy machine may need longer only to start it.
        with pytest.raises(ToolFailure) as failure:
            await called(how, tmp_path, timeout=seconds)
        assert not left_of(tmp_path)
        if str(failure.value) == f"The server `web` {sentence.format(seconds)}":
            return
    pytest.fail(str(failure.value))


async def test_what_is_odd_and_harmless_is_taken() -> None:
    async with Sessions(ENVIRONMENT) as sessions:
        server = hostile("any")

        async def answer(how: str) -> ServerResult:
            return await sessions.call(server, how, {})

        assert (await answer("twice")).text == "first"
        assert (await answer("bytes")).text == "\ufffd\ufffd \x1b[31m"
        assert (await answer("prints")).text == "printed"
        for _ in range(2):  # What is too much is too much for one call.
            assert (await answer("chats")).text == "enough"
        assert (await answer("asks")).text == "refused,refused,given"
        half = await answer("half")
        assert (half.text, half.structured) == ("?", {"a": "?"})
        failed = await answer("fails")
        assert (failed.text, failed.is_error) == ("the article is unknown", True)
        assert (await answer("pictures")).text.split("\n\n") == [
            "[image image/png, 6 bytes]",
            "[link file:///a]",
            "of b",
            "[file file:///c, 6 bytes]",
        ]
        given = json.loads((await answer("environment")).text)
        assert {*given} - {"LC_CTYPE"} == {"PATH", "SECRET"}  # Python sets that itself.
        with pytest.raises(ToolFailure, match=r"refused: no \[31m such \[hidden\]\.") as failure:
            await answer("refuses")
        assert failure.value.told == ""
        assert (await answer("twice")).text == "first"  # A call that is refused ends no session.
        (tool,) = await sessions.tools(server)
        assert tool["name"] == "any"


async def test_a_result_is_bounded() -> None:
    result = await called("large", max_result=1_000)
    assert (result.size, result.is_whole, result.structured) == (600_000, False, None)
    assert len(result.text.encode()) <= 1_000
    assert re.fullmatch(r"ä+\n\[\.\.\. 600,000 bytes in all \.\.\.\]\nä+", result.text)
    whole = await called("large", max_result=600_000)
    assert whole.is_whole
    assert whole.text == "ä" * 300_000
    assert whole.structured == {"a": "b" * 300_000}


async def test_a_session_is_begun_again_after_it_ended() -> None:
    async with Sessions(ENVIRONMENT) as sessions:
        server = hostile("any")
        with pytest.raises(ToolFailure, match="exit code 3"):
            await sessions.call(server, "dies", {})
        assert (await sessions.call(server, "twice", {})).text == "first"


async def test_other_calls_of_a_session_that_ends_fail_with_it() -> None:
    async with Sessions(ENVIRONMENT) as sessions:
        server = hostile("any")
        waiting = [asyncio.create_task(sessions.call(server, how, {})) for how in ("chatters", "hangs")]
        for task in waiting:
            with pytest.raises(ToolFailure, match="not messages of the protocol"):
                await task


@LINUX
async def test_what_left_its_group_ends_with_the_session(tmp_path: Path) -> None:
    async with Sessions(ENVIRONMENT) as sessions:
        server = hostile("grandchildren", tmp_path)
        assert (await sessions.call(server, "grandchildren", {"place": f"{tmp_path}/left"})).text == "left"
        assert any("time.sleep(600)" in line for line in left_of(tmp_path))
    assert not left_of(tmp_path)
    subreaper = ctypes.c_int(-1)
    ctypes.CDLL(None).prctl(37, ctypes.byref(subreaper), 0, 0, 0)
    assert subreaper.value == 0, "orphans of the sandbox would come to this process"


@LINUX
def test_a_server_ends_with_the_process_that_is_killed(tmp_path: Path) -> None:
    script = f"""
import asyncio, os, signal
from tests.runtime.outside.test_sessions import ENVIRONMENT, hostile
from merrow_runtime.outside.sessions import Sessions
from merrow_runtime.requests import ToolLeg, ToolQuestion, ToolQuestions
async def main():
    async with Sessions(ENVIRONMENT) as sessions:
        await sessions.call(hostile("any", {str(tmp_path)!r}), "grandchildren", {{"place": {str(tmp_path / "left")!r}}})
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, timeout=PATIENCE, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "left").exists()
    end = time.monotonic() + PATIENCE
    while left_of(tmp_path) and time.monotonic() < end:
        time.sleep(0.02)
    assert not left_of(tmp_path)


@pytest.mark.parametrize(
    ("server", "sentence"),
    [
        (
            ToolServer("web", ("no-such-program", KEY)),
            "The program `no-such-program` of the server `web` can't be found;",
        ),
        (ToolServer("web", ("./run", KEY), cwd=str(HERE)), "The program `./run` of the server `web` can't be found;"),
        (ToolServer("web", ("sh",), cwd="/no/such"), "The folder that `cwd` of the server `web` names does not exist."),
        (
            ToolServer("web", ("sh",), env=("NONE",)),
            "The server `web` needs the environment variable NONE, which is not",
        ),
        (
            ToolServer("web", url="http://127.0.0.1:9/${env:NONE}"),
            "needs the environment variable NONE, which is not set.",
        ),
        (ToolServer("web", url="http://127.0.0.1:9/?key=${env:SECRET}"), "can't be reached at http://127.0.0.1:9: "),
    ],
)
async def test_what_can_not_be_started_or_reached(server: ToolServer, sentence: str) -> None:
    async with Sessions(ENVIRONMENT) as sessions:
        with pytest.raises(ToolFailure) as failure:
            await sessions.tools(server)
    assert sentence in str(failure.value)
    assert KEY not in str(failure.value)


# Servers by the package


async def test_a_server_by_the_package(tmp_path: Path) -> None:
    put: list[str] = []

    async def asks(question: ToolQuestion, seconds: float) -> Mapping[str, Any]:
        assert seconds == PATIENCE
        put.append(question.message)
        return {"action": "accept", "content": {"answer": "mine"}}

    server = program("honest.py")
    async with Sessions(ENVIRONMENT) as sessions:
        await check_honest(sessions, server)
        asked = await sessions.call(server, "greet", {})
        assert isinstance(asked, ToolQuestions)
        (question,) = asked.questions
        assert question.message == "What is your name?"
        assert question.schema is not None
        assert question.schema["properties"] == {"name": {"title": "Name", "type": "string"}}
        leg = ToolLeg({question.key: {"action": "accept", "content": {"name": "Ann"}}}, asked.state)
        assert text_of(await sessions.call(server, "greet", {}, leg)) == "Hello, Ann"
        with pytest.raises(StaleStateFailure):
            await sessions.call(server, "greet", {}, replace(leg, state="of another"))
        before = await sessions.tools(server)
        assert text_of(await sessions.call(server, "more", {})) == "done"
        while await sessions.tools(server) == before:  # It says so when it will.
            await asyncio.sleep(0.01)
        assert "new" in [tool["name"] for tool in await sessions.tools(server)]
        older = hostile("any", tmp_path)
        assert text_of(await sessions.call(older, "asks", {}, asks=asks)) == "refused,refused,given"
        assert put == ["Key?"]


def text_of(result: ServerResult | ToolQuestions) -> str:
    assert isinstance(result, ServerResult)
    return result.text


async def check_honest(sessions: Sessions, server: ToolServer) -> None:
    listed, again = await asyncio.gather(sessions.tools(server), sessions.tools(server))
    assert listed == again
    tools = {tool["name"]: tool for tool in listed}
    assert [*tools] == ["price", "echo", "greet", "more"]
    assert tools["price"]["description"] == "The price of an article."
    assert tools["price"]["inputSchema"]["required"] == ["article"]
    assert "outputSchema" in tools["price"]
    price, text = await asyncio.gather(
        sessions.call(server, "price", {"article": "a", "count": 2}),
        sessions.call(server, "echo", {"text": "ä\ud800" * 1_000}),
    )
    assert price.structured == {"price": 5.0, "currency": "EUR"}
    assert text.text == "ä?" * 1_000
    assert (await sessions.call(server, "price", {"article": "none"})).is_error
    assert (await sessions.call(server, "none", {})).is_error


async def test_a_server_by_the_package_over_http(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (tmp_path / "log").open("wb") as log:
        serving = subprocess.Popen([sys.executable, str(HERE / "honest.py"), str(port)], stdout=log, stderr=log)
    try:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        async with Sessions(ENVIRONMENT) as sessions:
            await check_honest(sessions, ToolServer("web", url=f"http://127.0.0.1:{port}/mcp", timeout=PATIENCE))
    finally:
        serving.kill()
        serving.wait()


@contextmanager
def http_server(how: str) -> Iterator[str]:
    """A server that greets over HTTP and answers a call as ``how`` says; its address."""
    large = b'{"jsonrpc": "2.0", "id": 1, "result": {"a": "' + b"a" * 20_000_000 + b'"}}'
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            match request["method"], how:
                case _, "unauthorized":
                    self.answer(401, b"", {"WWW-Authenticate": "Bearer"})
                case _, "elsewhere":
                    self.answer(307, b"", {"Location": "http://elsewhere.example/mcp?key=1"})
                case _, "broken":
                    self.answer(503, b"\x1b[31mout of order")
                case "initialize", _:
                    info = {"name": "h", "version": "1"}
                    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
                    self.json(request, result, {"Mcp-Session-Id": "s"})
                case "notifications/cancelled", "silent":
                    over.wait()
                case "tools/call", "silent":
                    over.wait()
                case "tools/call", "large":
                    self.answer(200, large, {"Content-Type": "application/json"})
                case "tools/call", "packed":
                    self.answer(200, b"x", {"Content-Type": "application/json", "Content-Encoding": "gzip"})
                case "tools/call", "deep":
                    body = b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [], "a": ' % request["id"]
                    self.answer(200, body + b"[" * 150 + b"]" * 150 + b"}}", {"Content-Type": "application/json"})
                case "tools/call", "chatty":
                    told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
                    self.answer(
                        200, f"data: {json.dumps(told)}\n\n".encode() * 1_500, {"Content-Type": "text/event-stream"}
                    )
                case "tools/call", "page":
                    self.answer(200, b"<html>\x1b[31m", {"Content-Type": "text/html"})
                case "tools/call", "well":
                    self.json(request, {"content": [{"type": "text", "text": "well"}]})
                case _ if "id" in request:
                    error = {"code": -32601, "message": "unknown"}
                    self.answer(404, json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode())
                case _:
                    self.answer(202, b"")

        def do_GET(self) -> None:
            self.answer(405, b"")

        def do_DELETE(self) -> None:
            if how == "silent":
                over.wait()
            self.do_GET()

        def json(self, request: dict[str, Any], result: dict[str, Any], headers: Mapping[str, str] = {}) -> None:
            body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
            self.answer(200, body, {"Content-Type": "application/json", **headers})

        def answer(self, status: int, body: bytes, headers: Mapping[str, str] = {}) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        over.set()
        server.shutdown()


OVER_HTTP = {
    "unauthorized": "requires you to sign in (OAuth), which is not supported so far.",
    "elsewhere": "redirects to http://elsewhere.example, which is another address; if you trust it, use that address.",
    "broken": "refused with HTTP status 503: Server returned an error response.",
    "large": "sent more than 16 MB in one answer.",
    "packed": "sent a compressed answer, which it was asked not to.",
    "deep": "sent a message of more than 100 levels.",
    "chatty": "sent more than 1,000 messages that answer nothing during one call.",
    "page": "refused: Unexpected content type: text/html.",
}


@pytest.mark.parametrize("how", OVER_HTTP)
async def test_a_server_that_goes_too_far_over_http(how: str) -> None:
    with http_server(how) as url:
        async with Sessions(ENVIRONMENT) as sessions:
            with pytest.raises(ToolFailure) as failure:
                await sessions.call(ToolServer("web", url=url, timeout=PATIENCE), "t", {})
    assert str(failure.value) == f"The server `web` {OVER_HTTP[how]}"


def test_the_status_of_a_stream_is_not_that_of_an_answer() -> None:
    server = HttpServer("http://x/mcp", proxy=None, seconds=1.0, end=lambda _: None)
    for method, code, status in (("GET", 405, None), ("POST", 503, 503), ("GET", 200, 503), ("POST", 200, None)):
        server.check(httpx2.Response(code, request=httpx2.Request(method, "http://x/mcp")))
        assert server.status == status, (method, code)


@pytest.mark.slow
async def test_a_server_over_http_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("merrow_runtime.outside.sessions._SENDING_SECONDS", 1.0)
    with http_server("silent") as url:
        async with Sessions(ENVIRONMENT) as sessions:
            server = ToolServer("web", url=url, timeout=5)
            with pytest.raises(ToolFailure, match="did not answer within 5 seconds"):
                await sessions.call(server, "t", {})
            # That the call is cancelled is not taken either, and what follows waits behind it.
            with pytest.raises(ToolFailure, match="did not take a message within 5 seconds"):
                await sessions.call(server, "t", {})


async def test_an_older_server_over_http() -> None:
    with http_server("well") as url:
        async with Sessions(ENVIRONMENT) as sessions:
            assert (await sessions.call(ToolServer("web", url=url, timeout=PATIENCE), "t", {})).text == "well"


KEEPS = """
import json, sys
with open(sys.argv[1], "a") as file:
    for line in sys.stdin:
        file.write(line)
        file.flush()
        request = json.loads(line)
        told = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
        results = {"initialize": told, "tools/list": {"tools": json.loads(sys.argv[2])}}
        if request["method"] in results:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": results[request["method"]]}), flush=True)
        elif "id" in request:
            error = {"code": -32601, "message": "no such method"}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
"""


async def test_nothing_is_sent_that_was_not_set(tmp_path: Path) -> None:
    """Strict servers refuse a field that is null."""
    server = ToolServer("web", (sys.executable, "-c", KEEPS, str(tmp_path / "sent"), "[]"), timeout=PATIENCE)
    async with Sessions(os.environ) as sessions:
        assert await sessions.tools(server) == []
    sent = (tmp_path / "sent").read_text()
    assert '"method":"notifications/initialized"' in sent
    assert "null" not in sent


async def test_a_tool_is_described_as_its_server_writes_it(tmp_path: Path) -> None:
    """By the protocol's names, and without what the server does not say: pins are made of it."""
    tool = {
        "name": "t",
        "description": "Does it.",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "default": None}}},
        "annotations": {"readOnlyHint": True, "title": "T"},
    }
    words = (sys.executable, "-c", KEEPS, str(tmp_path / "sent"), json.dumps([tool]))
    async with Sessions(os.environ) as sessions:
        assert await sessions.tools(ToolServer("web", words, timeout=PATIENCE)) == [tool]
