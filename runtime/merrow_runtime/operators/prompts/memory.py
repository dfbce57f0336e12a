"""What a node remembers (A2Flow, AAAI 2026, equations 6 and 7): the default outputs of its ancestors that ran.

An operator reads its input, its prompt and M(k-1); M(k) is M(k-1) and its output. Here M is the node's ancestors, not all
that happened to run before, so it is the same however nodes are scheduled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from merrow_analysis.definitions.settings import MemoryKind
from merrow_runtime.models.tokens import estimate_tokens
from merrow_runtime.operators.base import Remembered, Tools, Wants
from merrow_runtime.operators.formats.answer_forms import read_text
from merrow_runtime.operators.prompts.prompting import compose, memory_sections, render_section
from merrow_runtime.operators.questions import Question

STEP = "memory"

SUMMARY_PROMPT = """\
You are given earlier results of a workflow, oldest first. Summarise them for whoever does the next step: every fact, \
figure, name, decision, formula and open question that may still matter, exactly as stated; which result each comes from \
where they differ; what was tried and failed. Leave out wording, repetition and politeness. Do not solve anything and add \
nothing. At most 250 words."""


def remembered(kind: MemoryKind, amount: int | None, entries: Sequence[Remembered]) -> list[Remembered]:
    """The entries that a node of this memory is shown, of ``entries`` in order, oldest first.

    ``last`` keeps the newest ``amount``. ``tokens`` keeps the newest ones that together, headings and frames included,
    are estimated at no more than ``amount`` tokens (`models.tokens.estimate_tokens`); an entry is never cut, and what is
    older than the first that doesn't fit is left out. ``summary`` keeps all: they are what is summarised. For ``agent``,
    ``entries`` are those of the node's agent already.
    """
    if kind == "none" or not entries:
        return []
    if kind == "last":
        return list(entries[-amount:]) if amount else []
    if kind == "tokens":
        return _newest_within(amount or 0, entries)
    return list(entries)


def wanted(kind: MemoryKind, amount: int | None) -> Wants | None:
    """What `remembered` keeps of entries, told from the newest on; None where it may be any of them."""
    if kind == "last":
        left = iter(range(amount or 0))
        return lambda _: next(left, None) is not None
    if kind == "tokens":
        return _within(amount or 0)
    return None


def summary_question(entries: Sequence[Remembered]) -> Question[str]:
    """The one question that makes a summary of all entries: step ``memory`` of the node that remembers."""
    return Question(STEP, compose((SUMMARY_PROMPT,), memory_sections(entries)), read_text)


async def recall(kind: MemoryKind, amount: int | None, entries: Sequence[Remembered], tools: Tools) -> list[Remembered]:
    """What a node is shown: `remembered`, or for ``summary`` one entry that the node's model wrote; no call where there is
    nothing to remember.
    """
    shown = remembered(kind, amount, entries)
    if kind != "summary" or not shown:
        return shown
    return [summary_of(await summary_question(shown).ask(tools))]


def summary_of(text: str) -> Remembered:
    """A summary as an entry of a node's memory."""
    return Remembered("", "summary of all earlier results", text)


def _newest_within(tokens: int, entries: Sequence[Remembered]) -> list[Remembered]:
    return list(takewhile(_within(tokens), reversed(entries)))[::-1]


def _within(tokens: int) -> Wants:
    left = tokens

    def wants(entry: Remembered) -> bool:
        nonlocal left
        left -= estimate_tokens(render_section(memory_sections([entry])[0]))
        return left >= 0

    return wants
