"""Where `scripts/mutants.py` breaks a file, and which tests it runs for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("source", "test"),
    [
        ("runtime/merrow_runtime/models/budget.py", "tests/runtime/models/test_budget.py"),
        ("runtime/merrow_runtime/store/journal.py", "tests/runtime/store/test_journal.py"),
        ("server/merrow_server/features/hover.py", "tests/server/lsp/test_hover.py"),
        ("server/merrow_server/features/commands/mutation_lists.py", "tests/server/lsp/test_mutation_commands.py"),
        ("server/merrow_server/cli/improve/mutate.py", "tests/optimizer/test_mutate_command.py"),
        ("analysis/merrow_analysis/graph/liveness/plan.py", "tests/analysis/test_liveness.py"),
        ("analysis/merrow_analysis/edits/node_writing.py", "tests/analysis/test_edits.py"),
    ],
)
def test_tests_that_name_a_module_run_first(source: str, test: str) -> None:
    from mutant_tests import Selection

    selection = Selection()
    assert test in selection.naming(source)
    assert not set(selection.naming(source)) & set(selection.wider(source))


@pytest.mark.parametrize(
    ("source", "test"),
    [
        ("analysis/merrow_analysis/graph/placing/ports.py", "tests/plain/test_asking.py"),
        ("runtime/merrow_runtime/running/scheduler.py", "tests/plain/test_asking.py"),
        ("runtime/merrow_runtime/running/scheduler.py", "tests/server/test_run_command.py"),
        ("analysis/merrow_analysis/edits/node_writing.py", "tests/optimizer/test_mutation_writing.py"),
    ],
)
def test_tests_of_other_folders_that_go_through_a_module_run_too(source: str, test: str) -> None:
    from mutant_tests import Selection

    assert test in Selection().wider(source)


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
