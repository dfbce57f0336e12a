"""``merrow view``: a file that is followed, and jobs, over real HTTP: nothing without the token, and only text from outside."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Step, serving
from tests.server.program import GOOD, in_process, markdown, merrow, write
from tests.server.viewing import Viewed, viewed

from merrow_runtime.sandbox.browsers import VARIABLE

Capture = pytest.CaptureFixture[str]
HOSTILE = "</script></pre><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202e"
BAD = GOOD.replace("    A --> RETURN\n", "    A --> RETURN\n    A --> V[ScEnsemble]\n")
TWO = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{ op: Custom, prompt: "say" }
    B@{ op: Custom, prompt: "again" }
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    A -->|input| B
    B --> RETURN
    classDef Interface fill:#eee
"""


def answer(request: Received) -> Step:
    """The second step is never answered."""
    return Hang() if "again" in request.prompt else Reply(HOSTILE)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(VARIABLE, "/no/browser")
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
        yield server


def codes(graph: Any) -> set[str]:
    found = [
        *graph["diagnostics"],
        *(one for part in (*graph["nodes"], *graph["edges"]) for one in part["diagnostics"]),
    ]
    return {one["code"] for one in found}


def is_graph(name: str, _: object) -> bool:
    return name == "graph"


# Who gets in


def test_without_the_token_there_is_nothing() -> None:
    write("flow.mmd", GOOD)
    with viewed("flow.mmd") as shown, httpx2.Client(base_url=shown.origin, timeout=PATIENCE) as stranger:
        assert (shown.title, shown.path) == ("flow.mmd", "/file/1")
        assert len(shown.root) > 40
        inside = ("/", "/file/1", "/frame", "/watch/1", "/page", "/follow", "/static/engine.js", "/job/x", "/page/x")
        wrong = shown.root[:-1] + ("a" if shown.root[-1] != "a" else "b")
        for path in (*inside, *(wrong + path for path in inside), f"/open{shown.root}", shown.root[:-1] + "/", "/%ff/"):
            refused = stranger.get(path)
            assert (refused.status_code, refused.headers["connection"]) == (403, "close"), path
            assert "flow" not in refused.text
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example"):
            rebound = stranger.get(shown.root + shown.path, headers={"Host": host})
            assert (rebound.status_code, "flow" in rebound.text) == (400, False)
        for path in ("/file/2", "/watch/2", "/file/x", "/static/picture.py", "/static/..%2fpicture.py", "/nothing"):
            assert shown.get(path).status_code == 404
        assert shown.client.post("/file/1").status_code == 404
        assert (
            "access-control-allow-origin" not in shown.client.get("/file/1", headers={"Origin": "http://evil"}).headers
        )


def test_pages_run_only_their_own_scripts_and_reach_only_the_service() -> None:
    write("flow.mmd", GOOD)
    with viewed("flow.mmd") as shown:
        policies = []
        for path in ("/", "/file/1", "/frame", "/job/x", "/file/1"):
            page = shown.get(path)
            policy = page.headers["content-security-policy"]
            policies.append(policy)
            rules = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
            assert rules["default-src"] == "'none'"
            assert re.fullmatch(r"'nonce-[\w-]{24}'", rules["script-src"])
            assert rules["connect-src"] == "'self'"
            assert (rules["base-uri"], rules["form-action"]) == ("'none'", "'none'")
            assert rules["frame-ancestors"] == ("'self'" if path == "/frame" else "'none'")
            assert "http" not in policy
            assert (page.headers["referrer-policy"], page.headers["cache-control"]) == ("no-referrer", "no-store")
            # Each script is one that the policy names, and none is in the page itself.
            nonce = rules["script-src"][len("'nonce-") : -1]
            for script in re.findall(r"<script[^>]*>", page.text):
                assert f'nonce="{nonce}"' in script
                assert f'src="{shown.root}/static/' in script
        assert len(set(policies)) == len(policies)
        for name, kind in (
            ("engine.js", "text/javascript"),
            ("preview.css", "text/css"),
            ("file.js", "text/javascript"),
        ):
            got = shown.get(f"/static/{name}")
            assert (got.status_code, got.headers["content-type"].partition(";")[0]) == (200, kind)
            assert not re.search(r"(?:src=|import\(|url\()[\"']?https?:", got.text)
        inside = shown.get("/page")
        assert "script-src" not in inside.headers["content-security-policy"]
        assert "frame-ancestors 'self'" in inside.headers["content-security-policy"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="has always a desktop")
