"""Thinned tests: each case has its turn, and what `make nightly` sets is complete and documented."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTING = re.compile(r'environ(?:\.get\(|\[|\.setdefault\()\s*"(MERROW_\w+)"|"(MERROW_\w+)" (?:not )?in os\.environ')
OTHERS = {"MERROW_STATE_DIR", "MERROW_CONFIG_DIR", "MERROW_DISCOVERY_PORTS", "MERROW_CONCURRENCY", "MERROW_TEST_SECRET"}
"""What the tests set themselves."""
NOT_LONG = {
    "MERROW_SEED",
    "MERROW_PUSH",
    "MERROW_REQUIRE_SHARED",
    "MERROW_REQUIRE_MERMAID",
    "MERROW_REQUIRE_AIMOCK",
    "MERROW_REAL_MODEL",
    "MERROW_LITELLM",
}
"""What makes no test longer."""
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

def test_other(): pass
"""


DEAR_FILE = """
import pytest

pytestmark = pytest.mark.thinned(1, "dear")

@pytest.mark.thinned(2)
@pytest.mark.parametrize("number", range(5))
def test_own_mark(number): pass

@pytest.mark.parametrize("number", range(3))
def test_mark_of_the_file(number): pass

def test_another(): pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(TESTS)
    (tmp_path / "tests" / "test_dear.py").write_text(DEAR_FILE)
    for name in ("conftest.py", "examples.py", "shared.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = thinned(n, subject): some\npythonpath = .\n")
    return tmp_path


def collected(folder: Path, *arguments: str, **environment: str) -> set[str]:
    ours = ("CI", "MERROW_", "PYTEST_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=folder, env={**inherited, **environment}
    )
    return {line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line}


@pytest.mark.thinned(1, "slow")
def test_each_case_has_its_turn(folder: Path) -> None:
    days = [collected(folder, MERROW_SEED=str(day)) for day in (20_000, 20_001, 20_002)]
    for day in days:
        assert 2 <= sum(name.startswith("test_many") for name in day) <= 3
        assert sum(name.startswith("test_few") for name in day) == 1
        assert sum("killed" in name for name in day) == 1
        assert "test_other" in day
    assert set.union(*days) == collected(folder, MERROW_ALL_CASES="1")
    assert len(set.union(*days)) == 22


@pytest.mark.thinned(1, "slow")
def test_in_make_test_each_case_has_its_turn_in_eight_times_as_many_days(folder: Path) -> None:
    days = [collected(folder, MERROW_SEED=str(day), MERROW_PUSH="1") for day in range(20_000, 20_024)]
    for kind in ("test_many", "killed", "own_mark"):
        assert all(sum(kind in name for name in day) == 1 for day in days)
    assert all(sum("mark_of_the_file" in name or "another" in name for name in day) == 1 for day in days)
    assert set.union(*days) == collected(folder, MERROW_ALL_CASES="1", MERROW_PUSH="1")


@pytest.mark.thinned(1, "slow")
def test_in_ci_the_same_cases_run(folder: Path) -> None:
    for more in ({}, {"MERROW_PUSH": "1"}):
        assert collected(folder, MERROW_SEED="20000", CI="1", **more) == collected(folder, MERROW_SEED="20000", **more)


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({}, 100),
        ({"CI": "1"}, 100),
        ({"MERROW_PUSH": "1"}, 25),
        ({"MERROW_PUSH": "1", "CI": "1"}, 25),
        ({"MERROW_PUSH": "1", "MERROW_TIMES": "20"}, 2000),
        ({"CI": "1", "MERROW_TIMES": "0.001"}, 3),
    ],
)
def test_where_all_tests_have_to_be_quick_properties_draw_fewer_examples(
    environment: dict[str, str], count: int
) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("MERROW_")}
    code = "from tests.examples import examples; print(examples(100, least=3))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT, env={**inherited, **environment}
    )
    assert int(done.stdout) == count


E2E = ROOT / "vscode-extension" / "test" / "e2e"


def suites_in(folder: str) -> set[str]:
    return {str(file.relative_to(E2E)) for file in (E2E / folder).glob("*.test.mjs")}


def suites(*arguments: str, **environment: str) -> set[str]:
    """What the workbench's tests would run, as paths."""
    inherited = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("MERROW_")}
    command = ["node", str(E2E / "run.mjs"), "--list", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**inherited, **environment})
    return set(done.stdout.split())


@pytest.mark.thinned(1, "slow")
@pytest.mark.parametrize("where", [{}, {"CI": "1"}])
def test_each_suite_of_the_workbench_has_its_turn(where: dict[str, str]) -> None:
    days = [suites(**where, MERROW_PUSH="1", MERROW_SEED=str(day)) for day in range(20_000, 20_008)]
    for day in days:
        assert suites_in("tests") < day
        assert 0 <= len(day - suites_in("tests")) - len(suites_in("tests/by-turns")) // 8 <= 1
    assert set.union(*days) == suites_in("tests") | suites_in("tests/by-turns")
    assert sum(len(day - suites_in("tests")) for day in days) == len(suites_in("tests/by-turns"))


@pytest.mark.thinned(1, "slow")
def test_all_suites_of_the_workbench_run_each_night_and_when_nothing_is_said() -> None:
    assert suites() == suites_in("tests") | suites_in("tests/by-turns")
    assert suites("--nightly", CI="1") == suites_in("tests") | suites_in("tests/by-turns") | suites_in("tests/nightly")
    assert suites(CI="1") == suites()
    assert len(suites("measures", "inputs", MERROW_PUSH="1")) == 2


@pytest.mark.thinned(1, "slow")
def test_a_test_that_is_named_runs_with_every_case(folder: Path) -> None:
    assert len(collected(folder, "tests/test_it.py::test_many")) == 7
    assert collected(folder, "tests/test_it.py::test_many[5]") == {"test_many[5]"}


def test_what_makes_tests_longer_is_set_every_night_and_documented() -> None:
    sources = [file.read_text("utf-8") for file in (ROOT / "tests").rglob("*.py") if "node_modules" not in file.parts]
    found = {name for source in sources for match in SETTING.findall(source) for name in match if name} - OTHERS
    assert len(found) > 10
    long = (ROOT / "Makefile").read_text("utf-8").partition("LONG := ")[2].partition("\n\n")[0]
    assert found - NOT_LONG == set(re.findall(r"MERROW_\w+", long))
    documented = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert {name for name in found if f"`{name}" not in documented} == set()
