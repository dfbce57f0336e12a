"""What ``merrow mutate`` does with an opened workflow: lists its moves, applies one, or draws them at random."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from merrow_analysis import faults
from merrow_analysis.text import TextEdit, apply_edits, split_lines
from merrow_optimizer.mutations.base import Move, MoveRefusal, NewFile
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.moves import DEFAULT, MoveFilter, find, moves, random_mutants
from merrow_optimizer.mutations.original import why_unchangeable
from merrow_server.changes.patterns import operators_of
from merrow_server.checking import the_diagram
from merrow_server.errors import InputError
from merrow_server.files import created, read, write
from merrow_server.opening import Opened, open_diagram
from merrow_server.positions import wire_range
from merrow_server.rendering.output import complain, print_diff
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.settings import Settings


def open_workflow(file: str, config: str | None, *, use_files: bool) -> Opened:
    """The one workflow of a file, which can be changed. Raises `InputError`."""
    opened = open_diagram(file, config, use_files=use_files)
    unchangeable = why_unchangeable(opened.analysis)
    if unchangeable is not None:
        raise InputError(f"{opened.target.name} {unchangeable}.")
    if opened.analysis.refusals:
        first = opened.in_file(opened.analysis.refusals[0].range).start.line + 1
        raise InputError(f"{opened.target.name} can't be changed: Mermaid refuses it on line {first}. Fix that first.")
    return opened


def choice_for(opened: Opened, max_nodes: int, config: str | None, *, use_files: bool) -> MoveFilter:
    """The moves that the settings around a workflow allow; says which patterns can't be used."""
    settings, target = Settings(config, use_files=use_files), opened.target
    settled = settings.config(target)
    provider = settings.surroundings.provider(target.base)
    files = Files(settings.relative_path(target), provider, settled, opened.analyser)
    operators, problems = operators_of(target.base, settings.surroundings, settled.patterns)
    for problem in problems:
        complain(f"{problem.message} ({problem.path})")
    return replace(DEFAULT, operators=operators, max_nodes=max_nodes, files=files)


def list_moves(opened: Opened, choice: MoveFilter, as_json: bool) -> bool:
    """Print every safe move, a line each; whether Merrow failed at none."""
    lines = split_lines(opened.text)
    failures: list[Exception] = []

    def failed(problem: Exception) -> None:
        if faults.are_raised():
            raise problem
        failures.append(problem)
        complain(f"{opened.target.name}: {faults.sentence('one mutation is not listed, all others are', problem)}")

    for move in moves(opened.analysis, choice, failed):
        if as_json:
            edits = [
                {"range": wire_range(lines, edit.range), "newText": edit.new_text}
                for edit in _edits_in_file(opened, move)
            ]
            emit(json.dumps({**_object(opened, move), "edits": edits, **_created(move)}))
        else:
            echo(f"{move.id}  {move.operator:<12}  {move.title}")
    return not failures


def apply_move(opened: Opened, choice: MoveFilter, identifier: str, as_json: bool, write_files: bool) -> bool:
    """Print or write the workflow after a move; whether the move is safe. Raises `InputError` where there is none of this id."""
    move = find(opened.analysis, identifier, choice)
    if move is None:
        raise InputError(
            f"{opened.target.name} has no mutation {identifier}; merrow mutate {opened.target.name} --list shows all."
        )
    if isinstance(move, MoveRefusal):
        if as_json:
            refused = {"id": identifier, "title": move.title, "precondition": move.precondition}
            emit(json.dumps({**refused, "message": move.reason}))
        complain(f"{move.title} is not safe ({move.precondition}): {move.reason}")
        return False
    text = apply_edits(opened.text, _edits_in_file(opened, move))
    if write_files:
        _write(opened, text, move.created)
    if as_json:
        emit(json.dumps({**_object(opened, move), "text": text, **_created(move)}))
    elif not write_files:
        emit(text, nl=False)
        for file in move.created:
            complain(f"The mutant calls {file.path}, which is not written yet: --write writes both files.")
    return True


def _write(opened: Opened, text: str, new: Iterable[NewFile]) -> None:
    """Write the new files, none of which may be there, then the workflow. Raises `InputError`, and leaves nothing half done."""
    target = opened.target
    if target.path is None:
        raise InputError("Standard input can't be written; name a file.")
    with created((target.base / file.path, file.text) for file in new) as made:
        write(target.path, replace(read(target), text=text))
    for path in (*made, target.path):
        echo(f"{path.name} is written.", err=True)


def _created(move: Move) -> dict[str, Any]:
    return {"created": [file._asdict() for file in move.created]} if move.created else {}


def print_random(opened: Opened, choice: MoveFilter, count: int, seed: int, as_json: bool) -> bool:
    """Print random mutants, each made from the one before; whether there were as many as asked for."""
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


def _chain(opened: Opened, choice: MoveFilter, count: int, seed: int) -> Iterator[tuple[Opened, Move, str]]:
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
