"""Finding, reading and writing files."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_server.errors import InputError
from merrow_server.files import SourceText, Target, decode, discover, read, write


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(*names: str, text: str = "flowchart TD\n") -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(*paths: str) -> list[str]:
    return [target.name + (f"#{target.block}" if target.block else "") for target in discover(paths).targets]


def test_a_folder_means_diagrams_and_markdown_sorted() -> None:
    make("b.mmd", "a.mermaid", "sub/c.MD", "sub/d.markdown", "sub/e.txt", "a/z.mmd")
    assert found(".") == ["a/z.mmd", "a.mermaid", "b.mmd", "sub/c.MD", "sub/d.markdown"]


def test_a_file_named_outright_is_taken_whatever_its_name_and_each_once() -> None:
    make("x.txt", "sub/y.mmd")
    assert found("x.txt", "sub", "sub/y.mmd", "./x.txt") == ["x.txt", "sub/y.mmd"]


def test_a_block_of_a_markdown_file() -> None:
    make("x.md", "y.mmd", "odd#2")
    assert found("x.md#2", "odd#2") == ["x.md#2", "odd#2"]
    assert discover(["x.md#0"]).problems == [
        "x.md#0 names no block: write the number of the block after the #, from 1 on."
    ]
    assert "not a Markdown file" in discover(["y.mmd#1"]).problems[0]


@pytest.mark.parametrize("skipped", [".git", "node_modules", ".venv"])
def test_some_folders_are_never_entered(skipped: str) -> None:
    make("x.mmd", f"{skipped}/y.mmd")
    assert found(".") == ["x.mmd"]


@pytest.mark.parametrize("name", ["venv", "env", "tools/py312"])
def test_a_virtual_environment_is_skipped_whatever_its_name(name: str) -> None:
    make("x.mmd", f"{name}/pyvenv.cfg", f"{name}/lib/site-packages/package/README.md", f"{name}s/y.mmd")
    assert found(".") == sorted(["x.mmd", f"{name}s/y.mmd"], key=lambda path: path.split("/"))


def test_a_virtual_environment_that_is_asked_for_is_entered() -> None:
    make("venv/pyvenv.cfg", "venv/y.mmd")
    assert found("venv") == ["venv/y.mmd"]


def test_gitignore_is_honoured_the_deepest_speaks_last() -> None:
    make("keep.mmd", "build/x.mmd", "sub/a.mmd", "sub/b.mmd", "sub/deep/a.mmd")
    Path(".gitignore").write_text("build/\na.mmd\n")
    Path("sub/deep/.gitignore").write_text("!a.mmd\n")
    assert found(".") == ["keep.mmd", "sub/b.mmd", "sub/deep/a.mmd"]


def test_gitignore_above_a_folder_counts_inside_one_repository() -> None:
    make("repo/.git/HEAD", "repo/sub/a.mmd", "repo/sub/b.mmd")
    Path(".gitignore").write_text("b.mmd\n")
    Path("repo/.gitignore").write_text("/sub/a.mmd\n")
    assert found("repo/sub") == ["repo/sub/b.mmd"]


def test_an_ignored_folder_that_is_asked_for_is_entered() -> None:
    make(".git/HEAD", "build/x.mmd")
    Path(".gitignore").write_text("build/\n")
    assert found("build") == ["build/x.mmd"]
    assert discover(["."]).problems[0].startswith("There is no workflow in .")


def test_what_is_ignored_is_checked_when_named() -> None:
    make("x.mmd")
    Path(".gitignore").write_text("*.mmd\n")
    assert found("x.mmd") == ["x.mmd"]


def test_a_link_to_a_folder_is_not_followed() -> None:
    make("sub/x.mmd")
    Path("sub/loop").symlink_to(Path("sub").absolute())
    assert found(".") == ["sub/x.mmd"]


def test_a_folder_that_cannot_be_listed_is_one_sentence_and_the_others_are_walked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make("a/x.mmd", "b/y.mmd", "c/z.mmd")
    listed: list[str] = []

    def scandir(folder: str) -> object:
        listed.append(folder)
        assert len(listed) < 9
        if folder == "b":
            raise PermissionError(13, "Permission denied", folder)
        return scan(folder)

    scan = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    result = discover(["."])
    assert [target.name for target in result.targets] == ["a/x.mmd", "c/z.mmd"]
    assert listed == [".", "a", "b", "c"]
    assert len(result.problems) == 1
    assert result.problems[0].startswith("b can't be listed: ")


def test_a_deep_tree_is_walked() -> None:
    deep = Path("/".join(["d"] * 300))
    deep.mkdir(parents=True)
    (deep / "x.mmd").write_text("")
    assert len(found(".")) == 1


def test_a_missing_file_is_one_sentence_with_a_suggestion() -> None:
    make("workflow.mmd", "other.mmd")
    missing = discover(["workflw.mmd", "other.mmd"])
    assert missing.problems == ["There is no file or folder named workflw.mmd. Did you mean workflow.mmd?"]
    assert [target.name for target in missing.targets] == ["other.mmd"]


def test_a_path_that_makes_no_sense_is_one_sentence() -> None:
    assert len(discover(["a\0b"]).problems) == 1
    assert len(discover(["a" * 5000]).problems) == 1


def target(name: str) -> Target:
    return Target(name, Path(name))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"flow\0chart", "x.mmd is a binary file: there is a NUL byte at offset 4."),
        (b"\0flowchart", "x.mmd is a binary file: there is a NUL byte at offset 0."),
        (b"a\nb\xff\n", "x.mmd is not UTF-8: line 2 has a byte that doesn't belong there; save it as UTF-8."),
        ("flowchart".encode("utf-16"), "x.mmd is UTF-16, not UTF-8; save it as UTF-8."),
    ],
)
def test_bytes_that_are_no_text_are_one_sentence(data: bytes, sentence: str) -> None:
    Path("x.mmd").write_bytes(data)
    with pytest.raises(InputError) as error:
        read(target("x.mmd"))
    assert str(error.value) == sentence


def test_a_device_and_a_pipe_are_refused_without_opening() -> None:
    os.mkfifo("pipe.mmd")
    for name in ("/dev/zero", "pipe.mmd"):
        with pytest.raises(InputError, match="not a regular file"):
            read(target(name))


def test_a_broken_link_is_one_sentence() -> None:
    Path("x.mmd").symlink_to("gone")
    assert found(".") == ["x.mmd"]
    with pytest.raises(InputError, match="a link to a file that is gone"):
        read(target("x.mmd"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_one_sentence() -> None:
    make("x.mmd")
    Path("x.mmd").chmod(0)
    with pytest.raises(InputError, match=r"x\.mmd can't be read: permission denied\."):
        read(target("x.mmd"))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.booleans())
def test_writing_what_was_read_changes_no_byte(text: str, bom: bool) -> None:
    data = (b"\xef\xbb\xbf" if bom else b"") + text.removeprefix("\ufeff").encode()
    Path("x.mmd").write_bytes(data)
    write(Path("x.mmd"), read(target("x.mmd")))
    assert Path("x.mmd").read_bytes() == data


@given(st.binary(max_size=60))
def test_any_bytes_are_text_or_one_sentence(data: bytes) -> None:
    try:
        decoded = decode(data, "x")
    except InputError as problem:
        sentence = str(problem)
        assert "\n" not in sentence
    else:
        assert decoded.text.encode() in data


def test_writing_keeps_the_mode_and_a_link() -> None:
    make("real.mmd")
    Path("real.mmd").chmod(0o640)
    Path("link.mmd").symlink_to("real.mmd")
    write(Path("link.mmd"), SourceText("new\r\n"))
    assert Path("link.mmd").is_symlink()
    assert Path("real.mmd").read_bytes() == b"new\r\n"
    assert stat.S_IMODE(Path("real.mmd").stat().st_mode) == 0o640
    assert sorted(path.name for path in Path().iterdir()) == ["link.mmd", "real.mmd"]
