"""Pictures: drawn by a real browser, harmless whatever labels contain, and nothing left behind."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.server.program import in_process, markdown, write

pytestmark = pytest.mark.thinned(8, "drawn by a browser")

Capture = pytest.CaptureFixture[str]
EXTENSION = Path(__file__).resolve().parents[2] / "vscode-extension"
FLOW = """flowchart TD
    PROBLEM([A question & more]):::Interface --> A["Custom<br/>(role: solver)"] --> RETURN([Answer]):::Interface
    classDef Interface fill:#e2e2f2
"""


@pytest.fixture(scope="session")
def browser() -> None:
    """A browser."""
    if not any(map(shutil.which, ("chromium", "google-chrome", "microsoft-edge"))):
        pytest.skip("there is no browser here")


def texts(svg: bytes) -> str:
    return " ".join(" ".join(ElementTree.fromstring(svg).itertext()).split())  # noqa: S314


def left_behind() -> list[str]:
    """Processes that have a folder of Merrow's in their command line, and such folders."""
    found = [str(path) for path in Path(tempfile.gettempdir()).glob("merrow-render-*")]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            said = path.read_bytes()
        except OSError:
            continue
        if b"merrow-render-" in said:
            found.append(said.replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


@pytest.mark.usefixtures("browser")
def test_a_workflow_as_svg(capsys: Capture) -> None:
    write("flow.mmd", FLOW)
    outcome = in_process(capsys, "render", "flow.mmd", "-o", "flow.svg")
    assert (outcome.code, outcome.out, outcome.err) == (0, "flow.svg is written.\n", "")
    svg = Path("flow.svg").read_bytes()
    assert "A question & more" in texts(svg)
    assert "(role: solver)" in texts(svg)
    assert b"#ffffff" not in svg[:2000]


BOXES = """flowchart TD
    PROBLEM --> A --> RETURN
    subgraph Outer
        A
        subgraph Inner
            B
        end
    end
    PROBLEM --> B --> RETURN
    style Inner fill:#ffcccc
"""


@pytest.mark.usefixtures("browser")
def test_titles_of_boxes_are_drawn_above_the_edges_that_cross_them(capsys: Capture) -> None:
    write("flow.mmd", BOXES)
    assert in_process(capsys, "render", "flow.mmd", "-o", "flow.svg").code == 0
    order = list(ElementTree.fromstring(Path("flow.svg").read_bytes()).iter())  # noqa: S314
    edges = [place for place, element in enumerate(order) if element.get("data-edge") == "true"]
    titles = {
        "".join(element.itertext()): place
        for place, element in enumerate(order)
        if element.tag.endswith("}text") and "".join(element.itertext()) in ("Outer", "Inner")
    }
    assert set(titles) == {"Outer", "Inner"}
    assert max(edges) < min(titles.values())
    assert "stroke:rgb(255, 204, 204)" in order[titles["Inner"]].get("style", "")
    assert "stroke:rgb(255, 204, 204)" not in order[titles["Outer"]].get("style", "")


@pytest.mark.usefixtures("browser")
def test_a_block_of_markdown_as_png_in_dark_colors(capsys: Capture) -> None:
    write("doc.md", markdown("flowchart TD\n    X --> Y\n", FLOW))
    outcome = in_process(capsys, "render", "doc.md#2", "-o", "doc.png", "--theme", "dark")
    assert outcome.code == 0, outcome.err
    data = Path("doc.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert (width > 200, height > 400) == (True, True)
    one = in_process(capsys, "render", "doc.md#1", "-o", "one.svg", "--theme", "dark")
    assert one.code == 0
    svg = Path("one.svg").read_bytes()
    assert texts(svg).endswith("X Y")
    assert b"background: rgb(31, 31, 31)" in svg


@pytest.mark.usefixtures("browser")
def test_hostile_labels_are_words_and_nothing_is_fetched(capsys: Capture) -> None:
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        stop = threading.Event()

        def listen() -> None:
            while not stop.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                with connection:
                    asked.append(connection.recv(2000))

        listening = threading.Thread(target=listen)
        listening.start()
        url = f"http://127.0.0.1:{port}"
        write(
            "flow.mmd",
            f"""%%{{init: {{"securityLevel": "loose", "themeCSS": "@import url({url}/css); * {{ fill: url({url}/fill) }}"}}}}%%
flowchart TD
    A["<img src='{url}/img' onerror='document.title=1'> one"] --> B["<script>fetch('{url}/script')</script> two"]
    B --> D["</pre><pre id='answer'>e30=</pre></script><script>alert(1)</script> four"]
    click A href "javascript:fetch('{url}/click')" "tip"
    click B call alert()
    style D stroke:#f00
""",
        )
        try:
            outcomes = [in_process(capsys, "render", "flow.mmd", "-o", name) for name in ("flow.svg", "flow.png")]
            write("image.mmd", f'flowchart TD\n    A --> B\n    B@{{ img: "{url}/image.png", label: "three" }}\n')
            image = in_process(capsys, "render", "image.mmd", "-o", "image.svg")
        finally:
            stop.set()
            listening.join()
    assert [(one.code, one.err) for one in outcomes] == [(0, ""), (0, "")]
    assert asked == []
    assert image.err == (
        "merrow: An image in it can't be shown: merrow render loads nothing from files or other addresses.\n"
    )
    svg = Path("flow.svg").read_text("utf-8")
    assert "four" in texts(svg.encode())
    assert not re.search(r"<script|<iframe|<foreignObject|javascript:|\son[a-z]+\s*=", svg, re.IGNORECASE)


@pytest.mark.usefixtures("browser")
def test_what_mermaid_cannot_draw_is_said_in_a_sentence(capsys: Capture) -> None:
    write("flow.mmd", "flowchart TD\n    A[one --> B\n")
    outcome = in_process(capsys, "render", "flow.mmd", "-o", "flow.svg")
    assert outcome.code == 2
    assert outcome.err.startswith("merrow: flow.mmd can't be drawn. Line 2: ")
    assert outcome.err.count("\n") == 1
    assert not Path("flow.svg").exists()


@pytest.mark.usefixtures("browser")
def test_nothing_is_left_behind(capsys: Capture) -> None:
    write("flow.mmd", FLOW)
    assert in_process(capsys, "render", "flow.mmd", "-o", "flow.svg").code == 0
    assert left_behind() == []


@pytest.mark.skipif(os.name != "posix", reason="starts a shell script")
@pytest.mark.usefixtures("browser")
def test_a_browser_that_never_ends_is_ended_with_its_children(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow = tmp_path / "slow"
    slow.write_text('#!/bin/sh\nsh -c "sleep 600; : $*" &\nsleep 600\n')
    slow.chmod(0o755)
    monkeypatch.setenv("MERROW_BROWSER", str(slow))
    write("flow.mmd", FLOW)
    start = time.monotonic()
    outcome = in_process(capsys, "render", "flow.mmd", "-o", "flow.svg", "--timeout", "1")
    assert outcome.code == 2
    assert outcome.err == "merrow: Drawing took longer than 1 seconds and was ended; --timeout allows more.\n"
    assert time.monotonic() - start < 300
    assert left_behind() == []


@pytest.mark.usefixtures("browser")
@pytest.mark.parametrize(
    ("path", "named", "said"),
    [
        (
            "",
            "",
            "Drawing needs Chromium, Chrome or Edge, and none was found; install one, or set MERROW_BROWSER to its",
        ),
        (
            None,
            "/nowhere/browser",
            "MERROW_BROWSER names /nowhere/browser, which is not a program that can be started.",
        ),
    ],
)
def test_without_a_browser_a_sentence_says_so(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, path: str | None, named: str, said: str
) -> None:
    if path is not None:
        monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("MERROW_BROWSER", named)
    write("flow.mmd", FLOW)
    outcome = in_process(capsys, "render", "flow.mmd", "-o", "flow.svg")
    assert outcome.code == 2
    assert said in outcome.err


def test_the_copy_of_mermaid_is_what_the_extension_is_built_with() -> None:
    if shutil.which("node") is None or not (EXTENSION / "node_modules" / "esbuild").is_dir():
        pytest.skip("the packages of the extension are not installed here")
    checked = subprocess.run([sys.executable, "scripts/pack_engine.py", "--check"], cwd=EXTENSION.parent, check=False)
    assert checked.returncode == 0


def test_names_of_pictures_and_other_diagrams(capsys: Capture) -> None:
    write("flow.mmd", FLOW)
    outcome = in_process(capsys, "render", "flow.mmd", "-o", "flow.gif")
    assert outcome.code == 2
    assert "flow.gif ends neither in .svg nor in .png; give the image a name that does." in outcome.err
    write("talk.mmd", "sequenceDiagram\n    A->>B: hi\n")
    outcome = in_process(capsys, "render", "talk.mmd", "-o", "talk.svg")
    assert outcome.code == 2
    assert "talk.mmd is not a flowchart, and merrow render draws only flowcharts." in outcome.err
