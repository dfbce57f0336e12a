"""``merrow stores``: the texts that runs have kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import plain, visible
from merrow_server.rendering.terminal import echo, emit, style

if TYPE_CHECKING:
    from merrow_runtime.documents.kept_store import KeptStore

_ACTIONS = ("list", "show", "add", "forget", "export")
_OPTIONS = {
    "list": {"as_json"},
    "show": {"query", "limit", "as_json"},
    "add": {"file"},
    "forget": {"everything", "yes"},
    "export": {"output"},
}
"""The options that each action takes."""
_LIMIT = 20
_LARGEST = 200_000_000


@click.command(
    "stores",
    cls=Command,
    epilog="""
    merrow stores list
    merrow stores show lessons                          the latest texts, with their rows
    merrow stores show lessons --query "green button"   as a Retrieve finds them
    merrow stores add lessons "Press the green button."
    merrow stores add lessons --file old.jsonl          one text a line, as export writes them
    merrow stores forget lessons 3 7
    merrow stores export lessons -o lessons.jsonl
    """,
)
@click.argument("action", type=click.Choice(_ACTIONS))
@click.argument("words", nargs=-1, metavar="[NAME] [TEXT | ROW...]", shell_complete=shell_completion.kept_stores)
@click.option("--query", metavar="TEXT", help="show: the texts that a Retrieve would find for this, the best first.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help=f"show: at most N texts; {_LIMIT} if none is given."
)
@click.option(
    "--file", metavar="F", shell_complete=shell_completion.files, help="add: the texts of a file of JSON Lines."
)
@click.option("--all", "everything", is_flag=True, help="forget: all texts.")
@click.option("--yes", is_flag=True, help="forget: don't ask.")
@click.option(
    "-o", "--output", metavar="FILE", shell_complete=shell_completion.files, help="export: write to this file."
)
@click.option("--json", "as_json", is_flag=True, help="list and show: print JSON.")
def command(action: str, words: tuple[str, ...], **options: Any) -> None:
    """List, show and change what workflows have kept with Remember.

    A kept store is a file of yours beside the journal, and all workflows that declare its name share it. `forget` removes texts
    by the rows that `show` lists, or all of them; a text that was forgotten is not added again when its run is resumed.
    """
    for name, value in options.items():
        if value and name not in _OPTIONS[action]:
            shown = "--" + {"everything": "all", "as_json": "json"}.get(name, name)
            raise click.UsageError(f"merrow stores {action} does not take {shown}.")
    if action == "list":
        if words:
            raise click.UsageError("merrow stores list takes no name; merrow stores show NAME shows one.")
        _list(as_json=options["as_json"])
        return
    if not words:
        raise click.UsageError(f"Name the store: merrow stores {action} NAME.")
    name, rest = words[0], words[1:]
    if rest and action in ("show", "export"):
        raise click.UsageError(f"merrow stores {action} takes one name.")
    if action == "show":
        _show(name, options["query"], options["limit"] or _LIMIT, as_json=options["as_json"])
    elif action == "add":
        _add(name, rest, options["file"])
    elif action == "forget":
        _forget(name, rest, everything=options["everything"], agrees=options["yes"])
    else:
        _export(name, options["output"])


def _list(*, as_json: bool) -> None:
    from merrow_runtime.documents.kept_store import names_in
    from merrow_runtime.documents.run_stores import stores_folder

    folder = stores_folder()
    found: list[dict[str, Any]] = []
    for name in names_in(folder):
        with _opened(name) as store:
            latest, size = store.latest(), store.path.stat().st_size
            found.append({"name": name, "texts": store.count(), "latest": latest, "bytes": size})
    if as_json:
        emit(json.dumps({"folder": str(folder), "stores": found}, indent=2))
        return
    for one in found:
        when = "" if one["latest"] is None else f", the latest of {_when(one['latest'])}"
        echo(f"{style(visible(one['name']), bold=True)}  {counted(one['texts'], 'text')}{when}")
    if not found:
        echo(
            "No run has kept anything. A workflow does so with Remember and `stores: {lessons: {keep: 200}}`.", err=True
        )


def _show(name: str, query: str | None, limit: int, *, as_json: bool) -> None:
    with _opened(name, must_exist=True) as store:
        count = store.count()
        found = store.listed(max(0, count - limit)) if query is None else store.search(query, limit)
    if as_json:
        keys = ("row", "text", "source", "place", "score", "added")
        rows = [{key: getattr(one, key) for key in keys if key != "score" or query is not None} for one in found]
        emit(json.dumps({"name": name, "texts": count, "rows": rows}, indent=2, ensure_ascii=False))
        return
    for one in found:
        where = ", ".join(part for part in (one.source, one.place) if part)
        echo(f"{style(str(one.row), bold=True)}  {visible(where)}{'  ' if where else ''}{_when(one.added)}")
        for line in plain(one.text).split("\n"):
            echo(f"  {line}")
    if query is None and count > len(found):
        echo(f"{counted(count - len(found), 'older text')} not shown; see --limit and --query.", err=True)
    elif not found:
        echo("It has no texts." if query is None else "No text has these words.", err=True)


def _add(name: str, texts: tuple[str, ...], file: str | None) -> None:
    if bool(texts) == (file is not None) or len(texts) > 1:
        raise click.UsageError("Give one TEXT in quotes, or --file F.")
    rows = [(texts[0], "", "")] if file is None else _rows_of(file)
    from uuid import uuid4

    added = 0
    with _opened(name) as store:
        for text, source, place in rows:
            added += store.add(uuid4().hex, text, None, source, place)
    known = len(rows) - added
    emit(f"{counted(added, 'text')} added to {visible(name)}" + (f"; {known} known already." if known else "."))


def _rows_of(file: str) -> list[tuple[str, str, str]]:
    """The texts of a file, as `export` writes them, with sources and places."""
    from pathlib import Path

    from merrow_analysis.definitions.stores import StoreSettings
    from merrow_runtime.documents.reading import DocumentFile, documents_of
    from merrow_runtime.program.workflow_files import read_path

    text = read_path(Path(file), file, _LARGEST).text
    read = DocumentFile(file, Path(file).with_suffix(".jsonl"))
    documents = documents_of(read, text.encode(), StoreSettings("add", file=file))
    return [(document.text, document.source, document.place) for document in documents]


def _forget(name: str, rows: tuple[str, ...], *, everything: bool, agrees: bool) -> None:
    import sys

    from merrow_server.errors import InputError

    if bool(rows) == everything:
        raise click.UsageError("Give the ROWs that merrow stores show lists, or --all.")
    if not all(row.isdecimal() for row in rows):
        raise click.UsageError("A ROW is a number that merrow stores show lists.")
    with _opened(name, must_exist=True) as store:
        if everything and not agrees:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise InputError("Nobody can be asked here. To forget all texts, add --yes.")
            if not click.confirm(f"Forget all {store.count():,} texts of {name}?", err=True):
                return
        gone = store.forget(None if everything else [int(row) for row in rows])
    if not everything and gone < len(set(map(int, rows))):
        raise InputError(f"{counted(gone, 'text')} forgotten; the store has no other of these rows.")
    emit(f"{counted(gone, 'text')} forgotten.")


def _export(name: str, output: str | None) -> None:
    with _opened(name, must_exist=True) as store:
        rows = store.listed()
    lines = [
        json.dumps({"text": one.text, "source": one.source, "place": one.place}, ensure_ascii=False) for one in rows
    ]
    if output is None:
        for line in lines:
            emit(line)
        return
    from pathlib import Path

    from merrow_server.files import write_bytes

    write_bytes(Path(output), "".join(f"{line}\n" for line in lines).encode())
    emit(f"{visible(output)} has {counted(len(rows), 'text')}.")


@contextmanager
def _opened(name: str, *, must_exist: bool = False) -> Iterator[KeptStore]:
    """A kept store by its name. Raises `InputError` where it can't be one, or is not there."""
    from merrow_analysis.definitions.stores import STORE_NAME
    from merrow_analysis.suggest import closest
    from merrow_runtime.documents.kept_store import KeptStore, names_in
    from merrow_runtime.documents.run_stores import stores_folder
    from merrow_server.errors import InputError

    folder = stores_folder()
    if STORE_NAME.fullmatch(name) is None:
        raise InputError(f"{name} can't name a store: use up to 64 letters, digits, _ and -, starting with a letter.")
    store = KeptStore(name, folder)
    if must_exist and not store.path.is_file():
        near = closest(name, names_in(folder))
        hint = f"did you mean {near}?" if near else "merrow stores list shows those that there are."
        raise InputError(f"There is no kept store {name}; {hint}")
    with closing(store):
        yield store


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
