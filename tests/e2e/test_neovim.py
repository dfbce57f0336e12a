"""Neovim with the documented set-up: a problem is repaired, a Loop in a Map is run and stopped, a person answers in a Loop."""

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
from tests.runtime.openai_server import Reply, serving
from tests.server.lsp.test_people import LETTER

pytestmark = pytest.mark.thinned(8, "editors")


def test_neovim_shows_a_problem_and_repairs_it(tmp_path: Path) -> None:
    neovim = need("nvim", "apt-get install neovim")
    file, setup = tmp_path / "flow.mmd", tmp_path / "setup.lua"
    file.write_text(BROKEN, encoding="utf-8")
    setup.write_text(snippet("Neovim"), encoding="utf-8")
    script = Path(__file__).with_name("neovim.lua")
    printed = run(
        [neovim, "--headless", "--clean", "-n", "-c", f"luafile {script}"],
        tmp_path,
        MERROW_FILE=str(file),
        MERROW_SNIPPET=str(setup),
        MERROW_CODE=CODE,
    )
    assert "DIAGNOSTIC 4:13" in printed, printed
    assert "DONE" in printed
    assert REPAIRED in file.read_text(encoding="utf-8").splitlines()


def test_neovim_shows_and_repairs_a_mistake_in_cases(tmp_path: Path) -> None:
    neovim = need("nvim", "apt-get install neovim")
    file, setup = tmp_path / "flow.cases.yaml", tmp_path / "setup.lua"
    (tmp_path / "flow.mmd").write_text(REPAIRED_FLOW, encoding="utf-8")
    file.write_text(BROKEN_CASES, encoding="utf-8")
    setup.write_text(snippet("Neovim"), encoding="utf-8")
    script = Path(__file__).with_name("neovim.lua")
    variables = {"MERROW_FILE": str(file), "MERROW_SNIPPET": str(setup), "MERROW_CODE": "MW521"}
    printed = run([neovim, "--headless", "--clean", "-n", "-c", f"luafile {script}"], tmp_path, **variables)
    assert "DONE" in printed
    assert "numeric" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("is_plugin", [False, True], ids=["documented", "plugin"])
def test_neovim_shows_a_workflow_in_a_browser(tmp_path: Path, *, is_plugin: bool) -> None:
    neovim = need("nvim", "apt-get install neovim")
    need("curl", "apt-get install curl")
    file, setup, command = tmp_path / "flow.mmd", tmp_path / "setup.lua", tmp_path / "command.lua"
    file.write_text(REPAIRED_FLOW, encoding="utf-8")
    plugin = (ROOT / "editors" / "neovim" / "plugin" / "merrow.lua").read_text("utf-8")
    setup.write_text(plugin if is_plugin else snippet("Neovim"), encoding="utf-8")
    command.write_text("" if is_plugin else snippet("Neovim", 1), encoding="utf-8")
    variables = {"MERROW_FILE": str(file), "MERROW_SNIPPET": str(setup), "MERROW_COMMAND": str(command)}
    script = Path(__file__).with_name("neovim_preview.lua")
    printed = run([neovim, "--headless", "--clean", "-n", "-c", f"luafile {script}"], tmp_path, **variables)
    assert "PAGE flow.mmd" in printed, printed
    assert "DONE" in printed


def test_neovim_runs_and_stops_a_loop_in_a_map(tmp_path: Path) -> None:
    neovim = need("nvim", "apt-get install neovim")
    script = Path(__file__).with_name("neovim_run.lua")
    check_nested_run(
        nested_run([neovim, "--headless", "--clean", "-n", "-c", f"luafile {script}"], tmp_path, "Neovim", ".lua")
    )


def test_neovim_repairs_each_kind_of_defect_by_the_preferred_action(tmp_path: Path) -> None:
    neovim = need("nvim", "apt-get install neovim")
    script = Path(__file__).with_name("neovim_defects.lua")
    check_defects([neovim, "--headless", "--clean", "-n", "-c", f"luafile {script}"], tmp_path, "Neovim", ".lua")


def test_neovim_asks_a_person_in_a_loop_by_buttons(tmp_path: Path) -> None:
    neovim = need("nvim", "apt-get install neovim")
    file, setup = tmp_path / "flow.mmd", tmp_path / "setup.lua"
    file.write_text(LETTER, encoding="utf-8")
    setup.write_text(snippet("Neovim"), encoding="utf-8")
    script = Path(__file__).with_name("neovim_people.lua")
    letters = iter(["a first letter", "a second letter"])
    with serving(lambda _: Reply(next(letters))) as server:
        printed = run(
            [neovim, "--headless", "--clean", "-n", "-c", f"luafile {script}"],
            tmp_path,
            MERROW_FILE=str(file),
            MERROW_SNIPPET=str(setup),
            MERROW_CHOICES="bad,good",
            OPENAI_API_KEY="sk-x",
            OPENAI_BASE_URL=server.base_url,
        )
    questions = [line for line in printed.splitlines() if line.startswith("QUESTION")]
    assert ["L[1]/LOOK" in questions[0], "L[2]/LOOK" in questions[1]] == [True, True], printed
    assert "a first letter" in questions[0]
    assert "Is it good?" in questions[1]
    assert "FIRST waiting" in printed, printed
    assert "TOLD a second letter" in printed, printed
    assert "DONE" in printed
