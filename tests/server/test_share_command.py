"""A job as one page to pass on: all of it is there, whatever models say is only text, and where it lay is not told."""

from __future__ import annotations

import base64
import re
from html import unescape
from pathlib import Path

import pytest
from tests.runtime.openai_server import OpenAIServer, Reply, serving
from tests.server.program import GOOD, in_process, write

from merrow_runtime.sandbox.browsers import VARIABLE, browser_program

Capture = pytest.CaptureFixture[str]
HOSTILE = "</pre><script>alert(1)</script>\x1b[2J\u202e<img src=x onerror=alert(2)>"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    monkeypatch.setenv(VARIABLE, "/no/browser")
    with serving(lambda _: Reply(HOSTILE)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
        yield server


def shared(capsys: Capture, *job: str) -> str:
    done = in_process(capsys, "share", *job, "-o", "page.html")
    assert done.code == 0, done.err
    assert done.out == ""
    return Path("page.html").read_text("utf-8")


@pytest.mark.usefixtures("server")
def test_a_run_is_shown_whole_and_what_it_says_is_text(capsys: Capture) -> None:
    write("flow.mmd", GOOD)
    assert in_process(capsys, "run", "flow.mmd", "--model", "m", "--input", "PROBLEM=<b>Why & how?</b>").code == 0
    page = shared(capsys, "flow.mmd")
    assert "<h1>flow.mmd</h1>" in page
    assert str(Path.cwd()) not in page
    assert "sk-secret-of-mine" not in page
    assert "&lt;b&gt;Why &amp; how?&lt;/b&gt;" in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "script-src" not in unescape(policy[1])
    assert "default-src 'none'" in unescape(policy[1])
    tags = set(re.findall(r"</?([a-z0-9]+)", page))
    assert not tags & {"script", "img", "b", "iframe", "link"}
    assert not re.search("[\x1b\u202e]", page)
    # The request and the answer of the call are below its step.
    (row,) = re.findall(r"<tr><td>A</td>.*?</tr>", page, re.DOTALL)
    assert row.count("<pre>") >= 2
    assert "Why &amp; how?" in row
    assert "alert(2)" in row
    assert "There is no picture" in page
    printed = in_process(capsys, "show", "flow.mmd", "--format", "html")
    assert (printed.code, printed.out.rstrip()) == (0, page.rstrip())


@pytest.mark.usefixtures("server")
def test_long_texts_are_cut_and_the_rest_is_said_to_be_in_the_journal(capsys: Capture) -> None:
    write("flow.mmd", GOOD)
    Path("long.txt").write_text("x" * 300_000)
    assert in_process(capsys, "run", "flow.mmd", "--model", "m", "--input", "PROBLEM=@long.txt").code == 0
    page = shared(capsys, "flow.mmd")
    assert len(page) < 100_000
    assert re.search(r"and 292,000 more characters, see merrow show", page)


@pytest.mark.usefixtures("server")
def test_all_texts_of_a_page_are_bounded_together(capsys: Capture) -> None:
    write("flow.mmd", GOOD.replace("role: solver", "role: solver, samples: 300"))
    Path("long.txt").write_text("x" * 9_000)
    assert in_process(capsys, "run", "flow.mmd", "--model", "m", "--input", "PROBLEM=@long.txt").code == 0
    page = shared(capsys, "flow.mmd")
    assert page.count("<pre>") > 600
    assert len(page) < 2_000_000


@pytest.mark.slow
@pytest.mark.skipif(browser_program() is None, reason="there is no browser here")
def test_steps_of_called_files_are_not_drawn_in_the_picture(capsys: Capture) -> None:
    write(
        "sub.mmd", GOOD.replace("    A[", "    INNER[").replace("| A", "| INNER").replace("    A -->", "    INNER -->")
    )
    calls = GOOD.replace('"Custom<br/>(role: solver)"]:::CustomOp', '"Call<br/>(workflow: ./sub.mmd)"]')
    write("flow.mmd", calls.replace("|input| A", "|PROBLEM| A"))
    done = in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=What is 2 + 2?")
    assert done.code == 0, done.err
    page = shared(capsys, "flow.mmd")
    assert "INNER" in page
    (picture,) = re.findall(r'<img alt="flow.mmd" src="data:image/svg\+xml;base64,([^"]*)">', page)
    assert "INNER" not in base64.b64decode(picture).decode()


@pytest.mark.slow
@pytest.mark.skipif(browser_program() is None, reason="there is no browser here")
def test_the_picture_has_the_states_of_the_steps(capsys: Capture) -> None:
    write("flow.mmd", GOOD)
    assert in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=What is 2 + 2?").code == 0
    page = shared(capsys, "flow.mmd")
    (picture,) = re.findall(r'<img alt="flow.mmd" src="data:image/svg\+xml;base64,([^"]*)">', page)
    assert base64.b64decode(picture).decode().count("stroke:#2e7d32") >= 3
    assert "img-src data:" in page


def test_what_has_no_page_is_said(capsys: Capture) -> None:
    missing = in_process(capsys, "share", "zzzz", "-o", "page.html")
    assert (missing.code, Path("page.html").exists()) == (2, False)
    write("flow.mmd", GOOD)
    assert in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=2 + 2").code == 0
    assert in_process(capsys, "share", "flow.mmd", "-o", "no/such/page.html").code == 2
    assert in_process(capsys, "show", "flow.mmd", "--node", "A", "--format", "html").code == 2
    assert in_process(capsys, "show", "flow.mmd", "--format", "junit").code == 2
    assert in_process(capsys, "share", "flow.mmd").code == 2
