"""A class name of the product means one thing: no two classes have the same one."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("analysis", "runtime", "optimizer", "server")


def _homes() -> dict[str, list[str]]:
    """The files in which each class is defined, by its name, also classes in functions and in other classes."""
    homes: dict[str, list[str]] = {}
    for package in PACKAGES:
        for file in sorted((ROOT / package / f"merrow_{package}").rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(f"{file.relative_to(ROOT)}:{node.lineno}")
    return homes


def test_each_class_of_the_product_has_a_name_of_its_own() -> None:
    homes = _homes()
    assert len(homes) > 1_000
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}
