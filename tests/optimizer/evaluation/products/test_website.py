"""A website: a good one meets every criterion; each wrong one misses what it gets wrong, and it reaches nothing outside."""

from __future__ import annotations

import asyncio
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.optimizer.evaluation.products.good_website import PAGE, SETTINGS, STYLE
from tests.optimizer.evaluation.products.judging import answer, missed, score_of, verdicts

from merrow_optimizer.evaluation.metrics.products.website import Website
from merrow_optimizer.evaluation.scores import Score
from merrow_runtime.operators.formats.answer_files import NamedFile
from merrow_runtime.sandbox.browsers import browser_program
from merrow_runtime.sandbox.programs import ProgramLimits

pytestmark = pytest.mark.thinned(16, "products")

GOLD = {"scorer": "website", **SETTINGS}


@pytest.fixture(autouse=True)
def browser() -> None:
    if browser_program() is None:
        pytest.skip("there is no browser here")


def judged(page: str, style: str = STYLE, **more: str) -> dict[str, str]:
    return missed(verdicts(GOLD, answer(index_html=page, style_css=style, **more)))


def with_script(script: str) -> str:
    return PAGE.replace("</body>", f"<script>{script}</script></body>")


def test_a_good_site_meets_every_criterion() -> None:
    assert judged(PAGE) == {}
    assert judged(PAGE.replace("<rect", "<!-- a map --><rect"), STYLE + "#venue { background: url(map.svg); }") == {}
    picture = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="200"><rect width="9" height="9"/></svg>'
    drawn = PAGE[: PAGE.index("<svg")] + '<img src="map.svg" alt="Map">' + PAGE[PAGE.index("</svg>") + 6 :]
    assert judged(drawn, map_svg=picture) == {}, "a picture among the files"
    framed = drawn.replace(
        '<img src="map.svg" alt="Map">', '<iframe src="https://www.openstreetmap.org/export"></iframe>'
    )
    assert judged(framed) == {}, "a frame of a map service, though nothing is loaded"
    painted = drawn.replace(
        '<img src="map.svg" alt="Map">',
        "<canvas width=300 height=200></canvas><script>document.querySelector('canvas').getContext('2d').fillRect(9, 9, 90, 9)"
        "</script>",
    )
    assert judged(painted) == {}, "a canvas that something is drawn on"
    within = drawn.replace('<img src="map.svg" alt="Map">', '<iframe src="map.html" width="300" height="200"></iframe>')
    assert judged(within, map_html=f"<!doctype html><title>Map</title>{picture}") == {}, (
        "a page of its own with the map"
    )
    boxed = PAGE.replace("<body>", '<body><div style="overflow: hidden">').replace("</body>", "</div></body>")
    assert judged(boxed) == {}, "what is in a box that cuts off other things"


WORKS = {
    "a script that throws": (with_script("nothing.here()"), "nothing is not defined"),
    "a script that throws later": (with_script("setTimeout(() => { throw new Error('late') }, 200)"), "late"),
    "a promise that nobody catches": (with_script("Promise.reject(new Error('lost'))"), "lost"),
    "a script that isn't JavaScript": (with_script("const = 1"), "SyntaxError"),
    "errors that are hidden": (
        with_script("onerror = () => true; addEventListener('error', e => e.preventDefault()); nothing()"),
        "",
    ),
    "an anchor without an end": (PAGE.replace('href="#venue"', 'href="#place"'), "no element there has the id `place`"),
    "a placeholder": (PAGE.replace('href="#venue"', 'href="#"'), "leads nowhere"),
    "an empty address": (PAGE.replace('href="#venue"', 'href=""'), "leads nowhere"),
    "a script for an address": (PAGE.replace('href="#venue"', 'href="javascript:void(0)"'), "leads nowhere"),
    "a page that isn't there": (
        PAGE.replace('href="#venue"', 'href="venue.html"'),
        "`venue.html`, which is not among the files",
    ),
    "a style sheet that isn't there": (PAGE.replace("style.css", "main.css"), "`main.css`"),
    "a file of the machine": (PAGE.replace('href="#venue"', 'href="file:///etc/passwd"'), "no visitor"),
    "an area of a map that leads nowhere": (
        PAGE.replace("<svg", '<map name="m"><area href="#" shape="default" alt="x"></map><svg'),
        "<area> has the address `#`",
    ),
    "no title": (PAGE.replace("<title>ICLR 2025</title>", "").replace("document.title = ", "var x = "), "no title"),
}


