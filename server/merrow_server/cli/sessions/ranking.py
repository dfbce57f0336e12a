"""Products of several systems ranked by a person on a terminal, by ballots, or from files."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from merrow_runtime.values import as_text
from merrow_server.errors import InputError
from merrow_server.evaluations.rankings import (
    Ballot,
    RankedItem,
    as_html,
    ballot_of,
    imported,
    is_ranked,
    keep,
    order_of,
    ranking_rows,
    rankings_report,
    summary_sentences,
)
from merrow_server.files import create
from merrow_server.rendering.counts import counted
from merrow_server.rendering.csv_text import csv_text
from merrow_server.rendering.snippet import cells, plain, visible
from merrow_server.rendering.terminal import echo, emit, style

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


@dataclass(frozen=True, slots=True)
class RankingRequest:
    """What `merrow rate` was asked for; see its options."""

    systems: tuple[str, ...]
    rater: str
    seed: int
    again: bool
    ballot: str | None
    source: str | None
    only_report: bool
    output: str
    file: str | None


def rank_products(asked: RankingRequest) -> None:
    """Rank, write ballots or read rankings, as asked; then print what all rankings come to. Raises `InputError`."""
    from merrow_runtime.store.database import Store
    from merrow_server.cli.given.inputs import can_ask

    if asked.file is not None and asked.output != "html":
        raise InputError("-o writes a page; add --format html.")
    asks = not (asked.ballot or asked.source or asked.only_report or asked.output != "text")
    if asks and not can_ask():
        raise InputError("merrow rate asks a person; start it on a terminal, or use --ballot, --from or --report.")
    with closing(Store.open()) as user:
        ballot = ballot_of(user, asked.systems, asked.seed)
        if asked.ballot is not None:
            _write_ballot(ballot, Path(asked.ballot))
            return
        if asked.source is not None:
            count = imported(user, ballot, asked.source)
            echo(f"{counted(count, 'ranking')} read from {visible(asked.source)}.", err=True)
        if asks:
            _ask(user, ballot, asked)
        _print(user, ballot, asked)


def _ask(user: Store, ballot: Ballot, asked: RankingRequest) -> None:
    for item in ballot.items:
        if len(item.products) < 2 or (not asked.again and is_ranked(user, item, asked.rater)):
            continue
        echo(f"\n{style('item', fg='cyan')} {visible(item.name)}")
        for name, value in item.inputs.items():
            echo(f"\n{style(visible(name), fg='cyan')}\n{plain(as_text(value))}")
        for letter in sorted(item.products):
            echo(f"\n{style(f'product {letter}', fg='cyan')}\n{plain(as_text(item.shown[letter]))}")
        order = _asked(item)
        if order == "quit":
            return
        if not isinstance(order, str):
            keep(user, item, asked.rater, order)


def _asked(item: RankedItem) -> list[list[str]] | str:
    """The order that a person gives, ``skip`` or ``quit``."""
    letters = sorted(item.products)
    example = " ".join(reversed(letters))
    while True:
        try:
            answer: str = click.prompt(f"\nthe best first, such as {example} (= for a tie), skip or quit", err=True)
        except click.Abort:
            return "quit"
        word = answer.strip().casefold()
        if word in ("q", "quit", "s", "skip"):
            return "quit" if word.startswith("q") else "skip"
        try:
            return order_of(answer, item)
        except InputError as problem:
            echo(visible(str(problem)), err=True)


def _write_ballot(ballot: Ballot, folder: Path) -> None:
    """Write each product as files in a folder of its letter, and a ballot to fill in."""
    from merrow_server.output_files import check_folder, file_name, write_outputs

    check_folder(folder)
    rows: list[tuple[str, str, str]] = []
    taken: set[str] = set()
    for item in ballot.items:
        place = file_name(item.name, "", taken)
        taken.add(place.casefold())
        for letter in sorted(item.products):
            shown = item.shown[letter]
            try:
                write_outputs(folder / place / letter, {"product": shown})
            except InputError:  # Its files can't be written as they are named: then it is one text.
                create(folder / place / letter / "product.md", as_text(shown))
        rows.append(("", item.name, ""))
    create(folder / "ballot.csv", csv_text(("rater", "item", "ranking"), rows) + "\n")
    echo(
        f"{counted(len(rows), 'item')} written to {visible(str(folder))}. Have each rater put a name and a ranking such as B A=C"
        " in each row of ballot.csv, and read it with --from."
    )


def _print(user: Store, ballot: Ballot, asked: RankingRequest) -> None:
    report = rankings_report(user, ballot)
    if asked.output == "json":
        emit(json.dumps(report, indent=2))
    elif asked.output == "html" and asked.file is not None:
        create(Path(asked.file), as_html(report))
        echo(f"{visible(asked.file)} is written.")
    elif asked.output == "html":
        emit(as_html(report))
    else:
        table = [[visible(cell) for cell in row] for row in ranking_rows(report)]
        widths = [max(cells(row[column]) for row in table) for column in range(len(table[0]))]
        for number, row in enumerate(table):
            line = "  ".join(
                cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=True)
            ).rstrip()
            echo(style(line, bold=True) if number == 0 else line)
        for sentence in summary_sentences(report):
            echo(sentence)
