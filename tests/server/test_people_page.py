"""The page of a served workflow on which people answer, in a real browser."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.patience import PATIENCE
from tests.runtime.composites.loops import custom, flow
from tests.runtime.engine.fakes import FakeEndpoint
from tests.runtime.people.asking import person
from tests.server.test_served_people import TOKEN, served

from merrow_runtime.sandbox.browsers import browser_program, without_own_sandbox

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>\x1b[2J\u202e"
FORM = flow(
    custom("A"),
    person("ASK", "returns: Trip"),
    person("OK", "returns: Bool"),
    custom("B"),
    "PROBLEM --> A --> ASK & OK --> B --> RETURN",
    front="{types: {Mood: [good, bad], Trip: {city: Text, nights: Number, mood: Mood, moods: 'list[Mood]', fast: Bool}}}",
)


class Page:
    """A page in a browser that is asked by the protocol of its developer tools, through pipes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer, self._number, self._session = reader, writer, 0, ""

    async def ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._writer.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads((await asyncio.wait_for(self._reader.readuntil(b"\0"), PATIENCE))[:-1])
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    async def open(self, url: str) -> None:
        target = (await self.ask("Target.createTarget", url=url))["targetId"]
        self._session = (await self.ask("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]

    async def run(self, script: str) -> Any:
        ran = await self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in ran, ran
        return ran["result"].get("value")

    async def until(self, script: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not await self.run(script):
                await asyncio.sleep(0.05)

    async def picture(self, file: Path) -> None:
        shot = await self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Page]:
    program = browser_program()
    assert program is not None
    (read, theirs_out), (theirs_in, write) = os.pipe(), os.pipe()
    loop = asyncio.get_running_loop()

    def place() -> None:
        """The browser reads from its descriptor 3 and writes to 4."""
        kept = [os.dup(end) for end in (theirs_in, theirs_out)]
        os.dup2(kept[0], 3)
        os.dup2(kept[1], 4)

    options = ("--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--remote-debugging-pipe")
    process = await asyncio.create_subprocess_exec(
        program,
        *options,
        *without_own_sandbox(),
        f"--user-data-dir={folder}",
        "about:blank",
        pass_fds=(3, 4),
        preexec_fn=place,
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    reader = asyncio.StreamReader(limit=100_000_000)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb"))
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(write, "wb"))
    try:
        yield Page(reader, asyncio.StreamWriter(transport, protocol, None, loop))
    finally:
        transport.close()  # which ends it
        await asyncio.wait_for(process.wait(), PATIENCE)


async def test_the_page_has_nothing_to_hide_and_lets_nothing_in() -> None:
    async with served() as service, httpx2.AsyncClient(base_url=service.url) as stranger:
        run = (await service.begin())["run"]
        page = await stranger.get("/people")
        assert (page.status_code, run in page.text, TOKEN in page.text, "ASK?" in page.text) == (
            200,
            False,
            False,
            False,
        )
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        again = await stranger.get("/people")
        assert again.headers["content-security-policy"] != policy
        assert (await stranger.get("/people", headers={"Host": "evil.example"})).status_code == 400
        for method, path in (("GET", "/runs"), ("POST", "/people"), ("GET", "/people/"), ("GET", f"/runs/{run}")):
            assert (await stranger.request(method, path)).status_code == 401
        listed = (await service.client.get("/runs")).json()
        assert [(found["run"], [ask["node"] for ask in found["asks"]]) for found in listed["runs"]] == [(run, ["ASK"])]
        await service.answer(run, node="ASK", value="yes")
        assert (await service.client.get("/runs")).json() == {"runs": []}


@pytest.mark.slow
@pytest.mark.skipif(browser_program() is None or sys.platform == "win32", reason="needs a browser")
async def test_people_answer_on_the_page(tmp_path: Path) -> None:
    endpoint = FakeEndpoint(lambda request: HOSTILE if "A" in request.messages[0].content else "b")
    async with served(FORM, endpoint) as service, browser(tmp_path / "profile") as page:
        run = (await service.begin())["run"]
        await page.open(f"{service.url}/people#{TOKEN}")
        await page.until("document.querySelectorAll('form').length === 2")
        assert await page.run("location.href") == f"{service.url}/people"
        assert await page.run("document.title") == "(2) Questions"
        assert await page.run("document.querySelectorAll('img').length") == 0
        shown = await page.run("document.querySelector('pre').textContent")
        assert shown.startswith("<img src=x onerror=")
        assert not {"\x1b", "\u202e"} & set(shown)
        await page.picture(tmp_path / "page.png")
        form = "[...document.forms].find((form) => form.querySelector('.ask').textContent === 'ASK?')"
        await page.run(f"{form}.requestSubmit()")
        await page.until(f"{form}.querySelector('.problem').textContent.includes('`city` is missing')")
        await page.run(
            f"(() => {{ const f = {form}; f.city.value = 'Bern'; f.nights.value = '2'; f.mood[1].checked = true;"
            " f.moods[0].checked = f.moods[1].checked = true; f.fast[1].checked = true; f.requestSubmit(); })()"
        )
        await page.until("document.querySelectorAll('form').length === 1")
        asks = {ask.visit.node: ask for ask in service.store.asks(run)}
        assert asks["ASK"].answer == {
            "city": "Bern",
            "nights": 2,
            "mood": "bad",
            "moods": ["good", "bad"],
            "fast": False,
        }
        # Somebody else is faster: the form goes.
        await service.answer(run, node="OK", value="no")
        await page.until("document.querySelectorAll('form').length === 0")
        assert (await service.until(run, "finished"))["outputs"] == {"RETURN": "b"}
        # A stranger with the page, but without the token, sees and does nothing.
        await service.begin()
        await page.run("sessionStorage.clear(), location.reload()")
        await page.until(
            "(document.getElementById('state') || {textContent: ''}).textContent.includes('Send the token')"
        )
        assert await page.run("document.querySelectorAll('form').length") == 0
