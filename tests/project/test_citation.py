"""CITATION.cff names Merrow as it is released, and the papers that the README names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from merrow_runtime.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
CITATION: Any = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def test_the_runtime_knows_its_version() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_version_and_licence_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (CITATION["version"], CITATION["license"]) == (project["version"], project["license"])


def test_the_three_papers_are_cited_with_their_authors() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert {paper["url"] for paper in CITATION["references"]} == set(
        re.findall(r"https://arxiv\.org/abs/[\d.]+", readme)
    )
    assert len(CITATION["references"]) == 3
    assert all(paper["title"] and len(paper["authors"]) > 3 for paper in CITATION["references"])
