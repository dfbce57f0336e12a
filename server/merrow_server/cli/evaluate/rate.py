"""``merrow rate``: what people think of the answers of an evaluation, or of two of them side by side."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option
from merrow_server.errors import InputError
from merrow_server.rendering.snippet import plain
from merrow_server.rendering.terminal import echo, style

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.evaluations import EvaluationRecord

_T = TypeVar("_T")
_GOOD, _SIDES = {"g": "good", "b": "bad"}, {"1": "better", "2": "worse", "=": "equal"}


@click.command(
    "rate",
    cls=Command,
    epilog="""
    merrow rate 9c1d           good or bad, answer by answer
    merrow rate 9c1d 4f2a      two evaluations side by side, in random order
    merrow rate 9c1d 4f2a 7e0b others.jsonl      rank the products of four systems, item by item
    merrow rate 9c1d 4f2a 7e0b --ballot votes    write the products and a ballot for other people
    merrow rate 9c1d 4f2a 7e0b --from votes/ballot.csv
    merrow rate 9c1d 4f2a 7e0b --report --format html -o rating.html
    """,
)
@click.argument("evaluations", metavar="EVAL...", nargs=-1, required=True, shell_complete=shell_completion.evaluations)
@click.option("--again", is_flag=True, help="Also ask about answers that were rated before.")
@click.option("--notes", is_flag=True, help="Ask for a note in your own words after each verdict.")
@click.option(
    "--rank", is_flag=True, help="Rank the products of two evaluations; of three or more they are always ranked."
)
@click.option(
    "--rater", default="me", show_default=True, metavar="NAME", help="Who ranks: rankings are kept for each name."
)
@click.option("--seed", type=int, default=42, show_default=True, help="Which product gets which letter.")
@click.option(
    "--ballot", metavar="DIR", help="Write the products under their letters and a ballot.csv to a new folder."
)
@click.option("--from", "source", metavar="FILE", help="Read rankings from a filled-in ballot or a file of JSON Lines.")
@click.option("--report", "only_report", is_flag=True, help="Print what the rankings come to, and ask nothing.")
@format_option("How to print the report of rankings.", ("text", "json", "html"))
@click.option("-o", "--output", "file", metavar="FILE", help="Write the html to this new file.")
def command(
    evaluations: tuple[str, ...],
    again: bool,
    notes: bool,
    rank: bool,
    rater: str,
    seed: int,
    ballot: str | None,
    source: str | None,
    only_report: bool,
    output: str,
    file: str | None,
) -> None:
    """Rate the answers of the evaluation EVAL on a terminal, each shown without its score, as good or bad. With
    a second EVAL, the answers of both to the same item are shown in random order, without saying which is which.
    With three or more, the products of each item are ranked. For ranking, an EVAL may also be a file of JSON
    Lines with the `item` and `output` of each product of another system.

    Each rating is saved at once. `--metric labels` scores by these ratings, and `merrow show EVAL` shows how
    well a metric agrees with them. Rankings give points: of four systems the first gets 4 and the last 1.
    """
    options = bool(ballot or source or only_report or file or output != "text")
    if len(evaluations) > 2 or rank or options:
        from merrow_server.cli.sessions.ranking import RankingRequest, rank_products

        if notes:
            raise InputError("--notes goes with good and bad, or with two evaluations; leave it out to rank.")
        asked = RankingRequest(evaluations, rater, seed, again, ballot, source, only_report, output, file)
        rank_products(asked)
        return
    evaluation, second = evaluations[0], evaluations[1] if len(evaluations) > 1 else None
    from merrow_runtime.store.database import Store
    from merrow_server.cli.given.inputs import can_ask

    if not can_ask():
        raise InputError("merrow rate asks a person; start it on a terminal.")
    with closing(Store.open()) as user:
        first = user.evaluations.get(evaluation)
        if second is None:
            _rate(user, first, again=again, notes=notes)
        else:
            _compare(user, first, user.evaluations.get(second), again=again, notes=notes)


def _rate(user: Store, record: EvaluationRecord, *, again: bool, notes: bool) -> None:
    rated = 0
    answers = _answers(user, record)
    for item, (kept, row) in _shuffled(answers):
        if not again and user.labels.get(item, kept) is not None:
            continue
        _show_inputs(row)
        _show("answer", row["output"])
        answer = _asked("good, bad, skip or quit", [*_GOOD, "s", "q"])
        if answer == "q":
            break
        if answer in _GOOD:
            note = _note() if notes else None
            user.labels.put(item, kept, "good" if answer == "g" else "bad", note=note)
            rated += 1
    left = sum(user.labels.get(item, kept) is None for item, (kept, _) in answers.items())
    echo(f"{rated} rated, {left} left.")


def _compare(user: Store, first: EvaluationRecord, second: EvaluationRecord, *, again: bool, notes: bool) -> None:
    from merrow_optimizer.evaluation.statistics.paired import mcnemar, p_text

    own, other = _answers(user, first), _answers(user, second)
    pairs = {item: (own[item], other[item]) for item in own.keys() & other.keys() if own[item][0] != other[item][0]}
    chance = random.SystemRandom()
    for item, ((kept, row), (kept_other, row_other)) in _shuffled(pairs):
        if not again and user.labels.get(item, kept, kept_other) is not None:
            continue
        turned = chance.random() < 0.5
        _show_inputs(row)
        for number, shown in enumerate((row_other, row) if turned else (row, row_other), start=1):
            _show(f"answer {number}", shown["output"])
        answer = _asked("which is better: 1, 2, = (equal), skip or quit", [*_SIDES, "s", "q"])
        if answer == "q":
            break
        if answer in _SIDES:
            verdict = "equal" if answer == "=" else "better" if (answer == "1") != turned else "worse"
            note = _note() if notes else None
            user.labels.put(item, kept, verdict, kept_other, note=note)  # type: ignore[arg-type]
    said_of = [user.labels.get(item, kept, kept_other) for item, ((kept, _), (kept_other, _)) in pairs.items()]
    better, worse, equal = (said_of.count(word) for word in ("better", "worse", "equal"))
    echo(
        f"{first.id} is better on {better}, {second.id} on {worse}, equal on {equal}, {said_of.count(None)} left;"
        f" {p_text(mcnemar(better, worse))} (exact)."
    )


def _answers(user: Store, record: EvaluationRecord) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """The first answer to each item: by the hash of the item, as it is kept and as it is shown."""
    from merrow_runtime.store.evaluations import output_text
    from merrow_server.evaluations.evaluation_data import evaluation_report
    from merrow_server.evaluations.known_items import KnownItems

    known = KnownItems.of(record.plan)
    if not known.has_hashes:
        raise InputError(f"Evaluation {record.id} was made by an older Merrow; evaluate again, which costs nothing.")
    return {
        known.hash(row["item"]) or "": (output_text(row["output"]), row)
        for row in evaluation_report(user, record, whole=True)["rows"]
        if row["repeat"] == 0 and "output" in row
    }


def _shuffled(answers: Mapping[str, _T]) -> Iterator[tuple[str, _T]]:
    every = list(answers.items())
    random.SystemRandom().shuffle(every)
    yield from every


def _show_inputs(row: Mapping[str, Any]) -> None:
    for name, value in (row["inputs"] or {}).items():
        _show(name, value)


def _show(heading: str, value: Any) -> None:
    from merrow_runtime.values import as_text

    echo(f"\n{style(heading, fg='cyan')}\n{plain(as_text(value))}")


def _note() -> str | None:
    """What a person adds in words; None, which leaves an earlier note, where they add nothing."""
    try:
        note: str = click.prompt("a note, or Enter for none", default="", show_default=False, err=True)
    except click.Abort:
        return None
    return note.strip() or None


def _asked(question: str, answers: list[str]) -> str:
    """What a person answers; ``q`` where the typing ends."""
    try:
        answer: str = click.prompt(f"\n{question}", type=click.Choice(answers), err=True)
    except click.Abort:
        return "q"
    return answer
