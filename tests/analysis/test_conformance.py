"""Agreement with the real Mermaid parser on the shared conformance texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.conformance import Score, examples, rows_of, score

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "conformance" / "flowchart.jsonl"


@pytest.fixture(scope="module")
def scores() -> tuple[Score, dict[str, Score]]:
    if not CORPUS.is_file():
        pytest.skip("the conformance texts are not here: they belong in ../shared beside the repository")
    return score(rows_of(CORPUS))


def _aspects(total: Score, *aspects: str) -> str:
    return examples((found for found in total.disagreements if found.aspect in aspects), 10)


def test_verdicts(scores: tuple[Score, dict[str, Score]]) -> None:
    total, _ = scores
    assert total.verdict_share >= 0.995, _aspects(total, "accepts", "rejects")


def test_structures(scores: tuple[Score, dict[str, Score]]) -> None:
    total, _ = scores
    assert total.structure_share >= 0.99, _aspects(total, "structure", "rejects")


def test_error_lines(scores: tuple[Score, dict[str, Score]]) -> None:
    total, _ = scores
    assert total.line_share >= 0.90, _aspects(total, "line")


def test_no_family_falls_behind(scores: tuple[Score, dict[str, Score]]) -> None:
    _, families = scores
    behind = {name for name, part in families.items() if min(part.verdict_share, part.structure_share) < 0.95}
    assert not behind