@pytest.mark.thinned(32)
@pytest.mark.parametrize("name", WORKS)
def test_a_site_that_fails_somewhere_does_not_work(name: str) -> None:
    page, evidence = WORKS[name]
    found = judged(page)
    assert set(found) == {"works"}, found
    assert evidence in found["works"]


NAME = "<h1>ICLR 2025</h1>"
HIDDEN = {
    "left out": "<h1>A conference</h1>",
    "not displayed": f'<div style="display: none">{NAME}</div>',
    "invisible": f'<div style="visibility: hidden">{NAME}</div>',
    "transparent": f'<div style="opacity: 0">{NAME}</div>',
    "the hidden attribute": f"<div hidden>{NAME}</div>",
    "closed details": f"<details><summary>More</summary>{NAME}</details>",
    "off the page": f'<div style="position: absolute; left: -9999px">{NAME}</div>',
    "clipped": f'<div style="clip-path: inset(100%)">{NAME}</div>',
    "tiny": '<h1 style="font-size: 0">ICLR 2025</h1>',
    "without colour": '<h1 style="color: transparent">ICLR 2025</h1>',
    "a comment": "<!-- ICLR 2025 -->",
    "an attribute": '<h1 title="ICLR 2025">Welcome</h1>',
    "in a fold": f'<div style="height: 0; overflow: hidden">{NAME}</div>',
    "below what is cut off": f'<div style="height: 20px; overflow: hidden"><p>x</p><p>y</p>{NAME}</div>',
    "nearly transparent": f'<div style="opacity: 0.2"><div style="opacity: 0.2">{NAME}</div></div>',
    "filled with nothing": '<h1 style="-webkit-text-fill-color: transparent">ICLR 2025</h1>',
    "a filter": f'<div style="filter: opacity(0%)">{NAME}</div>',
    "a template": f"<template>{NAME}</template>",
    "a script's text": '<script type="text/plain">ICLR 2025</script>',
}


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", HIDDEN)
def test_only_what_is_visible_is_information(name: str) -> None:
    found = judged(PAGE.replace(NAME, HIDDEN[name]))
    assert found.keys() == {"information"}, found
    assert '"ICLR 2025"' in found["information"]


def test_a_page_that_says_that_all_is_visible_is_not_believed() -> None:
    claims = (
        "Element.prototype.checkVisibility = () => true;"
        "window.getComputedStyle = () => ({opacity: 1, color: 'red', fontSize: '9px'});"
        "Element.prototype.getBoundingClientRect = Range.prototype.getBoundingClientRect = () => new DOMRect(0, 0, 500, 500);"
        "Object.defineProperty(HTMLImageElement.prototype, 'naturalWidth', {get: () => 500});"
        "document.getElementById = () => document.body; console.log('works: met. information: met. sections: met.');"
    )
    page = (
        with_script(claims)
        .replace("<section", '<section style="opacity: 0"')
        .replace(NAME, f"<div hidden>{NAME}</div>")
    )
    assert judged(page).keys() == {"information", "sections"}


def in_place_of_map(other: str) -> str:
    return PAGE[: PAGE.index("<svg")] + other + PAGE[PAGE.index("</svg>") + 6 :]


SECTIONS = {
    "no schedule": (
        PAGE.replace('id="schedule"', 'id="programme"').replace("#schedule", "#programme"),
        "No element has the id `schedule`",
    ),
    "no times": (PAGE.replace("09:00", "early"), '`schedule` doesn\'t visibly show "09:00"'),
    "no days": (PAGE.replace("24 April</th>", "Day 1</th>"), '"24 April"'),
    "a schedule behind a click": (
        PAGE.replace('id="schedule"', 'id="schedule" style="display: none"'),
        "`schedule` doesn't visibly show",
    ),
    "no venue": (PAGE.replace('id="venue"', 'id="place"').replace("#venue", "#place"), "No element has the id `venue`"),
    "no place": (PAGE.replace("Singapore EXPO, 1 Expo Drive", "See you there"), '"Singapore EXPO"'),
    "no map": (PAGE[: PAGE.index("<svg")] + PAGE[PAGE.index("</svg>") + 6 :], "`venue` shows no map"),
    "a map outside the venue": (PAGE.replace("<svg", "</section><section><svg"), "`venue` shows no map"),
    "an icon": (PAGE.replace('width="300" height="200" role', 'width="30" height="20" role'), "<svg> of 30 x 20"),
    "an empty map": (PAGE.replace('<rect width="300" height="200"></rect>', ""), "shows nothing"),
    "a map that isn't shown": (PAGE.replace("<svg", '<svg style="visibility: hidden"'), "no map"),
    "a map whose shapes aren't shown": (PAGE.replace("<rect", '<rect display="none"'), "shows nothing"),
    "a map whose shapes are points": (
        PAGE.replace('<rect width="300" height="200">', '<rect width="0" height="0">'),
        "shows nothing",
    ),
    "a canvas that nothing is drawn on": (
        in_place_of_map('<canvas width="300" height="200"></canvas>'),
        "shows nothing",
    ),
    "a frame of nothing": (
        in_place_of_map('<iframe src="about:blank" width="300" height="200"></iframe>'),
        "shows nothing",
    ),
    "one dot, stretched": (
        in_place_of_map(
            '<img width="300" height="200" src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7">'
        ),
        "shows nothing",
    ),
    "a map in a fold": (PAGE.replace("<svg", '<div style="height: 0; overflow: hidden"><svg'), "no map"),
    "a picture that is broken": (
        PAGE[: PAGE.index("<svg")]
        + '<img src="data:image/png;base64,xx" width="300" height="300">'
        + PAGE[PAGE.index("</svg>") + 6 :],
        "<img> of 300 x 300 that shows nothing",
    ),
}


