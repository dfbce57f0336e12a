"""The open questions of runs, and the one way to answer them: every door asks here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from merrow_analysis.people.answers import InvalidAnswerError, parsed, validated
from merrow_analysis.people.forms import Form, UnanswerableError, read_form
from merrow_analysis.suggest import closest
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.address import author
from merrow_runtime.store.contract import AskRecord
from merrow_runtime.store.database import Store

LONGEST_ANSWER = 1_000_000
"""Characters of an answer."""


class NotAskedError(UsageFailure):
    """No question of that name was ever put."""


class QuestionClosedError(UsageFailure):
    """Nobody can answer any more. ``by`` is who has answered or declined to, None where nobody has."""

    def __init__(self, sentence: str, by: str | None = None) -> None:
        super().__init__(sentence)
        self.by = by


class UnfitAnswerError(UsageFailure):
    """An answer that does not fit its question."""


def is_open(ask: AskRecord, now: float) -> bool:
    """Whether a question can be answered, ``now`` in seconds since 1970."""
    return ask.state == "asked" and (ask.due is None or ask.due > now)


def open_questions(store: Store, run: str) -> list[AskRecord]:
    """What a run waits for people to answer, in the order in which it was asked; ``run`` is its id, or the only beginning of it.
    A question whose deadline has passed is not open. Raises `UsageFailure`, `StoreFailure`.
    """
    now = store.now()
    return [ask for ask in store.asks(store.identity(run)) if is_open(ask, now)]


def question_at(store: Store, run: str, node: str) -> AskRecord:
    """The open question of a node, by its id where one visit of it asks, else by the visit: ``TRIALS[2]/PART``.

    Raises `NotAskedError`, `QuestionClosedError` or another `UsageFailure` with the reason where there is none, and
    `StoreFailure`.
    """
    identity = store.identity(run)
    record = store.run(identity)
    asks = store.asks(identity)
    now = store.now()
    waiting = [ask for ask in asks if is_open(ask, now)]
    found = _named(waiting, node)
    if len(found) > 1:
        names = " and ".join(ask.visit.name for ask in found[:2])
        raise UsageFailure(f"Several visits of {node} ask; name one of them as in {names}.")
    if found:
        return found[0]
    closed = _named(asks, node)
    if closed:
        continuing = (
            f" Continue the run with: merrow resume {identity}" if record.status == "waiting" and not waiting else ""
        )
        raise _closed(identity, closed[-1], continuing)
    if record.status in ("finished", "cancelled") or (record.status == "failed" and not waiting):
        raise QuestionClosedError(f"Run {identity} is {record.status}, so it does not wait for an answer.")
    if not waiting:
        raise NotAskedError(f"Run {identity} does not wait for an answer; see: merrow show {identity}")
    others = [ask.visit.name for ask in waiting]
    near = closest(node, others)
    hint = f"Did you mean {near}?" if near else f"It waits for answers to: {', '.join(others[:_NAMED])}."
    raise NotAskedError(f"Node {node} of run {identity} asks nothing. {hint}")


_NAMED = 5


def _named(asks: Sequence[AskRecord], node: str) -> list[AskRecord]:
    exact = [ask for ask in asks if ask.visit.name == node]
    if exact:
        return exact
    return [ask for ask in asks if node.casefold() in (ask.visit.name.casefold(), ask.visit.node.casefold())]


def _closed(run: str, ask: AskRecord, continuing: str = "") -> QuestionClosedError:
    """Why a question can't be answered any more; ``continuing`` is how the run continues where it waits for nothing else."""
    name = ask.visit.name
    if ask.state in ("answered", "declined"):
        by = ask.by or "Somebody"
        what = "has answered" if ask.state == "answered" else "has declined to answer"
        return QuestionClosedError(f"{by} {what} the question of {name} in run {run} already.", by)
    if ask.state == "withdrawn":
        sentence = f"The question of {name} in run {run} was withdrawn: nothing needs its answer any more."
        return QuestionClosedError(f"{sentence}{continuing}")
    # It may not be closed yet, where nobody has looked.
    return QuestionClosedError(f"The deadline of the question of {name} in run {run} has passed.")


def answer(
    store: Store,
    run: str,
    node: str,
    given: str | Mapping[str, Any] | None,
    by: str | None = None,
    number: int | None = None,
    note: str | None = None,
) -> AskRecord:
    """Answer the open question of a node for the user of this process, or ``by`` somebody else; the question as it stands then.
    ``given`` is a text as a command line has it, what a form came to by field, or None to decline. ``number`` is that of the
    question whose form was filled in: the node may ask another one by now. ``note`` goes with a text. Whoever is first has
    answered. One commit.

    Raises `NotAskedError`, `QuestionClosedError` (also where somebody was faster), `UnfitAnswerError`, or another `UsageFailure`
    with the reason where that can't be; and `StoreFailure`.
    """
    ask = question_at(store, run, node)
    if number is not None and ask.number != number:
        identity = store.identity(run)
        closed = next((other for other in store.asks(identity) if other.number == number), None)
        if closed is None:
            raise NotAskedError(f"Node {node} of run {identity} asks something else by now.")
        raise _closed(identity, closed)
    content = None if given is None else content_of(ask, given, note)
    is_first, answered = store.answer(ask, content, author() if by is None else by)
    if not is_first:
        raise _closed(store.identity(run), answered)
    return answered


def content_of(ask: AskRecord, given: str | Mapping[str, Any], note: str | None = None) -> dict[str, Any]:
    """What is given as an answer to a question, with a ``note`` beside it, by field, as its form wants it. Raises
    `UnfitAnswerError`.
    """
    name = ask.visit.name
    if isinstance(given, str) and len(given) > LONGEST_ANSWER:
        raise UnfitAnswerError(
            f"The answer to {name} has {len(given):,} characters; an answer has at most {LONGEST_ANSWER:,}."
        )
    try:
        form = read_form(ask.question.get("schema", {}))
        fields = parsed(form, given) if isinstance(given, str) else given
        if note is not None:
            fields = {**fields, **_noted(name, form, fields, note)}
        content = validated(form, fields)
    except UnanswerableError:
        raise UsageFailure(f"The question of {name} is damaged in the journal.") from None
    except InvalidAnswerError as problem:
        raise UnfitAnswerError(f"The answer to {name} does not fit. {problem}") from None
    if len(json.dumps(content, ensure_ascii=False)) > 2 * LONGEST_ANSWER:
        raise UnfitAnswerError(
            f"The answer to {name} is too long; an answer has at most {LONGEST_ANSWER:,} characters."
        )
    return content


def _noted(name: str, form: Form, fields: Mapping[str, Any], note: str) -> dict[str, str]:
    """The field of a form that takes the note beside an answer. Raises `UnfitAnswerError`."""
    if form.note is None:
        raise UnfitAnswerError(f"The question of {name} takes no note beside its fields; put it into one of them.")
    if form.note.name in fields:
        raise UnfitAnswerError(f"The answer to {name} has a note already; leave one of the two out.")
    return {form.note.name: note}
