"""Which browser of the machine is found, and how it is started by root."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from merrow_runtime.sandbox.browsers import OPTIONS, VARIABLE, browser_program, without_own_sandbox


@pytest.mark.skipif(os.name != "posix", reason="programs are files that may be executed")
def test_the_first_browser_that_is_there_is_taken_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(VARIABLE, " ")
    assert browser_program() is None
    for name in ("msedge", "google-chrome", "mine"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    assert browser_program() == str(tmp_path / "google-chrome")
    monkeypatch.setenv(VARIABLE, " mine ")
    assert browser_program() == str(tmp_path / "mine")
    # What is named is never replaced by another.
    monkeypatch.setenv(VARIABLE, "nothing")
    assert browser_program() is None


@pytest.mark.parametrize(
    ("platform", "last"), [("linux", "msedge"), ("darwin", "Microsoft Edge"), ("win32", "msedge.exe")]
)
def test_each_system_has_its_own_places(platform: str, last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(shutil, "which", asked.append)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert browser_program() is None
    assert asked[:3] == ["chromium", "chromium-browser", "google-chrome"]
    assert asked[-1].endswith(last)


def test_root_starts_it_without_its_own_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    for user, options in ((0, ["--no-sandbox"]), (1000, [])):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user, raising=False)
        assert without_own_sandbox() == options
    monkeypatch.delattr(os, "geteuid")
    assert without_own_sandbox() == []
    assert "--no-sandbox" not in OPTIONS
