"""No option of a command is forgotten in the editor: its picker asks for it, or it is said here why not."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from merrow_optimizer.evaluation.metrics import METRICS, NUMBER_OPTIONS
from merrow_server.cli.evaluate import batch, evaluate, reproduce
from merrow_server.jobs.orders import ASKED

SOURCES = Path(__file__).parents[2] / "vscode-extension" / "src"

OWN_QUESTIONS = {
    "--dataset": "dataset",
    "--map": "mapping",
    "--gold": "golds",
    "--metric": "metrics",
    "--metric-option": "metricOptions",
    "--answers": "answers",
    "--person": "person",
    "--tools": "tools",
    "--fake-tools": "fakeTools",
    "--limit": "limit",
    "--fail-under": "gates",
    "--output": "output",
}
"""Options that have a question of their own, by their names in what the editor asks of the server."""

SETTINGS = {"--model": "merrow.model", "--base-url": "merrow.endpoint"}
"""Options that are settings of the editor."""

NOT_ASKED = {
    "--dry-run": "it is shown before every job",
    "--format": "a page shows the results",
    "--compare": "two evaluations are compared by a command of its own",
    "--fail-under-lower": "gates of a build",
    "--baseline": "gates of a build; two evaluations are compared by a command of its own",
    "--max-drop": "gates of a build",
    "--fail-if-worse": "gates of a build",
    "--allow-errors": "gates of a build",
    "--allow-exhausted": "gates of a build",
    "--memory": "a table of several evaluations",
    "--models": "a table of several evaluations",
    "--override-models": "for studies of models; the editor's workflow is at hand to be changed",
    "--engine": "a cluster is set up in a terminal",
    "--scheduler": "a cluster is set up in a terminal",
    "--chunk": "a cluster is set up in a terminal",
}
STUDIES = re.compile(r"--(refine|mask)\b.*")
"""Options for studies of workflows that are changed while they run; a workflow's own `refine` holds in the editor, too."""

REPRODUCE = {
    "--data": "data",
    "--rows": "rows",
    "--items": "items",
    "--models": "models",
    "--budget-usd": "budget",
    "--simulate": "simulate",
    "--other-data": "otherData",
    "--recipes": "recipes",
}
NOT_ASKED_TO_REPRODUCE = {
    "--base-url": "the setting merrow.endpoint",
    "--concurrency": "the endpoint's own, as the configuration says",
    "--budget-tokens": "dollars are asked for, which people know",
    "--budget-seconds": "it is stopped by a button",
    "--yes": "a dialog asks",
    "--dry-run": "it is shown before every job",
    "--exact": "arithmetic of a paper that asks no model, for readers of the table",
    "--out": "a folder beside the workspace's files, with the id",
    "--format": "a page shows the table",
    "--output": "a page shows the table",
}


def options(command: click.Command) -> set[str]:
    """The long names of the options of a command, one for each."""
    found = (param.opts for param in command.params if isinstance(param, click.Option))
    return {max(names, key=len) for names in found} - {"--help", "--help-all"}


def source(*names: str) -> str:
    return "".join((SOURCES / name).read_text("utf-8") for name in names)


def more() -> dict[str, str]:
    """What the picker asks for among others, by options."""
    text = source("evaluations/options.ts")
    return {option: key for key, option in re.findall(r"\{ key: '(\w+)', option: '(--[\w-]+)'", text)}


@pytest.mark.parametrize("command", [evaluate.command, batch.command], ids=["evaluate", "batch"])
def test_every_option_of_an_evaluation_and_a_batch_is_asked_for_or_it_is_said_why_not(command: click.Command) -> None:
    asked, known = more(), options(command)
    assert len(asked) >= 12
    left = {name for name in known if not STUDIES.fullmatch(name)}
    assert left - asked.keys() - OWN_QUESTIONS.keys() - SETTINGS.keys() - NOT_ASKED.keys() == set()


def test_nothing_is_excused_that_is_asked_for_or_that_there_is_not() -> None:
    known = options(evaluate.command) | options(batch.command)
    for some in (more(), OWN_QUESTIONS, SETTINGS, NOT_ASKED):
        assert some.keys() <= known
    named = [*more(), *OWN_QUESTIONS, *SETTINGS, *NOT_ASKED]
    assert len(named) == len(set(named))


def test_what_the_picker_asks_for_is_what_the_server_takes() -> None:
    budget = {"usd", "tokens", "seconds"}
    assert set(more().values()) - budget <= ASKED.keys()
    picked = source("evaluations/starting.ts", "evaluations/choosing.ts")
    for key in OWN_QUESTIONS.values():
        assert key in ASKED or key == "output"
        assert re.search(rf"\.\.\.\w+, {key}\b|\b(?:found|question)\.{key}\b|\{{ {key}\b", picked), key


def test_every_metric_is_explained_and_its_numbers_are_numbers() -> None:
    text = source("evaluations/fields.ts")
    assert set(re.findall(r"^  \['([\w@-]+)', '", text, re.MULTILINE)) == set(METRICS)
    numbers = re.search(r"NUMBERS: .*?\[(.*?)\]", text)
    assert numbers is not None
    assert set(re.findall(r"'(\w+)'", numbers[1])) == set(NUMBER_OPTIONS)


def test_every_option_of_a_reproduction_is_asked_for_or_it_is_said_why_not() -> None:
    assert options(reproduce.command) == REPRODUCE.keys() | NOT_ASKED_TO_REPRODUCE.keys()
    question = source("reproductions/index.ts")
    for key in REPRODUCE.values():
        assert re.search(rf"\b{key}\b", question), key
