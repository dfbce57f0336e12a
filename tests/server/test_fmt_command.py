"""``merrow fmt``: what it writes, and with which code it ends. What the layout is, the tests of the formatter say."""

from pathlib import Path

import pytest
from tests.server.program import GOOD, in_process, markdown, merrow, write

Capture = pytest.CaptureFixture[str]
UNTIDY = GOOD.replace("    A --> RETURN", "  A-->RETURN;   ")


def test_a_file_is_formatted_in_place_and_the_second_time_nothing_happens(capsys: Capture) -> None:
    write("flow.mmd", UNTIDY)
    outcome = in_process(capsys, "fmt", "flow.mmd")
    assert (outcome.code, outcome.out) == (0, "1 file was reformatted.\n")
    assert Path("flow.mmd").read_text() == GOOD
    again = in_process(capsys, "fmt", "flow.mmd")
    assert (again.code, again.out) == (0, "")


def test_check_and_diff_write_nothing_and_end_with_1(capsys: Capture) -> None:
    write("flow.mmd", UNTIDY)
    checked = in_process(capsys, "fmt", "--check", "flow.mmd")
    assert (checked.code, checked.out) == (1, "flow.mmd is not formatted.\n1 file would be reformatted.\n")
    shown = in_process(capsys, "fmt", "--diff", "flow.mmd")
    assert shown.code == 1
    assert "-  A-->RETURN;   \n+    A --> RETURN\n" in shown.out
    assert Path("flow.mmd").read_text() == UNTIDY


def test_standard_input_goes_to_standard_output() -> None:
    assert merrow("fmt", "-", stdin=UNTIDY).out == GOOD
    assert merrow("fmt", "-", "--check", stdin=UNTIDY).code == 1
    assert merrow("fmt", "-", stdin=b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()).out.startswith("\ufeff")


def test_only_the_blocks_of_markdown_change(capsys: Capture) -> None:
    before = "Some  text;   \n\n" + markdown(UNTIDY, GOOD)
    write("doc.md", before)
    assert in_process(capsys, "fmt", ".").code == 0
    assert Path("doc.md").read_text() == before.replace(UNTIDY, GOOD)


def test_settings_of_the_layout(capsys: Capture) -> None:
    write("flow.mmd", UNTIDY)
    in_process(capsys, "fmt", "--indent-width", "2", "--keep-semicolons", "flow.mmd")
    assert "\n  A --> RETURN;\n" in Path("flow.mmd").read_text()


def test_line_endings_and_mode_are_kept(capsys: Capture) -> None:
    path = write("flow.mmd", UNTIDY.replace("\n", "\r\n"))
    path.chmod(0o600)
    in_process(capsys, "fmt", "flow.mmd")
    assert path.read_bytes() == GOOD.replace("\n", "\r\n").encode()
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_used_is_one_sentence_and_the_others_are_formatted(capsys: Capture) -> None:
    write("flow.mmd", UNTIDY)
    write("binary.mmd", b"\0")
    outcome = in_process(capsys, "fmt", "gone.mmd", ".")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 2
    assert Path("flow.mmd").read_text() == GOOD
