"""The folders of a package import each other one way: there is an order in which each one needs only those before it.

Modules that lie beside the folders are left out: import-linter looks after modules (`pyproject.toml`).
"""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", ["analysis", "runtime", "optimizer", "server"])
def test_no_two_folders_need_each_other(part: str) -> None:
    package = ROOT / part / f"merrow_{part}"
    folders = {file.parent.name for file in package.glob("*/__init__.py")}
    needs: dict[str, set[str]] = {folder: set() for folder in folders}
    for folder in folders:
        for file in sorted((package / folder).rglob("*.py")):
            needs[folder] |= {name for name in _imported(file, package.name) if name in folders and name != folder}
    assert sum(map(len, needs.values())) > 10
    list(TopologicalSorter(needs).static_order())  # raises CycleError, which names the folders


def _imported(file: Path, package: str) -> set[str]:
    """The folders and modules of the package that a file imports from, also within functions and for types alone."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module.removeprefix(f"{package}.").split(".")[0] if node.module.startswith(package) else "")
        elif isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith(f"{package}.")}
    return names