def test_a_browser_is_given_a_link_that_opens_once(tmp_path: Path) -> None:
    write("flow.mmd", GOOD)
    opener, opened = tmp_path / "browser", tmp_path / "opened"
    opener.write_text(f'#!/bin/sh\nprintf "%s" "$1" >"{opened}.part" && mv "{opened}.part" "{opened}"\n')
    opener.chmod(0o755)
    shown = Viewed("flow.mmd", env={"BROWSER": f"{opener} %s", "DISPLAY": ":7"})
    try:
        limit = time.monotonic() + PATIENCE
        while not opened.exists() and time.monotonic() < limit:
            time.sleep(0.02)
        link = opened.read_text()
        # Other users see the command lines of programs.
        assert shown.root[1:] not in link
        first = httpx2.get(link, follow_redirects=False)
        assert (first.status_code, first.headers["location"]) == (303, shown.root + shown.path)
        assert httpx2.get(link, follow_redirects=False).status_code == 403
    finally:
        shown.close()
    for options, env in (([], {"DISPLAY": "", "WAYLAND_DISPLAY": ""}), (["--no-open"], {"DISPLAY": ":7"})):
        opened.unlink(missing_ok=True)
        shown = Viewed("flow.mmd", *options, env={"BROWSER": f"{opener} %s", **env})
        try:
            assert shown.get(shown.path).status_code == 200
            assert shown.end(signal.SIGTERM) == 0
            assert not opened.exists()
        finally:
            shown.close()


# A file


def test_a_file_is_shown_with_its_findings_and_followed() -> None:
    write("flow.mmd", BAD)
    with viewed("flow.mmd") as shown:
        stream = shown.stream("/watch/1")
        graph = stream.until(is_graph)
        assert (graph["text"], graph["workflow"]) == (BAD, True)
        assert "MW105" in codes(graph)

        def save(_: int) -> None:
            write("flow.mmd", GOOD)

        graph = stream.until(lambda name, data: is_graph(name, data) and data["text"] == GOOD, save)
        assert "MW105" not in codes(graph)
        assert [name for name, _ in stream.seen if name == "problem"] == []
        # What it asks for beside itself is looked at as well.
        calling = GOOD.replace('["Custom<br/>(role: solver)"]:::CustomOp', "@{ op: Call, workflow: ./part.mmd }")
        write("flow.mmd", calling)
        alone = stream.until(lambda name, data: is_graph(name, data) and data["text"] == calling)

        def beside(count: int) -> None:
            if count == 2:
                write("part.mmd", GOOD)

        assert codes(alone)
        stream.until(lambda name, data: is_graph(name, data) and codes(data) != codes(alone), beside)


def test_a_file_that_can_not_be_shown_says_so_in_a_sentence_until_it_can() -> None:
    write("flow.mmd", GOOD)
    steps = [
        (lambda: Path("flow.mmd").unlink(), "There is no file flow.mmd."),
        (lambda: write("flow.mmd", b"flowchart \xff"), "flow.mmd is not UTF-8"),
        (lambda: write("flow.mmd", b"x" * 11_000_000), "flow.mmd is too large"),
    ]
    with viewed("flow.mmd") as shown:
        stream = shown.stream("/watch/1")
        for change, sentence in steps:
            told = stream.until(
                lambda name, data, wanted=sentence: name == "problem" and data.startswith(wanted),
                lambda count, do=change: do() if count == 1 else None,
            )
            assert told.count("\n") == 0
            write("flow.mmd", GOOD)
            stream.until(is_graph)
        # What can be read but is no flowchart, or is broken, is the drawing's to say.
        write("flow.mmd", "sequenceDiagram\n    A->>B: hi\n")
        assert stream.until(lambda name, data: is_graph(name, data) and data["kind"] == "other")["workflow"] is False
        write("flow.mmd", "flowchart TD\n    A[Write a poem] --> B[Rate it]\n")
        # Running it as it is drawn is an editor's to offer.
        assert stream.until(lambda name, data: is_graph(name, data) and "poem" in data["text"])["asDrawn"] is False
        write("flow.mmd", "flowchart TD\n    A -->\n")
        assert "MW001" in codes(
            stream.until(lambda name, data: is_graph(name, data) and data["text"].endswith("A -->\n"))
        )


