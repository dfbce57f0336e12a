"""``merrow check``: what it prints, what it writes, and with which code it ends."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.server.program import GOOD, ONE_VOICE, UNLABELLED, Outcome, in_process, markdown, merrow, write


def codes(outcome: Outcome) -> list[str]:
    return [found["code"] for found in outcome.json]


def errors(outcome: Outcome) -> list[str]:
    return [found["code"] for found in outcome.json if found["severity"] == "error"]


@pytest.mark.parametrize("line", [7, 8, 9, 10, 96, 97, 98, 99, 100])
def test_the_lines_of_a_finding_stand_below_each_other_whatever_its_number(line: int) -> None:
    lines = ONE_VOICE.splitlines()
    [own] = [number for number, one in enumerate(lines) if one.lstrip().startswith("VOTE[")]
    lines[own:own] = ["    %% more"] * (line - 1 - own)
    write("bad.mmd", "\n".join(lines) + "\n")
    told = merrow("check", "bad.mmd").out.splitlines()
    at = next(number for number, one in enumerate(told) if f"bad.mmd:{line}:" in one and "MW105" in one)
    block = told[at : told.index("", at)]
    bars = {one.index("|") for one in block if re.match(r" *\d* \|", one)}
    assert len(bars) == 1, block


def test_a_good_file_ends_with_0_and_no_error() -> None:
    write("good.mmd", GOOD)
    outcome = merrow("check", "--format", "json", "good.mmd")
    assert outcome.code == 0
    assert errors(outcome) == []


def test_a_bad_file_ends_with_1_and_shows_place_reason_and_line() -> None:
    write("bad.mmd", ONE_VOICE)
    outcome = merrow("check", "bad.mmd")
    assert outcome.code == 1
    assert re.search(r"^bad\.mmd:\d+:\d+: error\[MW105\] .*VOTE", outcome.out, re.M)
    assert re.search(r"^ *\d+ \| .*VOTE.*\n *\| +\^+$", outcome.out, re.M)
    assert re.search(r"^Found 1 error.* in 1 file", outcome.out, re.M)
    assert outcome.err == ""


def test_the_json_is_as_documented() -> None:
    write("bad.mmd", ONE_VOICE)
    [found] = [each for each in merrow("check", "--format", "json", "bad.mmd").json if each["code"] == "MW105"]
    assert set(found) == {"file", "code", "name", "severity", "message", "range", "related", "fixes"}
    assert (found["file"], found["name"], found["severity"]) == ("bad.mmd", "ensemble-needs-two-sources", "error")
    assert set(found["range"]) == {"start", "end"}
    assert set(found["range"]["start"]) == {"line", "character"}
    for related in found["related"]:
        assert set(related) == {"file", "range", "message"}
    for fix in found["fixes"]:
        assert set(fix) == {"title", "applicability", "edits"}


def test_positions_are_utf16_in_json_and_characters_in_text() -> None:
    write("emoji.mmd", UNLABELLED.replace("    PROBLEM --> CODE", '    PROBLEM(["😀"]) --> CODE'))
    found = merrow("check", "--format", "json", "emoji.mmd").json
    [edge] = [each for each in found if each["code"] == "MW202" and each["range"]["start"]["line"] == 4]
    column = edge["range"]["start"]["character"]
    assert f"emoji.mmd:5:{column}:" in merrow("check", "emoji.mmd").out


def test_a_safe_fix_is_written_and_reported() -> None:
    write("flow.mmd", UNLABELLED)
    assert "can be repaired with --fix" in merrow("check", "flow.mmd").out
    outcome = merrow("check", "--fix", "flow.mmd")
    assert outcome.code == 0
    assert re.search(r"^Repaired \d+ findings? in 1 file: ", outcome.out, re.M)
    assert "PROBLEM -->|problem| CODE" in Path("flow.mmd").read_text()
    again = Path("flow.mmd").read_bytes()
    assert "Repaired" not in merrow("check", "--fix", "flow.mmd").out
    assert Path("flow.mmd").read_bytes() == again


def test_each_finding_that_is_repaired_is_counted_once() -> None:
    """Parameters that say the same are taken out each for itself."""
    said = ", ".join(["prompt: a"] * 5)
    write("flow.mmd", f"""\
flowchart TD
    PROBLEM --> N["Custom<br/>({said})"]:::CustomOp --> RETURN
    classDef CustomOp fill:#ddd
