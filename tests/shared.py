"""The texts beside the repository, ``../shared``, that some tests read.

Without them the tests marked ``shared(path)`` are skipped; with ``MERROW_REQUIRE_SHARED=1`` no test runs at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
READ = (
    "conformance/flowchart.jsonl",
    "corpus/flow/tetris_match3_noval.candidates.json",
    "corpus/flow/tetris_match3_val.candidates.json",
    "corpus/flow/tetris_noval.candidates.json",
    "corpus/flow/website_val.candidates.json",
    "corpus/flow/website_val.initflow.json",
    "corpus/flow/worked_examples.json",
    "corpus/mermaidflow",
    "corpus/mmd/manifest.jsonl",
    "corpus/mmd/prompts.json",
    "datasets/drop_test.jsonl",
    "datasets/drop_validate.jsonl",
    "datasets/gsm8k_test.jsonl",
    "datasets/gsm8k_validate.jsonl",
    "datasets/hotpotqa_validate.jsonl",
    "datasets/humaneval_public_test.jsonl",
    "datasets/humaneval_test.jsonl",
    "datasets/humaneval_validate.jsonl",
    "datasets/math_test.jsonl",
    "datasets/math_validate.jsonl",
    "datasets/mbpp_public_test.jsonl",
    "datasets/mbpp_test.jsonl",
    "datasets/mbpp_validate.jsonl",
)


NOT_HERE = "reads ../shared, which is not beside the repository"


def skip_without(items: Iterable[pytest.Item]) -> int:
    """Skip the tests that read a text which is not here. How many read any."""
    reading = 0
    for item in items:
        if mark := item.get_closest_marker("shared"):
            reading += 1
            if not (SHARED / mark.args[0]).exists():
                item.add_marker(pytest.mark.skip(reason=NOT_HERE))
    return reading


def missing_texts() -> list[str]:
    """Those of `READ` that are not here."""
    return [name for name in READ if not (SHARED / name).exists()]


def require_shared() -> None:
    """Raise `pytest.UsageError` if ``MERROW_REQUIRE_SHARED`` is set and a text is missing."""
    if os.environ.get("MERROW_REQUIRE_SHARED", "0") in ("", "0"):
        return
    if missing := missing_texts():
        names = ", ".join(f"../shared/{name}" for name in missing)
        raise pytest.UsageError(
            f"MERROW_REQUIRE_SHARED is set, but {names} is missing; put it beside the repository or unset the variable."
        )
