"""The page of ``merrow view`` in a real browser: it draws, follows the file and a run, and takes all words as words."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.openai_server import Hang, Received, Reply, Step, serving
from tests.server.program import merrow, write
from tests.server.test_people_page import browser
from tests.server.viewing import viewed

from merrow_runtime.sandbox.browsers import browser_program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser_program() is None or sys.platform == "win32", reason="needs a browser"),
]
HOSTILE = "<img src=x onerror=\"top.document.title='taken'\"><script>top.document.title='taken'</script>"
FLOW = f"""\
flowchart TD
    PROBLEM([{'"' + HOSTILE.replace('"', "#quot;") + '"'}]):::Interface
    A@{{ op: Custom, prompt: "say" }}
    B@{{ op: Custom, prompt: "again" }}
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    A -->|input| B
    B --> RETURN
    classDef Interface fill:#eee
"""
BROKEN = FLOW.replace("    B --> RETURN\n", "")
DRAWN = "(document.querySelector('iframe')?.contentDocument ?? new Document())"
NODES = f"[...{DRAWN}.querySelectorAll('.picture:not(.building) [data-node]')]"


def answer(request: Received) -> Step:
    return Hang() if "again" in request.prompt else Reply(HOSTILE)


async def test_a_file_is_drawn_and_followed_and_its_run_lights_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("flow.mmd", BROKEN)
    with serving(answer) as server, viewed("flow.mmd") as shown:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
        async with browser(tmp_path / "profile") as page:
            await page.open(shown.origin + shown.root + shown.path)
            await page.until(f"{NODES}.length === 4")
            await page.until("document.querySelectorAll('button.finding').length > 0")
            assert "MW102" in await page.run("document.querySelector('aside').innerText")
            assert await page.run("document.title") == "flow.mmd"
            assert await page.run(f"{DRAWN}.querySelectorAll('img, [onerror]').length") == 0
            # A finding leads to its node.
            about_b = "[...document.querySelectorAll('button.finding')].find((one) => one.innerText.includes('B'))"
            await page.run(f"{about_b}.click()")
            await page.until(f"{DRAWN}.querySelector('.here') !== null")
            # A save is followed.
            write("flow.mmd", FLOW)
            await page.until("!document.querySelector('aside').innerText.includes('MW102')")
            going = subprocess.Popen(
                [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--model", "m", "--input", "PROBLEM=x"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                await page.until(f"{DRAWN}.querySelectorAll('.state.finished').length === 2")
                await page.until(f"{DRAWN}.querySelectorAll('.state.running').length === 1")
                assert "is under way" in await page.run("document.querySelector('header').innerText")
                run = await page.run("document.querySelector('li.run a').textContent")
                await asyncio.to_thread(merrow, "cancel", run)
                await page.until(f"{DRAWN}.querySelectorAll('.state.running').length === 0")
                await page.until("document.querySelector('li.run .cancelled') !== null")
            finally:
                going.kill()
                going.wait()
            Path("flow.mmd").unlink()
            await page.until("document.querySelector('header')?.innerText.includes('There is no file flow.mmd')")
            assert await page.run("document.title") == "flow.mmd"
            # The page of the run: what it says is text, and no script runs there.
            await page.run("document.querySelector('li.run a').click()")
            await page.until(f"location.pathname.endsWith('/job/{run}') && {DRAWN}.querySelector('table') !== null")
            await page.until(f"{DRAWN}.body?.innerText.includes('cancelled')")
            assert await page.run(f"{DRAWN}.querySelectorAll('script, img[onerror]').length") == 0
            assert "taken" not in await page.run("document.title")
            await page.run("document.querySelector('header a').click()")
            await page.until(f"{DRAWN}.querySelector('td a')?.textContent === '{run}'")
            # No script may lead this frame's page elsewhere; a person's click does.
            place = await page.run(
                f"(() => {{ const [frame, link] = [document.querySelector('iframe'), {DRAWN}.querySelector('td a')]"
                ".map((one) => one.getBoundingClientRect());"
                " return [frame.left + link.left + 4, frame.top + link.top + 4]; })()"
            )
            for kind in ("mousePressed", "mouseReleased"):
                await page.ask(
                    "Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1
                )
            await page.until(f"location.pathname.endsWith('/job/{run}')")


async def test_what_a_reader_has_opened_stays_open_while_a_run_goes_on(tmp_path: Path, monkeypatch: Any) -> None:
    write("flow.mmd", FLOW)
    monkeypatch.setenv("MERROW_BROWSER", "/no/browser")
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        going = subprocess.Popen(
            [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--model", "m", "--input", "PROBLEM=x"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while len(server.requests) < 2:
                await asyncio.sleep(0.05)
            with viewed() as shown:
                found = re.search(r"/job/(\w+)", shown.get("/page").text)
                assert found is not None
                monkeypatch.delenv("MERROW_BROWSER")
                async with browser(tmp_path / "profile") as page:
                    await page.open(f"{shown.origin}{shown.root}/job/{found[1]}")
                    await page.until(f"{DRAWN}.querySelector('td details') != null")
                    await page.until("document.querySelector('.state')?.innerText !== ''")
                    await page.run(f"{DRAWN}.querySelector('td details').open = true")
                    await asyncio.to_thread(merrow, "cancel", found[1])
                    await page.until(f"{DRAWN}.body?.innerText.includes('cancelled')")
                    assert await page.run(f"{DRAWN}.querySelector('td details').open") is True
                    await page.until("document.querySelector('.state')?.innerText === ''")
        finally:
            going.kill()
            going.wait()
