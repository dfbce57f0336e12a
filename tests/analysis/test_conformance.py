"""Agreement with the real Mermaid parser on the shared conformance texts."""

from __future__ import annotations

import pytest
from scripts.conformance import Score, examples, rows_of, score
from tests.shared import SHARED

pytestmark = pytest.mark.shared("conformance")
CORPUS = SHARED / "conformance" / "flowchart.jsonl"


@pytest.fixture(scope="module")
def scores() -> tuple[Score, dict[str, Score]]:
    return score(rows_of(CORPUS))


def _aspects(total: Score, *aspects: str) -> str:
    return examples((found for found in total.disagreements if found.aspect in aspects), 10)


def test_verdicts(scores: tuple[Score, dict[str, Score]]) -> None:
    total, _ = scores
    assert total.texts == 5159
    assert total.verdicts == total.texts, _aspects(total, "accepts", "rejects")


def test_structures(scores: tuple[Score, dict[str, Score]]) -> None:
    total, _ = scores
    assert total.valid == 3680
    assert total.structures == total.valid, _aspects(total, "structure", "rejects")


def test_error_lines(scores: tuple[Score, dict[str, Score]]) -> None:
    total, _ = scores
    assert total.with_line == 1325
    assert total.lines == total.with_line, _aspects(total, "line")
