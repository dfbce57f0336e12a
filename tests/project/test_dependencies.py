"""What the source imports is what pyproject.toml declares, and the locks hold all of it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RUNTIME = [Requirement(text) for text in PROJECT["project"]["dependencies"]]
DEVELOPMENT = [
    requirement
    for requirement in map(Requirement, PROJECT["project"]["optional-dependencies"]["dev"])
    if requirement.marker is None or requirement.marker.evaluate()
]
EVALUATE = [Requirement(text) for text in PROJECT["project"]["optional-dependencies"]["evaluate"]]
OPTIMIZE = [Requirement(text) for text in PROJECT["project"]["optional-dependencies"]["optimize"]]
DASK = [Requirement(text) for text in PROJECT["project"]["optional-dependencies"]["dask"]]
POSTGRES = [Requirement(text) for text in PROJECT["project"]["optional-dependencies"]["postgres"]]
TOOLS_EXTRA = [Requirement(text) for text in PROJECT["project"]["optional-dependencies"]["tools"]]
UP = [Requirement(text) for text in PROJECT["project"]["optional-dependencies"]["up"]]
BUILD = [Requirement(text) for text in PROJECT["dependency-groups"]["build"]]
SOURCES = tuple(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
OWN = {Path(source).name for source in SOURCES} | {"tests", "scripts", "benchmarks", "generate_docs", "conformance"}
TOOLS = {
    "import-linter": "make contracts",
    "mypy": "make types",
    "pip-audit": "make audit",
    "pytest-asyncio": "asyncio_mode in pyproject.toml",
    "pytest-xdist": "make unit",
    "ruff": "make lint",
    "types-jsonschema": "make types",
}
"""Development packages that nothing imports, and what uses them."""
LOCKS = {
    "run.txt": RUNTIME + BUILD,
    "dev.txt": RUNTIME + EVALUATE + OPTIMIZE + UP + TOOLS_EXTRA + DASK + POSTGRES + DEVELOPMENT + BUILD,
    "lowest.txt": RUNTIME + EVALUATE + OPTIMIZE + UP + TOOLS_EXTRA + DASK + POSTGRES + DEVELOPMENT + BUILD,
}


@cache
def imported(folder: Path) -> dict[str, str]:
    """The top-level modules that Python files below ``folder`` import, each with a file that does."""
    found: dict[str, str] = {}
    for file in sorted(folder.rglob("*.py")):
        if "node_modules" not in file.parts:
            for name in imports_in(file.read_text("utf-8")):
                found.setdefault(name.partition(".")[0], str(file.relative_to(ROOT)))
    return found


def imports_in(text: str) -> Iterator[str]:
    """The modules that a Python text imports, wherever it does, also with ``import_module("name")``."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield module


def undeclared(found: dict[str, str], declared: list[Requirement]) -> dict[str, str]:
    """The third-party modules of ``found`` that no declared package brings."""
    names = {canonicalize_name(requirement.name) for requirement in declared}
    brought = {
        module: {canonicalize_name(name) for name in distributions}
        for module, distributions in packages_distributions().items()
    }
    standard = sys.stdlib_module_names | OWN
    return {
        module: file
        for module, file in found.items()
        if module not in standard and not brought.get(module, {module}) & names
    }


def unused(found: dict[str, str], declared: list[Requirement]) -> set[str]:
    """The declared packages of which ``found`` has no module."""
    used = {
        canonicalize_name(distribution)
        for module, distributions in packages_distributions().items()
        if module in found
        for distribution in distributions
    }
    return {canonicalize_name(requirement.name) for requirement in declared} - used


def source_imports() -> dict[str, str]:
    return {name: file for source in SOURCES for name, file in imported(ROOT / source).items()}


def test_imports_are_found_wherever_they_are() -> None:
    text = "import a.b\ndef f():\n    from c.d import e\n    importlib.import_module('g')\n    from . import h\n"
    assert set(imports_in(text)) == {"a.b", "c.d", "g"}


@pytest.mark.slow
def test_what_the_source_imports_is_declared() -> None:
    # What runs in the Python of a user's own environment.
    found = {name: file for name, file in source_imports().items() if "/outside/hosts/" not in file}
    assert undeclared(found, RUNTIME + EVALUATE + OPTIMIZE + UP + TOOLS_EXTRA + DASK + POSTGRES) == {}


@pytest.mark.slow
def test_what_is_declared_for_the_source_is_imported() -> None:
    assert unused(source_imports(), RUNTIME + EVALUATE + OPTIMIZE + UP + TOOLS_EXTRA + DASK + POSTGRES) == set()


@pytest.mark.slow
def test_what_the_tests_and_scripts_import_is_declared() -> None:
    found = imported(ROOT / "tests") | imported(ROOT / "scripts")
    local = {file.stem for folder in ("tests", "scripts") for file in (ROOT / folder).rglob("*.py")}
    elsewhere = ("tests/fuzz/", "tests/real_model/serve_llama.py")  # each runs in an environment of its own
    found = {name: file for name, file in found.items() if name not in local and not file.startswith(elsewhere)}
    assert (
        undeclared(found, RUNTIME + EVALUATE + OPTIMIZE + UP + TOOLS_EXTRA + DASK + POSTGRES + DEVELOPMENT + BUILD)
        == {}
    )


@pytest.mark.slow
def test_what_is_declared_for_development_is_imported_or_a_tool_in_use() -> None:
    found = imported(ROOT / "tests") | imported(ROOT / "scripts")
    assert unused(found, DEVELOPMENT) == set(TOOLS)


def pins(lock: str) -> dict[str, str]:
    """The versions that a lock pins, by canonical name."""
    text = (ROOT / "requirements" / lock).read_text("utf-8")
    return {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.M)}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_every_declared_package_in_its_range(lock: str) -> None:
    pinned = pins(lock)
    for requirement in LOCKS[lock]:
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_a_hash_for_every_package_and_names_no_registry(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text("utf-8")
    entries = [entry for entry in text.replace("\\\n", "").splitlines() if entry and not entry.lstrip().startswith("#")]
    assert len(entries) == len(pins(lock))
    for entry in entries:
        assert re.search(r" --hash=sha256:[0-9a-f]{64}", entry), entry
    assert "://" not in text
    assert "--index" not in text


def test_the_development_lock_contains_the_runtime_lock() -> None:
    assert pins("run.txt").items() <= pins("dev.txt").items()


def test_the_lowest_lock_pins_the_lowest_versions() -> None:
    pinned = pins("lowest.txt")
    for requirement in RUNTIME + EVALUATE + OPTIMIZE + UP + TOOLS_EXTRA + DASK + POSTGRES:
        [lowest] = [each.version for each in requirement.specifier if each.operator == ">="]
        version = pinned[canonicalize_name(requirement.name)]
        assert [*version.split("."), "0", "0"][:3] == [*lowest.split("."), "0", "0"][:3], requirement
