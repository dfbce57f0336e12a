"""What ``merrow suggest`` prints and writes of suggestions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from merrow_analysis.text import apply_edits
from merrow_optimizer.mutations.moves import OPERATORS, Proposals
from merrow_optimizer.suggestions.session import SuggestionOutcome
from merrow_server.asking_jobs import EndedJob
from merrow_server.asking_words import usage_sentence
from merrow_server.changes.patterns import operators_of
from merrow_server.cli import NOT_WELL, OK
from merrow_server.cli.sessions.asking_session import Finish
from merrow_server.errors import InputError
from merrow_server.files import discover, read, write
from merrow_server.opening import Opened
from merrow_server.rendering.output import complain, print_diff
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.settings import Settings
from merrow_server.suggestions.suggestion_words import run_text, score_text, valid_lines

Json = dict[str, Any]


def operators_beside(file: str) -> Mapping[str, Proposals]:
    """The mutations of the workspace that a workflow is in; what is wrong with its patterns is said."""
    targets = discover([file]).targets
    if len(targets) != 1:
        return OPERATORS
    settings = Settings(None)
    operators, problems = operators_of(targets[0].base, settings.surroundings, settings.config(targets[0]).patterns)
    for problem in problems:
        complain(f"{problem.message} ({problem.path})")
    return operators


def finishing(name: str, text: str, *, as_json: bool) -> Finish[SuggestionOutcome]:
    """Prints suggestions for the workflow ``name``, whose ``text`` was this."""

    def finish(_ended: EndedJob[SuggestionOutcome], told: Json) -> int:
        if as_json:
            emit(json.dumps(told, indent=2))
        else:
            print_suggestions(name, text, told)
        return OK if told["suggestions"] else NOT_WELL

    return finish


def finishing_file(opened: Opened, chosen: int | None, *, as_json: bool) -> Finish[SuggestionOutcome]:
    """The same for a file, whose whole text they are then of; the suggestion with the number ``chosen`` is written into it."""
    shown = finishing(opened.target.name, opened.text, as_json=as_json)

    def finish(ended: EndedJob[SuggestionOutcome], told: Json) -> int:
        assert ended.outcome is not None  # noqa: S101 (there is a report)
        for entry, suggestion in zip(told["suggestions"], ended.outcome.suggestions, strict=True):
            edits = list(suggestion.edits)
            entry["text"] = apply_edits(
                opened.text, edits if opened.fence is None else opened.fence.edits_to_host(edits)
            )
        texts = [entry["text"] for entry in told["suggestions"]]
        if chosen is None:
            return shown(ended, told)
        if chosen > len(texts):
            there = "None passed" if not texts else f"Suggestions that passed: {len(texts)}"
            complain(f"{there}, so number {chosen} can't be applied.")
        else:
            _write(opened, texts[chosen - 1])
        if as_json:
            emit(json.dumps(told, indent=2))
        return OK if chosen <= len(texts) else NOT_WELL

    return finish


def _write(opened: Opened, text: str) -> None:
    assert opened.target.path is not None  # noqa: S101 (it was loaded from there)
    source = read(opened.target)
    if source.text != opened.text:
        raise InputError(f"{opened.target.name} changed meanwhile, so nothing was written; ask again.")
    write(opened.target.path, replace(source, text=text))
    echo(f"{opened.target.name} is written.", err=True)


def print_suggestions(name: str, text: str, told: Json) -> None:
    """Print a report on suggestions for the workflow ``name``, whose ``text`` was this."""
    for number, shown in enumerate(told["suggestions"], 1):
        echo(style(f"{number}  {visible(shown['title'])}  ({score_text(shown['scores'])})", bold=True))
        echo(f"   {visible(shown['reason'])}")
        echo(f"   {visible(shown['effect'])}. A run: {run_text(shown['run'])}; now {run_text(told['run'])}.")
        if shown["scores"] is not None:
            echo(f"   The judge: {visible(shown['scores']['reason'])}")
        print_diff(name, text, shown["text"])
        echo("")
    for refused in told["refused"]:
        echo(f"{style('Refused:', fg='yellow')} {visible(refused['title'])}: {visible(refused['why'])}", err=True)
    for line in valid_lines(told["valid"]):
        echo(line, err=True)
    for notice in told["notices"]:
        echo(f"{style('Note:', fg='yellow')} {visible(notice)}", err=True)
    if told["usage"]["calls"]:
        echo(usage_sentence(told["usage"]), err=True)
    if told["suggestions"]:
        echo(f"Write one with: merrow suggest {visible(name)} --apply K (and the same options).", err=True)
