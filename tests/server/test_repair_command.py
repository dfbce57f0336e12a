"""``merrow repair``: a difference, JSON, files written, Markdown, standard input, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.optimizer.test_repair import PLAN
from tests.server.program import merrow

from merrow_server.cli import main

DEFECT = PLAN.replace("|analysis|", "|analyse|")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def repair(*arguments: str) -> int:
    return main(["repair", "--no-config", *arguments])


def test_a_difference_is_shown_and_nothing_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.mmd").write_text(DEFECT)
    assert repair("a.mmd") == 0
    out, err = capsys.readouterr()
    assert "-    PLAN -->|analyse| PY" in out
    assert "+    PLAN -->|analysis| PY" in out
    assert "(MW201)" in err
    assert "There is nothing to repair" not in err
    assert Path("a.mmd").read_text() == DEFECT


def test_apply_writes_and_keeps_line_endings() -> None:
    Path("a.mmd").write_bytes(DEFECT.replace("\n", "\r\n").encode())
    assert repair("--apply", "a.mmd") == 0
    assert Path("a.mmd").read_bytes().decode() == PLAN.replace("\n", "\r\n")
    assert repair("a.mmd") == 0


def test_json_has_edits_and_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.mmd").write_text(DEFECT)
    assert repair("--time", "0", "--format", "json", "a.mmd") == 1
    (nothing,) = json.loads(capsys.readouterr().out)
    assert (nothing["valid"], nothing["edits"], nothing["left"][0]["code"]) == (False, [], "MW201")
    assert repair("--format", "json", "a.mmd") == 0
    (done,) = json.loads(capsys.readouterr().out)
    assert (done["valid"], done["smallest"], done["left"]) == (True, True, [])
    assert [one["codes"] for one in done["repairs"]] == [["MW201"]]
    assert done["edits"][0]["range"]["start"] == {"line": 7, "character": 0}


def test_markdown_is_repaired_block_by_block() -> None:
    def fenced(text: str) -> str:
        return "> ```mermaid\n" + "".join(f"> {line}\n" for line in text.splitlines()) + "> ```\n\n"

    Path("a.md").write_text("# One\n\n" + fenced(DEFECT) + fenced(PLAN))
    assert repair("--apply", "a.md") == 0
    assert Path("a.md").read_text() == "# One\n\n" + fenced(PLAN) + fenced(PLAN)


def test_standard_input_is_repaired_onto_standard_output() -> None:
    given = ("repair", "--no-config", "--apply", "-")
    done = merrow(*given, stdin="\ufeff" + DEFECT)
    assert (done.code, done.out) == (0, "\ufeff" + PLAN)
    assert "Made 1 change" in done.err
    told = merrow(*given, "--format", "json", stdin=DEFECT)
    assert (told.code, told.out) == (0, PLAN)
    assert json.loads(told.err)[0]["repairs"][0]["codes"] == ["MW201"]


def test_what_is_left_is_shown_and_one_file_that_can_not_be_read_hides_no_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a.mmd").write_text(DEFECT)
    assert repair("--time", "0", "a.mmd") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "a.mmd: 1 finding left; no repair was found within the limit.\n" in err
    assert "error[MW201]" in err
    Path("b").mkdir()
    Path("b/bad.mmd").write_bytes(b"\0")
    assert repair("--apply", "b", "a.mmd") == 2
    out, err = capsys.readouterr()
    assert err.endswith("merrow: b/bad.mmd is a binary file: there is a NUL byte at offset 0.\n"), err
    assert "has no workflow" not in err
    assert Path("a.mmd").read_text() == PLAN
    before = Path("a.mmd").stat()
    assert repair("--apply", "a.mmd") == 0
    assert "a.mmd: There is nothing to repair." in capsys.readouterr().err
    assert Path("a.mmd").stat() == before


def test_a_file_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert repair("missing.mmd") == 2
    assert "missing.mmd" in capsys.readouterr().err
