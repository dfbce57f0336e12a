"""Where `scripts/mutants.py` breaks a file, and which tests it runs for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytestmark = pytest.mark.thinned(16, "tools of developers")

if TYPE_CHECKING:
    from ran_by import RanBy

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture(autouse=True)
def _scripts_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))


SOURCE = '''"""A module. 1 < 2."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import x


def f(ä: int = 3, *rest: "Literal[5]") -> int:
    """Words: not 1 and 2."""
    if ä < 10 and not rest:
        return min(ä, 2)
    log("é" + "x", f"{ä + 1}")
    assert ä == 7
    log(ä, indent=2)
    del log
    if rest:
        return False
    return [one for one in rest if one][1:]
'''
BREAKS = {
    "def f(ä: int = 4, *rest: \"Literal[5]\") -> int:",
    "def f(ä: int = 2, *rest: \"Literal[5]\") -> int:",
    "if False:",
    "if ä <= 10 and not rest:",
    "if ä >= 10 and not rest:",
    "if ä < 11 and not rest:",
    "if ä < 9 and not rest:",
    "if ä < 10 or not rest:",
    "if ä < 10 and rest:",
    "if ä < 10:",
    "if not rest:",
    "return None",
    "return max(ä, 2)",
    "return min(ä, 3)",
    "return min(ä, 1)",
    "pass",
    "return True",
    'log(f"{ä + 1}", "é" + "x")',
    "return [one for one in rest if True][1:]",
    "return [one for one in rest if one][2:]",
    "return [one for one in rest if one][0:]",
    "return [one for one in rest if one][:]",
}  # fmt: skip


def test_each_token_that_may_be_wrong_is_broken_and_no_word() -> None:
    from mutant_spots import compiles, spots

    found = spots("a/b.py", SOURCE)
    assert {spot.after for spot in found} == BREAKS
    assert {spot.scope for spot in found} == {"f"}
    for spot in found:
        broken = spot.apply(SOURCE)
        assert compiles(broken)
        assert broken != SOURCE
        assert SOURCE.splitlines()[spot.line - 1].strip() == spot.before


def test_a_break_is_known_again_however_the_lines_move() -> None:
    from mutant_spots import spots

    moved = spots("a/b.py", SOURCE.replace("\n\n\n", "\n\n# more\n\n\n"))
    assert [spot.key for spot in moved] == [spot.key for spot in spots("a/b.py", SOURCE)]
    assert moved[0].line != spots("a/b.py", SOURCE)[0].line


def test_every_break_of_the_sources_is_python() -> None:
    from mutant_spots import compiles, spots

    path = SCRIPTS.parent / "runtime" / "merrow_runtime" / "models" / "budget.py"
    text = path.read_text("utf-8")
    found = spots("budget.py", text)
    assert len(found) > 50
    assert [str(spot) for spot in found if not compiles(spot.apply(text))] == []


HOVER, STYLE = "tests/server/lsp/test_hover.py", "server/merrow_server/times.py"
FIRST = f"{HOVER}::test_a"
CODE = """\
LIMIT = 5


def f(x):
    if (
        x
    ):
        return 1
    return 2
"""


def ran(folder: Path, code: str, tests: dict[str, tuple[float, list[int]]], changed: str = "") -> RanBy:
    """What a run found out in which these tests took so many seconds and ran these lines of `CODE`; the file is ``code`` now.
    One test file has ``changed`` since.
    """
    from coverage import CoverageData
    from ran_by import RanBy

    (folder / STYLE).parent.mkdir(parents=True)
    (folder / STYLE).write_text(code, "utf-8")
    data = CoverageData(str(folder / "lines"))
    for test, (_, lines) in tests.items():
        data.set_context(f"{test} (setup)|{test} (call)" if "[" in test else test)
        data.add_lines({f"/then/{STYLE}": lines})
    data.write()
    files = {test.partition("::")[0]: "def test_a(): ...\ndef test_b(): ..." for test in tests}
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("def test_b(): ..." if file == changed else text, "utf-8")
    seconds = {test: one for test, (one, _) in tests.items() if one}
    facts = {"root": "/then", "sources": {STYLE: CODE}, "tests": files, "seconds": seconds}
    (folder / "facts.json").write_text(json.dumps(facts), "utf-8")
    return RanBy(folder, folder)


def chosen(ran_by: RanBy, code: str, line: int, seconds: float = 100.0) -> list[str]:
    from mutant_spots import spots
    from mutant_tests import Selection

    spot = next(one for one in spots(STYLE, code) if one.line == line)
    return Selection(ran_by).tests(spot, code, seconds)


def test_the_tests_that_ran_a_broken_line_run_the_likely_ones_first(tmp_path: Path) -> None:
    tests = {
        "tests/server/test_x.py::test_a[1]": (0.5, [5, 6]),
        "tests/server/test_x.py::test_a[2]": (0.4, [6]),
        "tests/server/test_x.py::test_b": (3.0, [6, 8]),
        "tests/server/test_y.py::test_a": (0.1, [6]),
        "tests/server/test_y.py::test_b": (0.0, [6]),  # it failed
        FIRST: (9.0, [1, 9]),
    }
    known = ran(tmp_path, CODE, tests)
    y, one, two, b = (
        f"tests/server/test_{name}" for name in ("y.py::test_a", "x.py::test_a[1]", "x.py::test_a[2]", "x.py::test_b")
    )
    # A condition goes over several lines; what is under it is run by fewer.
    assert chosen(known, CODE, 6) == [y, two, b, one]
    assert chosen(known, CODE, 6, seconds=0.55) == [y, two]
    assert chosen(known, CODE, 6, seconds=0.0) == [y]
    assert chosen(known, CODE, 8) == [b]
    assert chosen(known, CODE, 9) == [FIRST]
    # Whoever came first imported it, so that all may look at it.
    assert set(chosen(known, CODE, 1)) == {y, one, two, b, FIRST}


def test_lines_are_known_again_where_others_are_added(tmp_path: Path) -> None:
    code = CODE.replace("    return 2\n", "    if x is None:\n        return 3\n    return 2\n").replace(
        "LIMIT", "MORE = 1\nLIMIT"
    )
    known = ran(tmp_path, code, {"tests/server/test_x.py::test_a": (0.1, [9])})
    assert chosen(known, code, 12) == ["tests/server/test_x.py::test_a"]
    # Nobody is known to run a new line; the files that name the module may.
    assert "tests/server/test_x.py::test_a" not in chosen(known, code, 10)


def test_a_test_file_that_changed_since_runs_as_a_whole_where_it_names_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mutant_tests import Selection

    monkeypatch.setattr(Selection, "naming", lambda *_: [HOVER, "tests/server/test_y.py"])
    other = "tests/server/test_x.py"
    tests = {f"{file}::{name}": (0.1, [9]) for file in (HOVER, other) for name in ("test_a", "test_b")}
    for folder, changed, found in (
        ("one", "", [*tests]),
        ("two", HOVER, [HOVER, f"{other}::test_a", f"{other}::test_b"]),
        ("three", other, [FIRST, f"{HOVER}::test_b", f"{other}::test_b"]),
    ):
        assert chosen(ran(tmp_path / folder, CODE, tests, changed), CODE, 9) == found


@pytest.mark.parametrize(
    ("source", "test"),
    [
        ("runtime/merrow_runtime/models/budget.py", "tests/runtime/models/test_budget.py"),
        ("server/merrow_server/features/hover.py", "tests/server/lsp/test_hover.py"),
        ("analysis/merrow_analysis/graph/liveness/combinations.py", "tests/analysis/test_liveness.py"),
        ("runtime/merrow_runtime/sandbox/guest/syscalls.py", "tests/runtime/sandbox/test_syscall_numbers.py"),
    ],
)
def test_where_nobody_ran_a_line_the_files_that_name_its_module_or_folder_do(
    tmp_path: Path, source: str, test: str
) -> None:
    from mutant_spots import spots
    from mutant_tests import Selection

    known = ran(tmp_path, CODE, {FIRST: (0.1, [1])})
    (tmp_path / source).parent.mkdir(parents=True)
    text = (SCRIPTS.parent / source).read_text("utf-8")
    (tmp_path / source).write_text(text, "utf-8")
    assert test in Selection(known).tests(spots(source, text)[-1], text, 100.0)


def test_what_a_test_starts_counts_as_run_by_it(tmp_path: Path) -> None:
    from ran_by import RanBy, find_out

    file = "tests/server/test_fmt_command.py"
    piped, settings = (
        f"{file}::{name}" for name in ("test_standard_input_goes_to_standard_output", "test_settings_of_the_layout")
    )
    assert find_out(tmp_path, tests=[piped, settings], workers=1) == 0
    path = "server/merrow_server/cli/check/fmt.py"
    lines = (SCRIPTS.parent / path).read_text("utf-8").splitlines()
    to_output = next(number for number, line in enumerate(lines, 1) if "write_stdout(" in line)
    known = RanBy(tmp_path)
    assert [test.id for test in known.tests(path, [to_output])] == [piped]
    assert {test.id for test in known.tests(path, None)} == {piped, settings}
    assert all(test.seconds > 0 for test in known.tests(path, None))
    assert known.changed == set()


def test_equivalent_breaks_have_reasons_and_are_not_drawn() -> None:
    from mutants import draw, equivalents, files_of

    known = equivalents()
    assert known
    assert all(reason.endswith(".") for reason in known.values())
    paths, lines = sorted({key[0] for key in known}), {key[:3] for key in known}
    drawn = {spot.key for spot in draw(files_of(paths), sys.maxsize, 0, lambda spot: spot.key[:3] in lines)}
    assert drawn
    assert not drawn & set(known)


def test_files_can_be_left_out() -> None:
    from click.testing import CliRunner
    from mutants import main

    def listed(*arguments: str) -> set[str]:
        shown = CliRunner().invoke(main, ["retry", "--count", "40", "--list", *arguments])
        assert shown.exit_code == 0, shown.output
        return {line.split(":")[0] for line in shown.output.splitlines()}

    calling = "runtime/merrow_runtime/calls/calling.py"
    assert calling in listed()
    assert listed("--except", calling) == {
        "runtime/merrow_runtime/models/failures.py",
        "runtime/merrow_runtime/models/retry.py",
    }
