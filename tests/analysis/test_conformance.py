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


@pytest.mark.slow
def test_verdicts(scores: tuple[Score, dict[str, Score]]) -> None:
    total, _ = scores
    assert total.texts == 5159
    assert total.verdicts == total.texts, _aspects(total, "accepts", "rejects")


@pytest.mark.slow
def test_structures(scores: tuple[Score, dict[str, Score]]) -> None:
    total, _ = scores
    assert total.valid == 3680
    assert total.structures == total.valid, _aspects(total, "structure", "rejects")


def test_error_lines(scores: tuple[Score, dict[str, Score]]) -> None:
    total, _ = scores
    assert total.with_line == 1325
    assert total.lines == total.with_line, _aspects(total, "line")