""")  # fmt: skip
    assert "6 can be repaired with --fix" in merrow("check", "flow.mmd").out
    assert "Repaired 6 findings in 1 file: 2 x MW106, 4 x MW307." in merrow("check", "--fix", "flow.mmd").out
    assert 'N["Custom<br/>(prompt: a)"]' in Path("flow.mmd").read_text()


def test_a_fix_keeps_mode_line_endings_byte_order_mark_and_other_lines() -> None:
    before = b"\xef\xbb\xbf" + UNLABELLED.replace("\n", "\r\n").encode()
    path = write("flow.mmd", before)
    path.chmod(0o640)
    merrow("check", "--fix", "flow.mmd")
    after = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert after != before
    changed = [pair for pair in zip(before.split(b"\r\n"), after.split(b"\r\n"), strict=True) if pair[0] != pair[1]]
    assert [old for old, _ in changed] == [b"    PROBLEM --> CODE"]
    assert after.startswith(b"\xef\xbb\xbf")


def test_a_diff_is_printed_and_nothing_written() -> None:
    write("flow.mmd", UNLABELLED)
    outcome = merrow("check", "--diff", "flow.mmd")
    assert outcome.code == 0
    assert "--- a/flow.mmd\n+++ b/flow.mmd\n@@" in outcome.out
    assert "-    PROBLEM --> CODE\n" in outcome.out
    assert "Would repair" in outcome.err
    assert Path("flow.mmd").read_text() == UNLABELLED
    whole = Path("flow.mmd").resolve().as_posix()
    assert f"--- a{whole}\n+++ b{whole}\n@@" in merrow("check", "--diff", whole).out


def test_a_fix_inside_markdown_changes_the_block_alone() -> None:
    text = markdown(GOOD, UNLABELLED).replace("\n    PROBLEM --> CODE", "\n    PROBLEM --> CODE")
    write("doc.md", "> quote\n\n" + text + "- item\n\n  ~~~mermaid\n" + _indented(UNLABELLED) + "  ~~~\n")
    merrow("check", "--fix", "doc.md")
    after = Path("doc.md").read_text()
    assert after.count("-->|problem| CODE") == 2
    assert "      PROBLEM -->|problem| CODE" in after
    assert merrow("check", "--fix", "doc.md#2").code == 0


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def test_standard_input_is_checked_under_its_name_and_repaired_to_standard_output() -> None:
    outcome = merrow("check", "-", "--stdin-filename", "x/flow.mmd", "--format", "json", stdin=ONE_VOICE)
    assert outcome.code == 1
    assert {found["file"] for found in outcome.json} == {"x/flow.mmd"}
    repaired = merrow("check", "--fix", "-", stdin=UNLABELLED)
    assert "PROBLEM -->|problem| CODE" in repaired.out
    assert repaired.out.startswith("flowchart TD\n")
    assert "Repaired" in repaired.err
    in_markdown = merrow("check", "-", "--stdin-filename", "a.md", "--format", "json", stdin=markdown(GOOD, ONE_VOICE))
    assert errors(in_markdown) == ["MW105"]


@pytest.mark.parametrize("command", ["check", "fmt"])
def test_standard_input_that_is_too_large_is_refused(command: str) -> None:
    refused = merrow(command, "-", stdin=b"%" * 10_000_001)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert refused.err.endswith(" is too large: at most 10 MB are read.\n")


def test_one_block_of_a_markdown_file() -> None:
    write("doc.md", markdown(GOOD, ONE_VOICE))
    assert errors(merrow("check", "--format", "json", "doc.md#1")) == []
    [found] = [each for each in merrow("check", "--format", "json", "doc.md#2").json if each["severity"] == "error"]
    assert found["range"]["start"]["line"] > 12
    outcome = merrow("check", "doc.md#3")
    assert (outcome.code, outcome.err) == (2, "merrow: doc.md has 2 mermaid blocks, so there is no block 3.\n")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.mmd", None, "There is no file or folder named missing.mmd."),
        ("binary.mmd", b"\x7fELF\0\0", "binary.mmd is a binary file: there is a NUL byte at offset 4."),
        ("latin.mmd", "flowchart TD\nä".encode("latin-1"), "latin.mmd is not UTF-8: line 2 has a byte"),
        ("empty/readme.txt", b"hello", "There is no workflow in empty: "),
        ("plain/readme.md", b"# hello\n", "There is no workflow in plain: "),
    ],
)
def test_bad_input_is_one_sentence_and_the_others_are_still_checked(
    name: str, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        write(name, content)
    write("bad.mmd", ONE_VOICE)
    outcome = merrow("check", name.split("/")[0], "bad.mmd")
    assert outcome.code == 2
    assert outcome.err.startswith(f"merrow: {sentence}")
    assert outcome.err.count("\n") == 1
    assert "MW105" in outcome.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_unreadable_and_read_only_files_are_one_sentence() -> None:
    write("closed.mmd", GOOD).chmod(0)
    assert merrow("check", "closed.mmd").err == "merrow: closed.mmd can't be read: permission denied.\n"
    write("fixed.mmd", UNLABELLED).chmod(0o444)
    assert merrow("check", "--fix", "fixed.mmd").err == "merrow: fixed.mmd can't be written: it is read-only.\n"


def test_an_operator_library_is_checked_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """The first thing that is wrong in it, at its place; none in one that is as it should be."""
    good = "operators:\n  Look:\n    inputs: {problem: Problem}\n    outputs: {answer: Answer}\n    prompt: Look.\n"
    write("good.yaml", good)
    write("bad.yaml", good.replace("{answer: Answer}", "{answer: Answr}"))
    write("worse.yml", "operators:\n  - [")
    write("empty.yaml", "")
    assert in_process(capsys, "check", "good.yaml", "empty.yaml").code == 0
    done = in_process(capsys, "check", "good.yaml", "bad.yaml", "worse.yml", "--format", "json")
    assert done.code == 1
    assert [(one["file"], one["code"], one["range"]["start"]) for one in done.json] == [
        ("bad.yaml", "MW502", {"line": 3, "character": 14}),
        ("worse.yml", "MW502", {"line": 1, "character": 4}),
    ]
    assert in_process(capsys, "check", "bad.yaml", "--ignore", "MW502").code == 0


def test_folders_are_checked_recursively_without_what_git_ignores() -> None:
    write("a/bad.mmd", ONE_VOICE)
    write("b/c/bad.md", markdown(ONE_VOICE))
    write("ignored/bad.mmd", ONE_VOICE)
    write(".gitignore", "ignored/\n")
    found = merrow("check", "--format", "json").json
    assert sorted({each["file"] for each in found}) == ["a/bad.mmd", "b/c/bad.md"]


@pytest.mark.parametrize("selector", ["MW105", "mw105", "MW1", "ensemble-needs-two-sources"])
def test_rules_are_selected_and_ignored(selector: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("bad.mmd", ONE_VOICE)
    assert codes(in_process(capsys, "check", "--format", "json", "--select", selector, "bad.mmd")) == ["MW105"]
    ignored = in_process(capsys, "check", "--format", "json", "--ignore", f"MW4,{selector}", "bad.mmd")
    assert "MW105" not in codes(ignored)
    assert ignored.code == 0


def test_an_unknown_rule_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    write("good.mmd", GOOD)
    outcome = in_process(capsys, "check", "--select", "ensemble-needs-two-source", "good.mmd")
    assert outcome.code == 2
    assert outcome.err == (
        "merrow: ensemble-needs-two-source selects no rule. Did you mean ensemble-needs-two-sources?\n"
    )


def test_settings_come_from_the_nearest_file_the_one_named_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    write("bad.mmd", ONE_VOICE)
    write("sub/bad.mmd", ONE_VOICE)
    write("merrow.toml", 'ignore = ["MW105"]\n')
    write("sub/pyproject.toml", '[tool.merrow.severity]\nMW105 = "warning"\n')
    write("strict.toml", "")

    def severities(*options: str) -> list[tuple[str, str]]:
        found = in_process(capsys, "check", "--format", "json", *options).json
        return [(each["file"], each["severity"]) for each in found if each["code"] == "MW105"]

    assert severities() == [("sub/bad.mmd", "warning")]
    assert severities("--no-config") == [("bad.mmd", "error"), ("sub/bad.mmd", "error")]
    assert severities("--config", "strict.toml") == [("bad.mmd", "error"), ("sub/bad.mmd", "error")]
    missing = in_process(capsys, "check", "--config", "gone.toml")
    assert missing.code == 2
    assert missing.err.startswith("merrow: There is no file gone.toml.")


def test_per_path_settings_speak_from_the_settings_folder(capsys: pytest.CaptureFixture[str]) -> None:
    write("drafts/bad.mmd", ONE_VOICE)
    write("merrow.toml", '[per-path]\n"drafts/**" = ["MW105"]\n')
    assert "MW105" not in codes(in_process(capsys, "check", "--format", "json", "drafts/bad.mmd"))


def test_a_mistake_in_the_settings_is_shown_at_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    write("good.mmd", GOOD)
    write("merrow.toml", '\nselekt = ["MW1"]\n')
    outcome = in_process(capsys, "check", "good.mmd")
    assert "merrow.toml:2:1: warning[MW520]" in outcome.out
    assert outcome.code == 0
    found = next(
        one for one in in_process(capsys, "check", "--format", "json", "good.mmd").json if one["code"] == "MW520"
    )
    assert found["range"] == {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 16}}


def test_prompt_files_are_read_inside_the_workspace_alone(capsys: pytest.CaptureFixture[str]) -> None:
    front = "---\nworkflow:\n  prompts: ../prompts.yaml\n---\n"
    write("prompts.yaml", "solver: Solve it.\n")
    write("flows/good.mmd", front + GOOD)
    outcome = in_process(capsys, "check", "--format", "json", "flows/good.mmd")
    assert "lies outside the workspace" in outcome.out
    write("merrow.toml", "")
    assert errors(in_process(capsys, "check", "--format", "json", "flows/good.mmd")) == []


def test_a_link_does_not_lead_out_of_the_workspace(capsys: pytest.CaptureFixture[str]) -> None:
    write("prompts.yaml", "solver: Solve it.\n")
    write("flows/good.mmd", "---\nworkflow:\n  prompts: ./link.yaml\n---\n" + GOOD)
    Path("flows/link.yaml").symlink_to("../prompts.yaml")
    assert "lies outside the workspace" in in_process(capsys, "check", "--format", "json", "flows").out


def test_github_annotations_escape_what_they_must(capsys: pytest.CaptureFixture[str]) -> None:
    write("a,b/bad.mmd", ONE_VOICE)
    outcome = in_process(capsys, "check", "--format", "github", "--select", "MW105", "a,b/bad.mmd")
    assert re.fullmatch(
        r"::error file=a%2Cb/bad\.mmd,line=\d+,col=\d+,endLine=\d+,endColumn=\d+,"
        r"title=MW105 ensemble-needs-two-sources::.*VOTE.*\n",
        outcome.out,
    )


def test_colours_only_where_they_are_wanted() -> None:
    write("bad.mmd", ONE_VOICE)
    assert "\x1b" not in merrow("check", "bad.mmd").out
    assert "\x1b[31m" in merrow("check", "bad.mmd", env={"FORCE_COLOR": "1"}).out


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--format", "xml"],
        ["check", "#2"],
        ["check", "\ud800.mmd"],
    ],
)
def test_wrong_use_is_one_sentence_with_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    outcome = in_process(capsys, *arguments)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert outcome.out == ""


def test_no_traceback_reaches_a_user_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("good.mmd", GOOD)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("out of cheese")

    monkeypatch.setattr("merrow_server.checking.Checker.analyse", fail)
    outcome = in_process(capsys, "check", "good.mmd")
    assert outcome.code == 2
    assert outcome.err == "merrow: Merrow failed: RuntimeError: out of cheese. Run it with --debug to see where.\n"
    with pytest.raises(RuntimeError):
        in_process(capsys, "check", "good.mmd", "--debug")


@pytest.mark.slow
def test_the_readers_loss_of_interest_is_silent() -> None:
    for number in range(200):
        write(f"many/{number}.mmd", ONE_VOICE)
    program = subprocess.Popen(
        [sys.executable, "-m", "merrow_server", "check", "many"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stderr is not None
    program.stdout.read(1)
    program.stdout.close()
    assert program.stderr.read() == b""
    program.wait(PATIENCE)


WORDS = [
    "graph",
    "A",
    "-->",
    "|x|",
    "[",
    "]",
    ":::CustomOp",
    "@{op:Test}",
    "class",
    "subgraph",
    "end",
    "{",
    "}",
    "\u2028",
    "😀",
    ">",
    "```mermaid",
    "```",
    "---",
    "workflow:",
    "%%",
]
PIECES = st.sampled_from([*WORDS, "flowchart TD\n", "%% merrow: ignore[MW1]\n", "\n", "\r\n", "\t", " ", '"'])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES, max_size=25).map("".join), st.sampled_from(["x.mmd", "x.md"]))
def test_any_text_is_checked_repaired_and_shown_in_every_format(
    capsys: pytest.CaptureFixture[str], text: str, name: str
) -> None:
    write(name, text)
    for output in ("text", "json", "sarif", "github"):
        outcome = in_process(capsys, "check", "--no-config", "--format", output, name)
        assert outcome.code in (0, 1)
        assert outcome.err == ""
    found = in_process(capsys, "check", "--format", "json", name).json
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)
    for each in found:
        for end in each["range"].values():
            length = len(lines[end["line"]].rstrip("\r\n").encode("utf-16-le")) // 2 if end["line"] < len(lines) else 0
            assert 0 <= end["character"] <= length
    assert in_process(capsys, "check", "--fix", "--unsafe-fixes", name).code in (0, 1)
    assert in_process(capsys, "fmt", name).code == 0