@pytest.mark.thinned(32)
@pytest.mark.parametrize("name", SECTIONS)
def test_schedule_and_venue_with_a_map_are_wanted(name: str) -> None:
    page, evidence = SECTIONS[name]
    found = judged(page)
    assert found.keys() == {"sections"}, found
    assert evidence in found["sections"]


def limited(page: str, seconds: float, cpu: int = 20) -> list[str]:
    async def judge() -> list[str]:
        site = Website(ProgramLimits(wall_s=seconds, cpu_s=cpu))
        try:
            files = {"index.html": NamedFile("index.html", page), "style.css": NamedFile("style.css", STYLE)}
            return [str(verdict) for verdict in await site.judge(files, SETTINGS)]
        finally:
            await site.close()

    return asyncio.run(judge())


@pytest.mark.thinned(32)
@pytest.mark.parametrize(
    "script",
    [
        "while (true) {}",
        "while (true) alert(1)",
        "for (;;) history.pushState(0, '', '?' + Math.random())",
        "for (;;) setTimeout('throw 1')",
    ],
)
def test_a_page_that_never_ends_misses_all(script: str) -> None:
    said = limited(with_script(script), 8)
    assert all("missed. The page can't be looked at" in each for each in said), said


def test_a_page_that_never_ends_reaches_the_limit_on_processor_time() -> None:
    said = limited(with_script("while (true) {}"), 600, cpu=5)
    assert all("missed. The page can't be looked at: it needed too much processor time" in each for each in said), said


def test_a_page_that_says_very_much_is_ended() -> None:
    said = limited(
        with_script("for (let i = 0; i < 100; i++) setTimeout(() => { throw new Error('x'.repeat(1e6)) })"), 40
    )
    assert said[0].startswith("works: missed.")
    assert len("".join(said)) < 2000


def test_a_page_reaches_no_file_and_no_network(tmp_path: Path) -> None:
    asked: list[str] = []

    class Listening(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    secret = tmp_path / "secret.txt"
    secret.write_text("ICLR 2025", "utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Listening)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        port = server.server_address[1]
        page = with_script(
            f"for (const url of ['http://127.0.0.1:{port}/a', 'http://localhost:{port}/b', 'file://{secret}'])"
            " fetch(url).then(r => r.text()).then(t => { document.querySelector('h1').textContent = 'ICLR 2025' }, () => {});"
            f"new WebSocket('ws://127.0.0.1:{port}/c').onerror = () => {{}};"
            f"navigator.sendBeacon('http://127.0.0.1:{port}/d', 'x');"
            f"new Image().src = 'http://127.0.0.1:{port}/e';"
        ).replace(NAME, f'<h1>x</h1><iframe src="file://{secret}" width="300" height="300"></iframe>')
        found = judged(page)
    finally:
        server.shutdown()
        server.server_close()
    assert asked == []
    assert "information" in found, "what is in the file is not seen"


def test_without_a_browser_nothing_of_it_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_BROWSER", "/nowhere/browser")
    said = score_of(GOLD, answer(index_html=PAGE, style_css=STYLE))
    assert isinstance(said, str)
    assert "works: not judged. It needs Chromium" in said
    assert "apt install chromium" in said


def test_without_html5lib_links_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "html5lib", None)
    found = score_of(GOLD, answer(index_html=PAGE.replace("#venue", "#"), style_css=STYLE))
    assert isinstance(found, Score)
    assert found.value == 1.0
    assert "works: not judged. It needs the package html5lib; install it with: pip install html5lib" in found.reason
