"""The metric `product`: the files of an answer, judged by the criteria of the scorer that the gold names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric, shown, text_of
from merrow_optimizer.evaluation.metrics.products.criteria import CriterionVerdict, Scorer, all_missed, share
from merrow_optimizer.evaluation.metrics.products.gobang import Gobang
from merrow_optimizer.evaluation.metrics.products.slides import Slides
from merrow_optimizer.evaluation.metrics.products.website import Website
from merrow_optimizer.evaluation.scores import InvalidItemError, Score
from merrow_runtime.operators.formats.answer_files import NamedFile, files_in
from merrow_runtime.operators.formats.fences import fences
from merrow_runtime.sandbox import Sandbox


class Product(BaseMetric):
    """The share of a product's criteria that is met, of those that can be judged here.

    The gold is an object: ``scorer`` is ``gobang``, ``slides`` or ``website``, the rest are its settings.
    """

    name = "product"
    version = 2

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._scorers: Mapping[str, Scorer] = {"gobang": Gobang(sandbox), "slides": Slides(), "website": Website()}
        # A score that some criteria have no part in is another one than that of a machine that lacks nothing.
        super().__init__({name: sorted(missing) for name, each in self._scorers.items() if (missing := each.missing())})

    def fault(self, item: Item) -> str | None:
        gold = item.gold
        if not isinstance(gold, dict) or gold.get("scorer") not in self._scorers:
            return f"the gold answer must be an object whose `scorer` is one of {', '.join(self._scorers)}"
        return self._scorers[gold["scorer"]].fault(gold)

    def remarks(self, items: Sequence[Item]) -> list[str]:
        lines: list[str] = []
        for name, scorer in self._scorers.items():
            missing = scorer.missing() if any(item.gold["scorer"] == name for item in items) else {}
            for why in dict.fromkeys(missing.values()):
                criteria = ", ".join(criterion for criterion, each in missing.items() if each == why)
                lines.append(f"Not judged of products that are scored as {name}: {criteria}. {why}.")
        return lines

    async def score(self, item: Item, output: Any) -> Score:
        scorer = self._scorers[item.gold["scorer"]]
        try:
            files = _files(text_of(output), scorer.main_file)
        except ValueError as wrong:
            return _score(all_missed(scorer.criteria, str(wrong)), "")
        if scorer.main_file not in files:
            there = (
                f"there are {', '.join(list(files)[:8])}"
                if files
                else "the answer has no fenced block that names a file"
            )
            return _score(all_missed(scorer.criteria, f"There is no file `{scorer.main_file}`; {there}."), "")
        read = ", ".join(f"{path} ({_lines(file.text)})" for path, file in files.items())
        return _score(await scorer.judge(files, item.gold), read)

    async def close(self) -> None:
        for scorer in self._scorers.values():
            await scorer.close()


def _files(text: str, main_file: str) -> dict[str, NamedFile]:
    """The files of an answer by path. A single fenced block without a name is the main file.

    Raises ValueError, with a sentence, as `files_in` does.
    """
    files = files_in([text])
    blocks = [] if files else [block for block in fences(text) if block.closed]
    if len(blocks) == 1:
        files = [NamedFile(main_file, blocks[0].text)]
    return {file.path: file for file in files}


def _lines(text: str) -> str:
    count = len(text.splitlines())
    return "1 line" if count == 1 else f"{count:,} lines"


def _score(verdicts: Sequence[CriterionVerdict], read: str) -> Score:
    """The score of some verdicts, missed ones first in its reason.

    Raises:
        InvalidItemError: none of the criteria could be judged.
    """
    ordered = sorted(verdicts, key=lambda verdict: (verdict.met is not False, verdict.met is not None))
    reason = " ".join(map(str, ordered))
    value = share(verdicts)
    if value is None:
        raise InvalidItemError(shown(reason))
    return Score(value, shown(read), shown(reason))
