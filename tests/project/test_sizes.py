"""The two sizes of a test run: what each runs is the same every day, and a run says what it left out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
E2E = ROOT / "vscode-extension" / "test" / "e2e"
SETTING = re.compile(
    r'environ(?:\.get\(|\.pop\(|\[|\.setdefault\()\s*"(MERROW_\w+)"|"(MERROW_\w+)" (?:not )?in os\.environ'
)
SETTINGS = {
    "MERROW_TEST_ALL",
    "MERROW_NOT_RUN",
    "MERROW_REQUIRE_SHARED",
    "MERROW_REQUIRE_MERMAID",
    "MERROW_REQUIRE_AIMOCK",
    "MERROW_REAL_MODEL",
    "MERROW_LITELLM",
    "MERROW_STATE_DIR",
    "MERROW_CONFIG_DIR",
    "MERROW_CONCURRENCY",
    "MERROW_DISCOVERY_PORTS",
    "MERROW_TEST_POSTGRES",
    "MERROW_TEST_SECRET",
}
"""Every variable that the tests read: the size, where to say what did not run, what must be there, and what they set."""
TESTS = """
import pytest

@pytest.mark.thinned(3)
@pytest.mark.parametrize("number", range(7))
def test_many(number): pass

@pytest.mark.thinned(9)
@pytest.mark.parametrize("number", range(2))
def test_few(number): pass

@pytest.mark.thinned(3, "killed")
def test_a_killed_search(): pass

@pytest.mark.thinned(3, "killed")
@pytest.mark.parametrize("number", range(2))
def test_a_killed_run(number): pass

@pytest.mark.slow
def test_slow(): pass

def test_other(): pytest.skip("nothing is here.")

@pytest.mark.shared("")
def test_shared(): pass
"""
DEAR_FILE = """
import pytest

pytestmark = pytest.mark.slow

@pytest.mark.thinned(2)
@pytest.mark.parametrize("number", range(5))
def test_own_mark(number): pass

def test_mark_of_the_file(): pass
"""
QUICK = {
    *(f"test_many[{number}]" for number in (0, 3, 6)),
    "test_few[0]",
    "test_a_killed_search",
    "test_other",
    "test_shared",
    *(f"test_own_mark[{number}]" for number in (0, 2, 4)),
}
DRAWN = """
from hypothesis import given, settings, strategies as st

@settings(max_examples=60)
@given(st.integers(), st.text())
def test_it(number, text):
    print("drawn", repr((number, text)))
