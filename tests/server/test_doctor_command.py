"""`merrow doctor`: each line has its mark, and the exit code and the JSON agree with the marks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.program import GOOD, Outcome, in_process, write

Capture = pytest.CaptureFixture[str]


def lines_of(outcome: Outcome, part: str) -> list[str]:
    after = outcome.out.split(f"{part}\n", 1)[1]
    lines = after.split("\n")
    return lines[: next(number for number, line in enumerate(lines) if not line.startswith("  "))]


def check(capsys: Capture, part: str, *arguments: str) -> str:
    """The first line of the part that is not in order; every other place says the same of it."""
    text = in_process(capsys, "doctor", *arguments)
    data = in_process(capsys, "doctor", *arguments, "--format", "json")
    assert (text.code, data.code) == (1, 1)
    assert data.json[part]["ok"] is False
    marks = {True: "ok", False: "no", None: "-"}
    shown = [f"  {marks[line['ok']]} {line['text']}" for line in data.json[part]["lines"]]
    assert lines_of(text, part) == shown
    return next(line for line in shown if line.startswith("  no "))


def test_an_address_that_is_none_is_not_in_order(capsys: Capture) -> None:
    assert "not an address such as" in check(capsys, "endpoint", "--base-url", "nowhere")


def test_settings_that_cannot_be_read_are_not_in_order(capsys: Capture) -> None:
    write("config/config.toml", "= broken")
    assert "config.toml" in check(capsys, "endpoint")


def test_an_endpoint_that_is_not_reached_is_not_in_order(capsys: Capture) -> None:
    assert "http://127.0.0.1:9" in check(capsys, "endpoint", "--base-url", "http://127.0.0.1:9/v1")


def test_a_journal_that_cannot_be_read_is_not_in_order(capsys: Capture) -> None:
    write("state/runs.sqlite", b"no database at all, " * 100)
    assert "The journal of runs is damaged" in check(capsys, "journal")
    assert "runs.sqlite" in in_process(capsys, "doctor").out


def test_what_is_in_order_is_told_with_where_it_is(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own, journal = tmp_path / "config" / "config.toml", tmp_path / "state" / "runs.sqlite"

    def told(part: str, *arguments: str) -> list[str]:
        found = in_process(capsys, "doctor", *arguments)
        assert (found.code, found.err) == (0, "")
        assert in_process(capsys, "doctor", *arguments, "--format", "json").code == 0
        return lines_of(found, part)

    assert told("journal")[0].startswith(f"  ok {journal}: 0 runs, 0.")
    write("flow.mmd", GOOD)
    for count in ("1 run", "2 runs"):
        assert in_process(capsys, "run", "flow.mmd", "--input", "problem=x", "--base-url", "offline").code == 0
        (line,) = told("journal")
        assert line.startswith(f"  ok {journal}: {count}, 0.")
    none = f"  - your own settings: none ({own} isn't there)"
    offline = "  ok the embedded offline model (merrow:offline): free, and no real model"
    assert told("endpoint") == [
        offline,
        "  - set OPENAI_API_KEY, OPENAI_BASE_URL or --base-url to use a real one",
        none,
    ]
    write(str(own), "")
    assert told("endpoint", "--base-url", "offline")[-1] == f"  - your own settings: {own}"
    shown = in_process(capsys, "doctor", "--format", "json").json
    assert list(shown) == ["installed", "journal", "endpoint", "sandbox"]
    assert (shown["journal"]["path"], shown["endpoint"]["origin"]) == (str(journal), "merrow:offline")
    assert [line["text"].split()[0] for line in shown["installed"]["lines"]] == [
        "merrow",
        "Python",
        "openai",
        "aiohttp",
        "pygls",
        "lark",
    ]
    for key, said in ((None, "none is sent"), ("sk-secret", "OPENAI_API_KEY")):
        if key is not None:
            monkeypatch.setenv("OPENAI_API_KEY", key)
        found = in_process(capsys, "doctor", "--base-url", "http://127.0.0.1:9/v1")
        first, second, third, *_, last = lines_of(found, "endpoint")
        assert (first, second) == ("  ok http://127.0.0.1:9, named by the command line", f"  - key: {said}")
        assert third.startswith("  no ")
        assert last == f"  - your own settings: {own}"
        assert "sk-secret" not in found.out
