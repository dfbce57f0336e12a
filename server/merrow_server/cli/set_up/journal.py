"""``merrow journal``: where the journal is, whether it is sound, and a copy of it in another place."""

from __future__ import annotations

import json
import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.options.common import format_option
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.listed import Listed

_ALL = 10**9


@click.command(
    "journal",
    cls=Command,
    epilog="""
    merrow journal info
    merrow journal check
    merrow journal copy ~/.local/state/merrow/runs.sqlite postgresql://ann@db.example.org/merrow?sslmode=verify-full
    """,
)
@click.argument("what", type=click.Choice(["info", "check", "copy"]))
@click.argument("places", nargs=-1, metavar="[FROM TO]")
@format_option()
@click.pass_context
def command(ctx: click.Context, what: str, places: tuple[str, ...], output: str) -> None:
    """Show where the journal is and what is in it (`info`), look whether all of it can be read and make what is missing of its
    tables (`check`), or copy it (`copy FROM TO`). FROM and TO are files or URLs; what is there already stays.

    The exit code of `check` is 1 when something is damaged.
    """
    if (what == "copy") != (len(places) == 2) or (what != "copy" and places):
        raise click.UsageError("merrow journal copy takes two places, FROM and TO; info and check take none.")
    if what == "copy":
        shown = _copy(*places)
        if output == "json":
            emit(json.dumps(shown, indent=2))
        else:
            echo(f"Copied: {_in_words(shown['copied'])}. Already there: {shown['there']:,}.")
        return
    from merrow_runtime.store.database import Store

    with closing(Store.open(reading=what == "info")) as store:
        shown = _info(store)
        damaged: list[str] = [] if what == "info" else _damaged(store)
    if output == "json":
        emit(json.dumps(shown if what == "info" else {**shown, "damaged": damaged}, indent=2))
    elif what == "info":
        echo(f"{shown['place']}: {_in_words(shown['counts'])}; {shown['bytes'] / 1e6:.1f} MB")
        echo(f"You are {shown['author']} there, and may {'write' if shown['writes'] else 'only read'}.")
    else:
        for sentence in damaged:
            echo(visible(sentence))
        echo("All of it can be read." if not damaged else f"{counted(len(damaged), 'record')} can't be read.")
    if damaged:
        ctx.exit(NOT_WELL)


def _info(store: Store) -> dict[str, Any]:
    from merrow_runtime.store.address import author

    counts = {"runs": store.run_count}
    for kept in _kinds(store):
        counts[kept.words] = kept.count
    return {
        "place": store.place,
        "counts": counts,
        "bytes": store.size,
        "author": author(),
        "writes": store.refused is None,
    }


def _kinds(store: Store) -> list[Listed[Any]]:
    return [store.evaluations, store.optimizations, store.extractions, *store.jobs.values()]


def _damaged(store: Store) -> list[str]:
    """A sentence about each record that can't be read, also of the runs of evaluations, searches and other jobs."""
    from merrow_runtime.errors import StoreFailure

    found = _damaged_runs(store)
    for kept in _kinds(store):
        for record in kept.newest(_ALL, report=found.append):
            try:
                with store.looking_into(record.id) as own:
                    found += [] if own is None else _damaged_runs(own)
            except StoreFailure as problem:
                found.append(str(problem))
    return found


def _damaged_runs(store: Store) -> list[str]:
    found: list[str] = []
    for run in store.runs(_ALL, report=found.append):
        store.calls(run.id, report=found.append)
        store.told(run.id, found.append)
    store.check_asks(found.append)
    return found


def _copy(source: str, target: str) -> dict[str, Any]:
    from merrow_runtime.store.address import INSECURE_VARIABLE
    from merrow_runtime.store.copying import copy, opened_at

    insecure = bool(os.environ.get(INSECURE_VARIABLE))
    with (
        closing(opened_at(source, insecure=insecure, reading=True)) as before,
        closing(opened_at(target, insecure=insecure, reading=False)) as after,
    ):
        copied = copy(before, after)
    return {"copied": copied.counts, "there": copied.there}


def _in_words(counts: dict[str, int]) -> str:
    names = {"optimizations": "searches", "jobs": "plans, suggestions and reproductions"}
    told = [f"{count:,} {names.get(name, name)}" for name, count in counts.items() if count]
    return ", ".join(told) or "nothing"
