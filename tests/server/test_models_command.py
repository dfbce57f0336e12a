"""`merrow models`, and what is offered of model servers on this machine."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import serving
from tests.server.program import GOOD, in_process, write

from merrow_analysis.bounded.toml import read_toml
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models import discovery
from merrow_runtime.models.settings_text import with_endpoint
from merrow_server import choosing_models

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


@contextmanager
def server_of(
    *models: str, body: bytes | None = None, slots: int | None = None, status: int = 200
) -> Iterator[ThreadingHTTPServer]:
    """A server that lists models; ``requests`` has what it was asked: (path, header names and values)."""
    listing = json.dumps({"object": "list", "data": [{"id": model} for model in models]}).encode()
    answers = {"/v1/models": listing if body is None else body}
    if slots is not None:
        answers["/props"] = json.dumps({"total_slots": slots}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append((self.path, dict(self.headers)))
            answer = answers.get(self.path)
            self.send_response(status if answer is not None else 404)
            self.send_header("Content-Length", str(len(answer or b"")))
            self.end_headers()
            self.wfile.write(answer or b"")

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    requests: list[tuple[str, dict[str, str]]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests = requests  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def looks_at(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    monkeypatch.setenv(discovery.PORTS_VARIABLE, ",".join(map(str, ports)))


def test_what_is_found_is_listed_with_the_command_to_use_it(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with server_of("b", "it's") as one, server_of("\x1b[31mred", "x" * 300) as hostile:
        looks_at(monkeypatch, one.server_port, hostile.server_port)
        found = in_process(capsys, "models", "--format", "json").json["endpoints"]
        assert [place["models"] for place in found] == [["b", "it's"], []]
        url = f"http://127.0.0.1:{one.server_port}/v1"
        assert found[0]["command"] == f"merrow models use {url} b"
        assert not any(place["used"] for place in found)
        in_process(capsys, "models")
        assert len(one.requests) == 1  # type: ignore[attr-defined]  # once in a process
        headers = {name.casefold() for name in one.requests[0][1]}  # type: ignore[attr-defined]
        assert "authorization" not in headers


def test_nothing_is_asked_where_that_is_not_wanted(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    with server_of("m") as server:
        looks_at(monkeypatch, server.server_port)
        assert in_process(capsys, "models", "--no-discovery").code == 0
        in_process(capsys, "doctor")  # not on a terminal
        write("flow.mmd", GOOD)
        in_process(capsys, "run", "flow.mmd", "--input", "problem=1")
        monkeypatch.setenv("CI", "true")
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        in_process(capsys, "doctor")
        assert server.requests == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("says", [b"[" * 100_000, b"{}", b"\xff\xfe", b'{"data": 1}', b" " * 2_000_000])
def test_a_server_that_is_no_endpoint_is_not_offered(monkeypatch: pytest.MonkeyPatch, says: bytes) -> None:
    with server_of(body=says) as server:
        looks_at(monkeypatch, server.server_port)
        assert discovery.discover() == ()


def test_a_server_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent, server_of("m") as server:
        looks_at(monkeypatch, silent.getsockname()[1], server.server_port)
        before = time.monotonic()
        assert [found.models for found in discovery.discover()] == [("m",)]
        assert time.monotonic() - before < 20 * discovery.SECONDS


def test_who_asks_for_the_list_waits_for_a_busy_server(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing_models, "PATIENT_SECONDS", PATIENCE)
    with serving() as server:
        server.models, server.tells_after = ("m",), 2 * discovery.SECONDS
        looks_at(monkeypatch, int(server.origin.rpartition(":")[2]))
        assert discovery.discover() == (), "nobody asked"
        (place,) = in_process(capsys, "models", "--format", "json").json["endpoints"]
        assert place["models"] == ["m"]


def test_a_server_that_still_loads_its_model_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    loading = json.dumps({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}).encode()
    broken = json.dumps({"error": {"message": "Out of order", "code": 503}}).encode()
    with server_of(body=loading, status=503) as server, server_of(body=broken, status=503) as other:
        looks_at(monkeypatch, server.server_port, other.server_port)
        (place,) = in_process(capsys, "models", "--format", "json").json["endpoints"]
        assert str(server.server_port) in place["base_url"]
        assert "loading" in place["sentence"]
        assert [("loading" in offer.sentence) for offer in choosing_models.offers()] == [True]


def test_use_writes_what_the_server_has(capsys: Capture, tmp_path: Path) -> None:
    write("config/config.toml", '# mine\nmodel = "old" # why\n\n# money\n[limits]\nmonth_usd = 20\n')
    with server_of("only", slots=2) as server:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        refused = in_process(capsys, "models", "use", url, "other")
        assert refused.code == 2
        assert "use one of: `only`" in refused.err
        assert in_process(capsys, "models", "use", url).code == 0
        (place,) = in_process(capsys, "models", "--no-discovery", "--format", "json").json["endpoints"]
    text = (tmp_path / "config/config.toml").read_text()
    assert (place["used"], place["models"]) == (True, ["only"])
    assert text.startswith('# mine\nmodel = "only" # why\n')
    assert "# money\n[limits]\nmonth_usd = 20\n" in text
    origin = f"http://127.0.0.1:{server.server_port}"
    assert read_toml(text) == {
        "model": "only",
        "base_url": url,
        "concurrency": 2,
        "limits": {"month_usd": 20},
        "prices": {origin: {"*": {"input": 0, "output": 0}}},
    }


def test_use_asks_which_of_several(capsys: Capture, tmp_path: Path) -> None:
    with server_of("a", "b") as server:
        refused = in_process(capsys, "models", "use", f"http://127.0.0.1:{server.server_port}/v1")
    assert refused.code == 2
    assert "a, b" in refused.err
    assert not (tmp_path / "config/config.toml").exists()


def test_doctor_says_that_the_model_of_the_settings_is_not_served(capsys: Capture) -> None:
    with server_of("a", "b") as server:
        write("config/config.toml", f'base_url = "http://127.0.0.1:{server.server_port}/v1"\nmodel = "gone"\n')
        found = in_process(capsys, "doctor")
    assert found.code == 1
    assert "use one of: `a`, `b`" in found.out


def test_a_key_stays_with_the_endpoint_that_it_was_named_for() -> None:
    before = 'base_url = "https://one.example/v1"\napi_key_env = "ONE_KEY"\n'
    after = read_toml(with_endpoint(before, "http://127.0.0.1:1/v1", "m", 4, free=True))
    assert after["api_key_env"] == {"https://one.example": "ONE_KEY"}


@pytest.mark.parametrize("text", ["prices = { }\n", 'model = """\nx"""\n', '"base_url" = "http://a/v1"\n'])
def test_settings_that_cannot_be_changed_line_by_line_are_left_alone(text: str) -> None:
    with pytest.raises(UsageFailure, match="Write into them yourself"):
        with_endpoint(text, "http://127.0.0.1:1/v1", "m", 4, free=True)


def test_a_dry_run_says_which_name_is_not_served(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    write("flow.mmd", GOOD)
    with server_of("only") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        served = in_process(capsys, "run", "flow.mmd", "--dry-run", "--json", "--model", "only").json
        assert served["findings"] == []
        named = in_process(capsys, "run", "flow.mmd", "--dry-run", "--json", "--model", "other").json
        assert "use one of: `only`" in named["findings"][0]
        assert len(server.requests) == 1  # type: ignore[attr-defined]


def test_the_doctor_names_workflows_whose_models_the_endpoint_does_not_have(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = GOOD.replace("role: solver", "role: solver, model: {}")
    write("broken.mmd", "flowchart TD\n  A[")
    for name, model in (("a", "big"), ("b", "other"), ("c", "other")):
        write(f"{name}.mmd", asks.format(model))
    write("unnamed.mmd", GOOD)
    with server_of("big", "small") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        lines = in_process(capsys, "doctor", "--format", "json").json["endpoint"]["lines"]
        bad = [line["text"] for line in lines if line["ok"] is False]
        assert bad == [
            "b.mmd, c.mmd: It has no model `other`; use one of: `big`, `small`.",
            "unnamed.mmd: It has no model `gpt-4o-mini`; use one of: `big`, `small`.",
        ]
        lines = in_process(capsys, "doctor", "a.mmd", "--format", "json").json["endpoint"]["lines"]
        assert not any(line["ok"] is False for line in lines)
    assert in_process(capsys, "doctor", "nowhere.mmd").code == 2


def test_use_says_what_goes_before_the_settings(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with server_of("m") as server:
        used = in_process(capsys, "models", "use", f"http://127.0.0.1:{server.server_port}/v1")
    assert (used.code, "OPENAI_BASE_URL names http://127.0.0.1:9" in used.err) == (0, True)
