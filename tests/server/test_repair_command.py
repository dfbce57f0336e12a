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


def test_what_would_be_and_was_changed_is_said_file_by_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.mmd").write_text(DEFECT)
    Path("b.mmd").write_text(PLAN)
    worse = DEFECT.replace("    classDef", "    X -->\n    classDef", 1)
    Path("c.mmd").write_text(worse)
    Path("empty").mkdir()
    barren = (
        "merrow: There is no workflow in empty: it has no *.mmd or *.mermaid file and no Markdown with a mermaid block."
        " Begin one with: merrow new flow.mmd\n"
    )
    said = """\
a.mmd: VERB 1 change (weight 10, the smallest there is).
  Write |analysis| (MW201)
b.mmd: There is nothing to repair.
c.mmd: VERB 3 changes (weight 70, the smallest there is).
  Write |analysis| (MW201)
  Remove the unfinished arrow (MW001)
  Remove X (MW102, MW104)
"""
    assert repair("a.mmd", "b.mmd", "c.mmd", "empty") == 2
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if line[0] in "-+"] == [
        "--- a/a.mmd",
        "+++ b/a.mmd",
        "-    PLAN -->|analyse| PY",
        "+    PLAN -->|analysis| PY",
        "--- a/c.mmd",
        "+++ b/c.mmd",
        "-    PLAN -->|analyse| PY",
        "+    PLAN -->|analysis| PY",
        "-    X -->",
    ]
    assert err == said.replace("VERB", "Would make") + barren
    assert repair("--format", "json", "a.mmd", "b.mmd") == 0
    out, err = capsys.readouterr()
    assert err == ""
    place = {"start": {"line": 7, "character": 0}, "end": {"line": 8, "character": 0}}
    nothing = {"valid": True, "smallest": True, "weight": 0, "repairs": [], "edits": [], "left": []}
    assert json.loads(out) == [
        {
            "file": "a.mmd",
            "valid": True,
            "smallest": True,
            "weight": 10,
            "repairs": [{"title": "Write |analysis|", "weight": 10, "codes": ["MW201"]}],
            "edits": [{"range": place, "newText": "    PLAN -->|analysis| PY\n"}],
            "left": [],
        },
        {"file": "b.mmd", **nothing},
    ]
    assert (Path("a.mmd").read_text(), Path("c.mmd").read_text()) == (DEFECT, worse)
    assert repair("--format", "json", "--apply", "a.mmd") == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)[0]["weight"], err, Path("a.mmd").read_text()) == (10, "", PLAN)
    Path("a.mmd").write_text(DEFECT)
    assert repair("--apply", "a.mmd", "b.mmd", "c.mmd") == 0
    assert capsys.readouterr() == ("", said.replace("VERB", "Made"))
    assert (Path("a.mmd").read_text(), Path("c.mmd").read_text()) == (PLAN, PLAN)


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
    assert done.err == "<stdin>: Made 1 change (weight 10, the smallest there is).\n  Write |analysis| (MW201)\n"
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


def test_one_file_with_errors_left_and_folders_with_a_workflow(capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("one/a.mmd", DEFECT), ("two/b.mmd", PLAN)):
        Path(name).parent.mkdir()
        Path(name).write_text(text)
    assert repair("--time", "0", "one", "two") == 1
    assert "There is no workflow" not in capsys.readouterr().err
    assert repair("two") == 0
    assert capsys.readouterr() == ("", "two/b.mmd: There is nothing to repair.\n")


def test_a_file_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert repair("missing.mmd") == 2
    assert capsys.readouterr() == ("", "merrow: There is no file or folder named missing.mmd.\n")
    Path("missing.mmd").mkdir()
    Path("notes.md").write_text("# None\n")
    assert repair("missing.mmd", "notes.md", "--format", "json") == 2
    assert json.loads(capsys.readouterr().out) == []
