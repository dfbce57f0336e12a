"""Neovim and Emacs with the documented set-up name a step as an operator, and put an operator of a library in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.snippets import need, run, snippet
from tests.server.lsp.test_operator_actions import FLOW, LIBRARY, NAME_STEP, ONE, USE

FOLDER = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("editor", ["Neovim", "Emacs"])
@pytest.mark.parametrize(
    ("action", "line"), [(ONE, 'A["Solver<br/>"]'), ("Use operator Carry of the library here", 'A["Carry<br/>"]')]
)
def test_an_editor_chooses_it_from_its_menu(editor: str, action: str, line: str, tmp_path: Path) -> None:
    if editor == "Neovim":
        script = FOLDER / "neovim_operator.lua"
        program = [need("nvim", "apt-get install neovim"), "--headless", "--clean", "-n", "-c", f"luafile {script}"]
    else:
        script = FOLDER / "emacs_operator.el"
        program = [need("emacs", "apt-get install emacs-nox elpa-eglot"), "-Q", "--batch", "-l", str(script)]
    file, setup = tmp_path / "flow.mmd", tmp_path / "setup"
    (tmp_path / "operators.yaml").write_text(LIBRARY, encoding="utf-8")
    file.write_text(FLOW.replace("workflow:\n", "workflow:\n  libraries: [./operators.yaml]\n", 1), encoding="utf-8")
    setup.write_text(snippet(editor), encoding="utf-8")
    variables = {"MERROW_FILE": str(file), "MERROW_SNIPPET": str(setup), "MERROW_ACTION": action}
    variables["MERROW_LINE"] = 'A["Custom' if editor == "Emacs" else r"A\["
    variables["MERROW_KIND"] = NAME_STEP if action == ONE else USE
    printed = run(program, tmp_path, **variables)
    assert "DONE" in printed, printed
    assert line in file.read_text(encoding="utf-8")
