"""Products judged through the metric `product`, as an evaluation does it."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics import metric
from merrow_optimizer.evaluation.scores import InvalidItemError, Score
from merrow_runtime.operators.formats.answer_files import NamedFile, text_of_files
from merrow_runtime.sandbox import Sandbox

_VERDICT = re.compile(r"(?:^| )(\w+): (met|missed|not judged)\. ")


def answer(**files: str) -> str:
    """An answer with these files; an underscore in a name stands for its dot."""
    return text_of_files(NamedFile(name.replace("_", "."), text) for name, text in files.items())


def score_of(gold: dict[str, Any], output: str, sandbox: Sandbox | None = None) -> Score | str:
    """The score of an answer, or why it can't be scored."""

    async def scored() -> Score | str:
        scored_by = metric("product", sandbox=sandbox)
        item = Item("1", {}, gold)
        assert scored_by.fault(item) is None
        try:
            return await scored_by.score(item, output)
        except InvalidItemError as why:
            return str(why)
        finally:
            await scored_by.close()

    return asyncio.run(scored())


def verdicts(gold: dict[str, Any], output: str, sandbox: Sandbox | None = None) -> dict[str, tuple[str, str]]:
    """For each criterion what it came to and the evidence."""
    found = score_of(gold, output, sandbox)
    assert isinstance(found, Score), found
    parts = _VERDICT.split(found.reason)
    said = {name: (word, evidence) for name, word, evidence in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)}
    judged = [word == "met" for word, _ in said.values() if word != "not judged"]
    assert found.value == sum(judged) / len(judged), found
    return said


def missed(said: dict[str, tuple[str, str]]) -> dict[str, str]:
    """The evidence of each criterion that is missed."""
    return {name: evidence for name, (word, evidence) in said.items() if word == "missed"}