@pytest.mark.slow
def test_a_diagram_of_markdown_is_meant_by_its_number() -> None:
    write("guide.md", "# Words\n" + markdown(GOOD, BAD))
    with viewed("guide.md#2") as shown:
        assert shown.path == "/file/1?diagram=2"
        graph = shown.stream("/watch/1?diagram=2").until(is_graph)
        assert (graph["diagram"], graph["diagrams"]) == (2, 2)
        assert "MW105" in codes(graph)
        for given in ("3", "0", "x", "9" * 30):
            name, told = "", None
            stream = shown.stream(f"/watch/1?diagram={given}")
            stream.until(lambda name, _: name in ("graph", "problem"))
            name, told = stream.seen[-1]
            assert (name == "graph") == (given in ("x", "9" * 30)), given
            assert name == "graph" or f"no diagram {given}" in told
    write("empty.md", "# Words\n")
    with viewed("empty.md") as shown:
        assert "has no flowchart" in shown.stream("/watch/1").until(lambda name, _: name == "problem")


@pytest.mark.slow
def test_the_runs_of_a_file_are_listed_and_the_newest_is_drawn(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", TWO)
    assert in_process(capsys, "run", "flow.mmd", "--only", "A", "--set", "A.input=<b>x</b>", "--model", "m").code == 0
    with viewed("flow.mmd") as shown:
        runs = shown.stream("/watch/1").until(lambda name, _: name == "runs")
        (only,) = runs["runs"]
        assert (only["status"], only["run"]) == ("finished", runs["picture"]["run"])
        going = subprocess.Popen(
            [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--model", "m", "--input", "PROBLEM=x"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            stream = shown.stream("/watch/1")

            def is_at_work(name: str, data: Any) -> bool:
                nodes = (data["picture"] or {"nodes": []})["nodes"] if name == "runs" else []
                states = {node["id"]: node["status"] for node in nodes}
                return states.get("A") == "finished" and states.get("B") == "unfinished"

            told = stream.until(is_at_work)
            run = told["picture"]["run"]
            assert (told["picture"]["status"], told["picture"]["text"]) == ("running", TWO)
            assert [one["run"] for one in told["runs"]] == [run, only["run"]]
            told = stream.until(
                lambda name, data: name == "runs" and data["runs"][0]["status"] == "cancelled",
                lambda count: merrow("cancel", run) if count == 2 else None,
            )
            assert told["picture"]["status"] == "cancelled"
        finally:
            going.kill()
            going.wait()
        assert "sk-secret" not in json.dumps(stream.seen)
        assert len(server.requests) >= 2


def test_long_outputs_are_cut_before_they_are_sent(capsys: Capture) -> None:
    write("flow.mmd", GOOD)
    assert in_process(capsys, "run", "flow.mmd", "--base-url", "offline", "--input", f"PROBLEM={'x' * 5_000}").code == 0
    with viewed("flow.mmd") as shown:
        picture = shown.stream("/watch/1").until(lambda name, _: name == "runs")["picture"]
        values = [value for node in picture["nodes"] for value in (node["outputs"] or {}).values()]
        assert values
        assert max(map(len, values)) <= 400


# A job


def test_a_job_is_the_page_that_share_writes(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", GOOD)
    assert in_process(capsys, "run", "flow.mmd", "--model", "m", "--input", "PROBLEM=x").code == 0
    # A process of its own, since this one may have a picture that it drew for another test.
    assert merrow("share", "flow.mmd", "-o", "page.html").code == 0
    run = json.loads(in_process(capsys, "runs", "--format", "json").out)[0]["run"]
    with viewed(run[:6]) as shown:
        assert shown.path == f"/job/{run}"
        page = shown.get(f"/page/{run}")
        assert page.text.strip() == Path("page.html").read_text("utf-8").strip()
        policy = page.headers["content-security-policy"]
        assert "script-src" not in policy
        assert "default-src 'none'" in policy
        assert "alert(1)" in page.text
        assert "<script" not in page.text
        stream = shown.stream(f"/follow/{run}")
        stream.until(lambda name, _: name == "over")
        assert [name for name, _ in stream.seen] == ["page", "over"]
        assert stream.seen[0][1].strip() == page.text.strip()
        assert "sk-secret" not in page.text
        unknown = shown.get("/page/nonesuch")
        assert unknown.status_code == 200
        assert "nonesuch" in unknown.text
        assert "<h1>It can't be shown</h1>" in unknown.text


@pytest.mark.slow
def test_a_run_that_goes_on_is_followed_to_its_end(server: OpenAIServer) -> None:
    write("flow.mmd", TWO)
    going = subprocess.Popen(
        [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--model", "m", "--input", "PROBLEM=x"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        limit = time.monotonic() + PATIENCE
        while len(server.requests) < 2 and time.monotonic() < limit:
            time.sleep(0.02)
        with viewed() as shown:
            assert shown.path == "/"
            listed = shown.get("/page").text
            run = re.search(rf'href="{shown.root}/job/(\w+)"', listed)
            assert run is not None
            assert 'class="running"' in listed
            stream = shown.stream(f"/follow/{run[1]}")
            stream.until(lambda name, _: name == "over", lambda count: merrow("cancel", run[1]) if count == 1 else None)
            pages = [data for name, data in stream.seen if name == "page"]
            assert f"{run[1]}, running" in pages[0]
            assert f"{run[1]}, cancelled" in pages[-1]
            changed = shown.stream("/follow").until(lambda name, data: name == "page" and "cancelled" in data)
            assert "running" not in re.sub("<style>.*?</style>", "", changed, flags=re.DOTALL)
    finally:
        going.kill()
        going.wait()


@pytest.mark.slow
def test_what_has_no_page_is_shown_as_its_data_and_an_evaluation_as_its_report(capsys: Capture) -> None:
    write("flow.mmd", GOOD)
    write("data.jsonl", '{"problem": "x", "answer": "y"}\n')
    common = ("flow.mmd", "--dataset", "data.jsonl", "--base-url", "offline")
    assert in_process(capsys, "evaluate", *common, "--gold", "answer", "--metric", "exact").code == 0
    assert in_process(capsys, "batch", *common, "-o", "out.jsonl").code == 0
    jobs = {one["kind"]: one for one in json.loads(in_process(capsys, "runs", "--kind", "all", "--format", "json").out)}
    evaluation, batch = (next(iter_id(jobs[kind])) for kind in ("evaluation", "batch"))
    with viewed(evaluation) as shown:
        assert shown.title == f"The evaluation {evaluation}"
        assert "<table" in shown.get(f"/page/{evaluation}").text
        assert f"<h1>Batch {batch}: finished</h1>" in shown.get(f"/page/{batch}").text
        assert f"/job/{evaluation}" in shown.get("/page").text
        # A run of an evaluation is a job, too.
        (run,) = [row["run"] for row in in_process(capsys, "show", evaluation, "--format", "json").json["rows"]]
    with viewed(run) as shown:
        assert shown.path == f"/job/{run}"
        assert "<h1>flow.mmd</h1>" in shown.get(f"/page/{run}").text


def iter_id(entry: Any) -> Any:
    return (entry[key] for key in ("id", entry["kind"]) if key in entry)


# What it is given


@pytest.mark.slow
def test_what_can_not_be_shown_is_refused_in_a_sentence() -> None:
    write("flow.mmd", GOOD)
    Path("folder").mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for given, sentence in (
            (("nonesuch",), "There is neither a file nor a job 'nonesuch'"),
            (("flwo.mmd",), "Did you mean flow.mmd?"),
            (("folder",), "folder is a folder"),
            (("flow.mmd#2",), "is not a Markdown file"),
            (("flow.mmd", "--port", port), f"Port {port} can't be used: "),
        ):
            outcome = merrow("view", *given, "--no-open")
            assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
            assert sentence in outcome.err
    program = (
        "import sys; sys.modules['starlette.applications'] = None; from merrow_server.cli import main;"
        " sys.exit(main(['view', 'flow.mmd']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "merrow view needs packages that are not installed; install them with: " in done.stderr


def test_ctrl_c_ends_it_at_once_also_while_pages_listen() -> None:
    write("flow.mmd", GOOD)
    with viewed("flow.mmd") as shown:
        with shown.client.stream("GET", "/watch/1") as told, shown.client.stream("GET", "/follow") as listed:
            assert next(told.iter_lines()) == "event: graph"
            assert next(listed.iter_lines()) == "event: page"
            assert shown.end() == 130
        assert shown.process.stdout is not None
        assert shown.process.stdout.read() == "Stop it with Ctrl-C.\n"
