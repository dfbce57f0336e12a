"""``merrow datasets``: the data sets that are known by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option
from merrow_server.rendering.snippet import cells
from merrow_server.rendering.terminal import echo, emit, style

if TYPE_CHECKING:
    from merrow_optimizer.evaluation.data.catalogue import KnownSet

_STATES = {"ok": "the published file", "other": "another file", "missing": "missing"}


@click.command(
    "datasets",
    cls=Command,
    epilog="""
    merrow datasets                     name, form, records, metric, licence and source of each set
    merrow datasets --data data         which of them are in the folder data, and are the published files
    merrow datasets --format json       everything, with the SHA-256 of each file
    """,
)
@click.option(
    "--data",
    metavar="FOLDER",
    shell_complete=shell_completion.files,
    help="Also say which files are in this folder, by their SHA-256.",
)
@format_option()
def command(data: str | None, output: str) -> None:
    """List the data sets that Merrow knows by name: their form, where they come from, licence and hash.

    Nothing is downloaded. `merrow reproduce` looks for the files in its --data folder, by name and SHA-256;
    `merrow evaluate --dataset` takes any of them by path.
    """
    from merrow_optimizer.evaluation.data.catalogue import known_sets

    known = list(known_sets().values())
    states = None if data is None else {dataset.name: dataset.state(Path(data)) for dataset in known}
    if output == "json":
        emit(json.dumps([_object(dataset, states, data) for dataset in known], indent=2, ensure_ascii=False))
        return
    for line in _lines(known, states):
        echo(line)


def _object(dataset: KnownSet, states: dict[str, Any] | None, data: str | None) -> dict[str, Any]:
    if states is None or data is None:
        return dataset.to_json()
    place = None if states[dataset.name] == "missing" else str(dataset.place(Path(data)).absolute())
    return {**dataset.to_json(), "state": states[dataset.name], "place": place}


def _lines(known: list[KnownSet], states: dict[str, Any] | None) -> list[str]:
    shown = [["NAME", "FORM", "RECORDS", "METRIC", "LICENCE", "AUTHORS", "SHA-256", *(["STATE"] if states else [])]]
    for dataset in known:
        row = [
            dataset.name,
            dataset.form,
            f"{dataset.records:,}",
            dataset.metric or "",
            dataset.licence,
            dataset.authors,
        ]
        row.append("none published" if dataset.sha256 is None else dataset.sha256[:12])
        shown.append([*row, *([_STATES[states[dataset.name]]] if states else [])])
    widths = [max(cells(row[column]) for row in shown) for column in range(len(shown[0]))]
    lines = []
    for number, row in enumerate(shown):
        text = "  ".join(
            value + " " * (width - cells(value)) for value, width in zip(row, widths, strict=True)
        ).rstrip()
        lines.append(style(text, bold=True) if number == 0 else text)
    sources = dict.fromkeys((listed.source, listed.get) for listed in known if listed.get)
    for source, get in sources:
        lines += ["", f"Sets that don't come with Merrow are published at {source}; get them with:", f"    {get}"]
    lines += [f"{remarked.name}: {remarked.remark}" for remarked in known if remarked.remark]
    return lines
