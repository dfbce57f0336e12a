"""``merrow mutate``: safe mutations of a workflow, listed, applied, or drawn at random."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from merrow_analysis.text import TextEdit, apply_edits, split_lines
from merrow_optimizer.mutations.base import Move, NewFile, Refused
from merrow_optimizer.mutations.calls.files import Files
from merrow_optimizer.mutations.moves import DEFAULT, MAX_NODES, Choice, find, moves, random_mutants
from merrow_optimizer.mutations.subject import why_unchangeable
from merrow_server.checking import the_diagram
from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.options import CONFIG_OPTIONS, diagram_argument, with_options
from merrow_server.cli.output import complain, print_diff
from merrow_server.errors import InputError
from merrow_server.files import create, read, write
from merrow_server.opening import Opened, open_diagram
from merrow_server.patterns import operators_of
from merrow_server.positions import wire_range
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.settings import Settings


@click.command(
    "mutate",
    cls=Command,
    epilog="""
    merrow mutate flow.mmd --list                         every safe mutation, a line each
    merrow mutate flow.mmd --apply 3f2a90c1d4e7           the mutant of that id, on standard output
    merrow mutate flow.mmd --apply 3f2a90c1d4e7 --write   the same, written to flow.mmd
    merrow mutate flow.mmd --random 5 --seed 1            five in a row, as differences
    merrow mutate flow.mmd --random 100 --seed 1 --format json | jq -r .title
    """,
)
@diagram_argument
@click.option("--list", "listing", is_flag=True, help="List every safe mutation.")
@click.option("--apply", "identifier", metavar="ID", help="Print the workflow after the mutation with this id.")
@click.option(
    "--write", "write_files", is_flag=True, help="With --apply: write FILE, and files that come with the mutation."
)
@click.option(
    "--random", "count", type=click.IntRange(min=0), metavar="N", help="N random safe mutants, one after another."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option(
    "--max-nodes",
    type=click.IntRange(min=1),
    default=MAX_NODES,
    show_default=True,
    metavar="N",
    help="How many nodes a mutant may grow to.",
)
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print; json is an object a line.",
)
@with_options(CONFIG_OPTIONS)
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    listing: bool,
    identifier: str | None,
    write_files: bool,
    count: int | None,
    seed: int,
    max_nodes: int,
    output: str,
    config: str | None,
    no_config: bool,
) -> None:
    """Change the workflow in FILE so that it stays valid.

    Exactly one of --list, --apply and --random says what to do. The same file and seed give the same mutants. FILE
    itself is left alone without --write, and a mutation that makes a file of a part never writes over one that is
    there. The exit code is 1 when the mutation asked for is not safe, or when no safe one is left.
    """
    if sum((listing, identifier is not None, count is not None)) != 1:
        raise click.UsageError("Say one of --list, --apply ID and --random N.", ctx)
    if write_files and identifier is None:
        raise click.UsageError("--write goes with --apply ID.", ctx)
    opened = open_diagram(file, config, use_files=not no_config)
    unchangeable = why_unchangeable(opened.analysis)
    if unchangeable is not None:
        raise InputError(f"{opened.target.name} {unchangeable}.")
    if opened.analysis.refusals:
        first = opened.in_file(opened.analysis.refusals[0].range).start.line + 1
        raise InputError(f"{opened.target.name} can't be changed: Mermaid refuses it on line {first}. Fix that first.")
    settings = Settings(config, use_files=not no_config)
    target = opened.target
    settled = settings.config(target)
    files = Files(settings.relative_path(target), settings.surroundings.provider(target.base), settled)
    operators, problems = operators_of(target.base, settings.surroundings, settled.patterns)
    for problem in problems:
        complain(f"{problem.message} ({problem.path})")
    choice = replace(DEFAULT, operators=operators, max_nodes=max_nodes, files=files)
    as_json = output == "json"
    if listing:
        _list(opened, choice, as_json)
    elif identifier is not None:
        if not _apply(opened, choice, identifier, as_json, write_files):
            ctx.exit(NOT_WELL)
    elif count is not None and not _random(opened, choice, count, seed, as_json):
        ctx.exit(NOT_WELL)


def _list(opened: Opened, choice: Choice, as_json: bool) -> None:
    lines = split_lines(opened.text)
    for move in moves(opened.analysis, choice):
        if as_json:
            edits = [
                {"range": wire_range(lines, edit.range), "newText": edit.new_text}
                for edit in _edits_in_file(opened, move)
            ]
            emit(json.dumps({**_object(opened, move), "edits": edits, **_created(move)}))
        else:
            echo(f"{move.id}  {move.operator:<12}  {move.title}")


def _apply(opened: Opened, choice: Choice, identifier: str, as_json: bool, write_files: bool) -> bool:
    found = find(opened.analysis, identifier, choice)
    if found is None:
        raise InputError(
            f"{opened.target.name} has no mutation {identifier}; merrow mutate {opened.target.name} --list shows all."
        )
    if isinstance(found, Refused):
        if as_json:
            refused = {"id": identifier, "title": found.title, "precondition": found.precondition}
            emit(json.dumps({**refused, "message": found.reason}))
        complain(f"{found.title} is not safe ({found.precondition}): {found.reason}")
        return False
    text = apply_edits(opened.text, _edits_in_file(opened, found))
    if write_files:
        _write(opened, text, found.created)
    if as_json:
        emit(json.dumps({**_object(opened, found), "text": text, **_created(found)}))
    elif not write_files:
        emit(text, nl=False)
        for file in found.created:
            complain(f"The mutant calls {file.path}, which is not written yet: --write writes both files.")
    return True


def _write(opened: Opened, text: str, created: Iterable[NewFile]) -> None:
    """Write the new files, none of which may be there, then the workflow. Raises `InputError`, and leaves nothing half done."""
    target = opened.target
    if target.path is None:
        raise InputError("Standard input can't be written; name a file.")
    made: list[Path] = []
    try:
        for file in created:
            path = target.base / file.path
            create(path, file.text)
            made.append(path)
        write(target.path, replace(read(target), text=text))
    except InputError:
        for path in made:
            path.unlink(missing_ok=True)
        raise
    for path in (*made, target.path):
        echo(f"{path.name} is written.", err=True)


def _created(move: Move) -> dict[str, Any]:
    return {"created": [file._asdict() for file in move.created]} if move.created else {}


def _random(opened: Opened, choice: Choice, count: int, seed: int, as_json: bool) -> bool:
    made = 0
    for before, move, after in _chain(opened, choice, count, seed):
        made += 1
        if as_json:
            emit(json.dumps({**_object(before, move), "text": after}))
        else:
            echo(style(f"{move.id}  {move.title}", bold=True))
            print_diff(opened.target.name, before.text, after)
    if made < count:
        complain(f"No safe mutation is left after {made} of {count}; --max-nodes may leave no room.")
    return made == count


def _chain(opened: Opened, choice: Choice, count: int, seed: int) -> Iterator[tuple[Opened, Move, str]]:
    """Each mutation with the file before it and its text after it."""
    start = opened.text if opened.fence is None else opened.fence.text
    for mutant in random_mutants(start, count, seed, choice):
        text = apply_edits(opened.text, _edits_in_file(opened, mutant.move))
        yield opened, mutant.move, text
        _, fence = the_diagram(opened.target, text)
        opened = replace(opened, text=text, fence=fence)


def _edits_in_file(opened: Opened, move: Move) -> list[TextEdit]:
    return list(move.edits) if opened.fence is None else opened.fence.edits_to_host(move.edits)


def _object(opened: Opened, move: Move) -> dict[str, Any]:
    lines = split_lines(opened.text)
    target = wire_range(lines, opened.in_file(move.target))
    return {"id": move.id, "operator": move.operator, "title": move.title, "target": target}
