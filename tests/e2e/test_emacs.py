"""Emacs with the documented set-up: a problem is shown and repaired, a Loop in a Map is run and stopped."""

import re
from pathlib import Path

import pytest
from tests.e2e.snippets import (
    BROKEN,
    BROKEN_CASES,
    CODE,
    REPAIRED,
    REPAIRED_FLOW,
    ROOT,
    check_defects,
    check_nested_run,
    need,
    nested_run,
    run,
    snippet,
)

pytestmark = pytest.mark.thinned(8, "editors")


def test_emacs_shows_a_problem_and_repairs_it(tmp_path: Path) -> None:
    emacs = need("emacs", "apt-get install emacs-nox elpa-eglot")
    file, setup = tmp_path / "flow.mmd", tmp_path / "setup.el"
    file.write_text(BROKEN, encoding="utf-8")
    setup.write_text(snippet("Emacs"), encoding="utf-8")
    script = Path(__file__).with_name("emacs.el")
    printed = run(
        [emacs, "--batch", "-Q", "-l", str(script)],
        tmp_path,
        MERROW_FILE=str(file),
        MERROW_SNIPPET=str(setup),
        MERROW_CODE=CODE,
    )
    assert "DIAGNOSTIC 4 " in printed, printed
    assert "DONE" in printed
    assert REPAIRED in file.read_text(encoding="utf-8").splitlines()


def test_emacs_shows_and_repairs_a_mistake_in_cases(tmp_path: Path) -> None:
    emacs = need("emacs", "apt-get install emacs-nox elpa-eglot")
    file, setup = tmp_path / "flow.cases.yaml", tmp_path / "setup.el"
    (tmp_path / "flow.mmd").write_text(REPAIRED_FLOW, encoding="utf-8")
    file.write_text(BROKEN_CASES, encoding="utf-8")
    setup.write_text(snippet("Emacs"), encoding="utf-8")
    script = Path(__file__).with_name("emacs.el")
    variables = {"MERROW_FILE": str(file), "MERROW_SNIPPET": str(setup), "MERROW_CODE": "MW521"}
    printed = run([emacs, "--batch", "-Q", "-l", str(script)], tmp_path, **variables)
    assert "DONE" in printed
    assert "numeric" in file.read_text(encoding="utf-8")


def test_emacs_shows_a_workflow_in_a_browser(tmp_path: Path) -> None:
    emacs = need("emacs", "apt-get install emacs-nox elpa-eglot")
    file = tmp_path / "flow.mmd"
    file.write_text(REPAIRED_FLOW, encoding="utf-8")
    variables = {"MERROW_FILE": str(file), "MERROW_SNIPPET": str(ROOT / "editors" / "emacs" / "merrow.el")}
    script = Path(__file__).with_name("emacs_preview.el")
    printed = run([emacs, "--batch", "-Q", "-l", str(script)], tmp_path, **variables)
    assert re.search(r"ADDRESS http://127\.0\.0\.1:\d+/[\w-]{43}/file/1\n", printed), printed
    assert "DONE" in printed


def test_emacs_runs_and_stops_a_loop_in_a_map(tmp_path: Path) -> None:
    emacs = need("emacs", "apt-get install emacs-nox elpa-eglot")
    script = Path(__file__).with_name("emacs_run.el")
    check_nested_run(nested_run([emacs, "--batch", "-Q", "-l", str(script)], tmp_path, "Emacs", ".el"))


def test_emacs_repairs_each_kind_of_defect_by_the_preferred_action(tmp_path: Path) -> None:
    emacs = need("emacs", "apt-get install emacs-nox elpa-eglot")
    script = Path(__file__).with_name("emacs_defects.el")
    check_defects([emacs, "--batch", "-Q", "-l", str(script)], tmp_path, "Emacs", ".el")
