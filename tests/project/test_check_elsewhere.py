"""The hooks for pre-commit and the GitHub Action check workflows where other people keep them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.program import GOOD, ONE_VOICE, UNLABELLED, markdown, merrow, write

REPOSITORY = Path(__file__).resolve().parents[2]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8"))}
ACTION: Any = yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
GIVEN = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def hook(name: str, *files: str) -> int:
    """Run a hook as pre-commit does: its entry with the staged files that it asks for; the exit code."""
    wanted = [file for file in files if re.search(HOOKS[name]["files"], file)]
    program, *words = shlex.split(HOOKS[name]["entry"])
    assert program == "merrow"
    return merrow(*words, *wanted).code


def step(name: str, folder: Path, **contexts: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action as a runner does, with ``contexts`` such as ``inputs.paths``."""
    values = {f"inputs.{key}": value["default"] for key, value in ACTION["inputs"].items()}
    values |= {key.replace("__", "."): value for key, value in contexts.items()}
    filled = {
        key: GIVEN.sub(lambda found: values[found[1]], value) for key, value in STEPS[name].get("env", {}).items()
    }
    surroundings = {
        "RUNNER_TEMP": str(folder),
        # What Merrow needs is taken from this environment, and nothing from the network.
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_INDEX": "1",
        # Each module that is used is compiled when it is.
        "PIP_NO_COMPILE": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEPS[name]["run"]],
        env={**os.environ, **surroundings, **filled},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def install(folder: Path, **contexts: str) -> subprocess.CompletedProcess[str]:
    contexts = {"github__action_path": str(REPOSITORY), "github__server_url": "-", "github__action_repository": "-"} | (
        contexts
    )
    contexts["steps__python__outputs__python-path"] = sys.executable
    return step("Install Merrow", folder, **contexts)


@pytest.mark.slow
def test_the_hooks_find_mistakes_and_format_in_all_files_that_merrow_reads() -> None:
    for name in ("good.mmd", "good.mermaid"):
        write(name, GOOD)
    write("good.md", markdown(GOOD))
    write("bad.markdown", markdown(ONE_VOICE))
    write("notes.txt", "no workflow")
    assert hook("merrow-check", "good.mmd", "good.mermaid", "good.md", "notes.txt") == 0
    assert hook("merrow-check", "good.mmd", "bad.markdown") == 1
    write("ragged.mmd", GOOD.replace("    A -->", "  A   -->"))
    hook("merrow-fmt", "ragged.mmd", "good.mmd", "notes.txt")
    assert Path("ragged.mmd").read_text() == GOOD
    assert Path("notes.txt").read_text() == "no workflow"


def test_a_hook_runs_once_for_a_markdown_file_without_workflows() -> None:
    write("README.md", "# Nothing drawn\n")
    assert hook("merrow-check", "README.md") == 0
    assert hook("merrow-fmt", "README.md") == 0


@pytest.mark.slow
def test_the_action_installs_its_own_version_and_annotates(tmp_path: Path) -> None:
    runner = tmp_path / "runner temp"
    runner.mkdir()
    done = install(runner)
    assert done.returncode == 0, done.stderr
    write("good.mmd", GOOD)
    write("drafts of today/one voice.mmd", ONE_VOICE)
    write("plain.mmd", UNLABELLED)

    found = step("Check workflows", runner)
    assert found.returncode == 1
    assert re.search(r"^::error file=drafts of today/one voice\.mmd,line=4,", found.stdout, re.MULTILINE)
    assert "plain.mmd" in found.stdout

    chosen = step("Check workflows", runner, inputs__paths="good.mmd\ndrafts of today\n", inputs__args="--ignore MW105")
    assert (chosen.returncode, chosen.stdout.count("::error")) == (0, 0)

    hostile = step("Check workflows", runner, inputs__paths="$(touch made)\n--fix\n*.mmd")
    assert hostile.returncode == 2
    assert not Path("made").exists()


def test_the_action_installs_a_version_from_its_repository(tmp_path: Path) -> None:
    """The step's last word is what pip is asked for: never a bare name, which anybody could register."""
    programs = tmp_path / "bin"
    write(str(programs / "python"), '#!/bin/sh\nprintf "%s\\n" "$@"\n').chmod(0o755)
    contexts = {"github__server_url": "https://example.org", "github__action_repository": "some/merrow"}
    text = STEPS["Install Merrow"]["run"].replace('"$RUNNER_TEMP/merrow/bin:', f'"{programs}:')
    STEPS["asked"] = {**STEPS["Install Merrow"], "run": text}
    for version, wanted in (("v1.2", "merrow @ git+https://example.org/some/merrow@v1.2"), ("", str(REPOSITORY))):
        python = {"steps__python__outputs__python-path": str(programs / "python")}
        done = step(
            "asked", tmp_path, inputs__version=version, github__action_path=str(REPOSITORY), **contexts, **python
        )
        assert done.stdout.splitlines()[-1] == wanted
