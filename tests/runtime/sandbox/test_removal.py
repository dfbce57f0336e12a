# ruff: noqa: PTH104, PTH105, PTH107, PTH114 - what `os` does itself is tested
"""Removing and replacing files where each must keep a name: where they go, and what is told where that can't be."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from merrow_runtime.sandbox.guest.removal import install

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"),
    reason="it moves files with a call of Linux",
)
CHANGED = ("unlink", "remove", "rename", "replace")


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files that are removed in this process go to this folder until the test ends."""
    for name in CHANGED:
        monkeypatch.setattr(os, name, getattr(os, name))
    monkeypatch.setattr(os, "supports_dir_fd", set(os.supports_dir_fd))
    (tmp_path / "away").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    install(str(tmp_path / "away"))
    return tmp_path / "away"


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def made(**contents: str) -> None:
    for name, content in contents.items():
        Path(name).write_text(content)


def test_a_removed_file_keeps_a_name_elsewhere(away: Path) -> None:
    made(a="1", b="2", c="3", d="4")
    folder = os.open(".", os.O_RDONLY)
    os.remove("a")
    os.unlink(b"b", dir_fd=folder)
    Path("c").unlink()
    os.close(folder)
    assert files(Path()) == {"d": "4"}
    assert files(away) == {".removed-1": "1", ".removed-2": "2", ".removed-3": "3"}


def test_a_name_that_is_taken_there_is_passed_over(away: Path) -> None:
    (away / ".removed-1").write_text("0")
    (away / ".removed-2").write_text("0")
    made(a="1")
    os.remove("a")
    assert files(away) == {".removed-1": "0", ".removed-2": "0", ".removed-3": "1"}


def test_a_replaced_file_keeps_a_name_elsewhere(away: Path) -> None:
    made(a="1", b="2", c="3")
    os.rename("a", "b")
    os.replace(Path("b"), b"c")
    assert (files(Path()), files(away)) == ({"c": "1"}, {".removed-1": "2", ".removed-2": "3"})
    folder, other = os.open(".", os.O_RDONLY), os.open(away, os.O_RDONLY)
    os.rename("c", "d", src_dir_fd=folder, dst_dir_fd=other)
    made(e="5")
    os.replace("e", "d", dst_dir_fd=other)
    os.close(folder)
    os.close(other)
    assert (files(Path()), files(away)) == (
        {},
        {".removed-1": "2", ".removed-2": "3", ".removed-3": "1", "d": "5"},
    )


def test_a_file_that_is_moved_to_itself_stays(away: Path) -> None:
    made(a="1")
    os.link("a", "b")
    os.rename("a", "a")
    os.rename("a", "b")
    Path("link").symlink_to("a")
    assert (files(Path()), files(away)) == ({"a": "1", "b": "1", "link": "1"}, {})
    # A link to a file is another file.
    os.rename("link", "b")
    assert (os.path.islink("b"), files(away)) == (True, {".removed-1": "1"})


@pytest.mark.parametrize(
    ("act", "problem", "names"),
    [
        (lambda: os.remove("none"), FileNotFoundError, ("none", None)),
        (lambda: os.rename("none", "a"), FileNotFoundError, ("none", "a")),
        (lambda: os.replace("none", "other"), FileNotFoundError, ("none", "other")),
        (lambda: os.rename("a", "none/b"), FileNotFoundError, ("a", "none/b")),
    ],
)
def test_what_can_not_be_moved_is_told_as_ever(
    away: Path, act: Callable[[], None], problem: type[OSError], names: tuple[str, str | None]
) -> None:
    made(a="1")
    with pytest.raises(problem) as caught:
        act()
    assert (caught.value.filename, caught.value.filename2) == names
    assert str(caught.value).startswith(f"[Errno {caught.value.errno}] No such file or directory: '{names[0]}'")
    assert (files(Path()), files(away)) == ({"a": "1"}, {})


@pytest.mark.usefixtures("away")
def test_a_name_with_a_null_byte_is_no_name() -> None:
    for act in (lambda: os.remove("a\0"), lambda: os.rename("a", "b\0"), lambda: os.rename(b"a\0", "b")):
        with pytest.raises(ValueError, match=r"^embedded null byte$"):
            act()


def test_a_file_of_another_file_system_stays_beside_its_place(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [folder for folder in (Path("/dev/shm"), Path("/var/tmp"), Path.home()) if folder.is_dir()]  # noqa: S108
    others = [folder for folder in known if folder.stat().st_dev != away.stat().st_dev and os.access(folder, os.W_OK)]
    if not others:
        pytest.skip("there is no other file system here")
    other = others[0]
    place = other / f"merrow-removal-{os.getpid()}"
    place.mkdir()
    try:
        monkeypatch.chdir(place)
        made(a="1", b="2", c="3")
        os.remove("a")
        os.rename("b", "c")
        assert files(place) == {".removed-2": "1", ".removed-4": "3", "c": "2"}
        with pytest.raises(OSError, match="cross-device"):
            os.rename("c", away / "c")
        assert files(away) == {}
    finally:
        monkeypatch.undo()
        for path in place.iterdir():
            path.unlink()
        place.rmdir()


def test_what_takes_a_descriptor_of_a_folder_still_says_so(away: Path) -> None:
    assert away.is_dir()
    for name in CHANGED:
        assert (getattr(os, name) in os.supports_dir_fd) is True
        assert getattr(os, name).__module__.endswith("removal")