"""
LOADED = "IN_A_MODULE = 918_273_645_546\\nWORD = 'a word of the module'\\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path = tmp_path / "repository"
    (tmp_path / "tests").mkdir(parents=True)
    (tmp_path / "tests" / "test_it.py").write_text(TESTS)
    (tmp_path / "tests" / "test_dear.py").write_text(DEAR_FILE)
    for name in ("conftest.py", "not_run.py", "postgres.py", "shared.py", "sizes.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n  shared(path): some\n  thinned(n, subject): some\n  slow: some\npythonpath = .\n"
    )
    return tmp_path


def ran(folder: Path, *arguments: str, plugins: tuple[str, ...] = (), **environment: str) -> str:
    """What pytest prints."""
    ours = ("CI", "MERROW_", "PYTEST_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugins, *arguments]
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=folder, env={**inherited, **environment}
    )
    return done.stdout


def collected(folder: Path, *arguments: str, **environment: str) -> set[str]:
    out = ran(folder, "--collect-only", *arguments, **environment)
    return {line.rpartition("::")[2] for line in out.splitlines() if "::" in line}


def test_make_test_runs_the_same_cases_wherever_it_runs(folder: Path) -> None:
    for environment in ({}, {"CI": "true"}, {"MERROW_SEED": "3"}, {"MERROW_TEST_ALL": "0"}):
        assert collected(folder, **environment) == QUICK


def test_make_test_all_runs_every_case(folder: Path) -> None:
    every = collected(folder, MERROW_TEST_ALL="1")
    assert len(every) == 7 + 2 + 1 + 2 + 1 + 1 + 1 + 5 + 1
    assert every > QUICK


def test_a_test_that_is_named_runs_with_every_case(folder: Path) -> None:
    assert len(collected(folder, "tests/test_it.py::test_many")) == 7
    assert collected(folder, "tests/test_it.py::test_many[5]") == {"test_many[5]"}
    assert collected(folder, "tests/test_it.py::test_slow") == {"test_slow"}


@pytest.mark.parametrize("plugins", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "several"])
def test_a_run_says_what_it_left_out(folder: Path, plugins: tuple[str, ...]) -> None:
    kept = folder / "not-run"
    out = ran(folder, plugins=plugins, MERROW_NOT_RUN=str(kept))
    parts = kept.read_text("utf-8").splitlines()
    assert parts[0] == "2 slow tests and 9 cases that are like others (`make test-all`)"
    assert "1 skipped (nothing is here)" in parts
    assert "1 tests that read ../shared, which is not beside the repository" in parts
    assert f"Did not run: {'; '.join(parts)}." in out.splitlines()
    ran(folder, "tests/test_dear.py", MERROW_NOT_RUN=str(kept))
    assert kept.read_text("utf-8").splitlines() == parts, "a second try has written over it"
    (folder.parent / "shared").mkdir()
    every = ran(folder, plugins=plugins, MERROW_TEST_ALL="1")
    assert "make test-all" not in every
    assert "which is not beside the repository" not in every
    assert "Tests that read texts of ../shared: 1." in every


def test_property_tests_draw_the_same_whatever_else_is_loaded(folder: Path) -> None:
    (folder / "tests" / "test_drawn.py").write_text(DRAWN)
    alone = ran(folder, "-s", "tests/test_drawn.py", PYTHONHASHSEED="1")
    (folder / "loaded.py").write_text(LOADED.replace("\\n", "\n"))
    (folder / "tests" / "test_before.py").write_text("import loaded\ndef test_it(): pass\n")
    beside = ran(folder, "-s", "tests/test_before.py", "tests/test_drawn.py", PYTHONHASHSEED="2", CI="true")
    drawn = [[line for line in out.splitlines() if "drawn" in line] for out in (alone, beside)]
    assert len(drawn[0]) >= 60
    assert [line.lstrip(".") for line in drawn[0]] == [line.lstrip(".") for line in drawn[1]]
    assert not (folder / ".hypothesis").exists()


def suites_in(folder: str) -> set[str]:
    return {str(file.relative_to(E2E)) for file in (E2E / folder).glob("*.test.mjs")}


def suites(*arguments: str, **environment: str) -> set[str]:
    """What the workbench's tests would run, as paths."""
    inherited = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("MERROW_")}
    command = ["node", str(E2E / "run.mjs"), "--list", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**inherited, **environment})
    return set(done.stdout.split())


def test_the_workbench_has_the_two_sizes_too() -> None:
    assert suites() == suites(CI="true") == suites_in("tests")
    assert suites(MERROW_TEST_ALL="1") == suites_in("tests") | suites_in("tests/all")
    assert len(suites("measures", "inputs")) == 2


def test_one_variable_makes_tests_longer() -> None:
    sources = [file.read_text("utf-8") for file in (ROOT / "tests").rglob("*.py") if "node_modules" not in file.parts]
    found = {name for source in sources for match in SETTING.findall(source) for name in match if name}
    assert found - SETTINGS == set()


def test_what_make_test_all_runs_is_listed() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    parts = " ".join(re.findall(r"^(?:FIRST|SECOND)_LINE := (.+)$", makefile, re.MULTILINE)).split()
    assert len(parts) > 6
    documented = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert {part for part in parts if f"`make {part}`" not in documented} == set()
