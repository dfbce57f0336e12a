"""``merrow show EVAL``: an evaluation with all its items, or one of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_analysis.suggest import closest
from merrow_runtime.values import as_text
from merrow_server.errors import InputError
from merrow_server.evaluations.evaluation_data import (
    evaluation_report,
    field_text,
    item_object,
    with_inputs,
    with_verdicts,
)
from merrow_server.evaluations.evaluation_formats import WHOLE, formatted
from merrow_server.evaluations.known_items import KnownItems
from merrow_server.evaluations.tables import CUT, report_lines
from merrow_server.files import write_bytes
from merrow_server.rendering.snippet import plain, visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.reports.run_report import cost_text, workflow_text
from merrow_server.times import ago, duration

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


def show_evaluation(user: Store, evaluation: str, item: str | None, output: str, file: str | None) -> None:
    """Print an evaluation, or one item of it; the whole one to a ``file`` where it is named. Raises `InputError`."""
    record = user.evaluations.get(evaluation)
    if item is None:
        report = evaluation_report(user, record, whole=output in WHOLE, longest=CUT if output == "text" else None)
        if file is not None:
            parts = formatted(report, output)
            write_bytes(Path(file), (part.encode("utf-8", "surrogatepass") for part in parts))
            return
        if output != "text":
            emit(formatted(report, output))
            return
        echo(
            f"{record.id}  {report['status']}  {ago(record.started)}  {visible(workflow_text(record.workflow))}"
            f" on {visible(workflow_text(report['dataset']))} (part {record.part})"
        )
        if record.error:
            echo(style(plain(record.error), fg="red"))
        for line in report_lines(report, whole=True, style=style):
            echo(line)
        return
    if output not in ("text", "json"):
        raise InputError(f"--format {output} shows a whole evaluation; leave out --item.")
    known = KnownItems.of(record.plan)
    if item not in known:
        near = closest(item, known)
        hint = f" Did you mean {near}?" if near else ""
        raise InputError(f"Evaluation {record.id} has no item {item}.{hint}")
    scores = [user.evaluations.score(record.id, item, repeat) for repeat in range(record.repeats)]
    objects = with_inputs(user, [item_object(score, known) for score in scores if score is not None])
    if user.labels.edition:
        objects = with_verdicts(user, record, objects, known)
    if output == "json":
        emit(json.dumps(objects, indent=2))
        return
    if not objects:
        echo(f"Item {visible(item)} was not asked yet; continue it with: merrow resume {record.id}")
    for number, answer in enumerate(objects):
        if number:
            echo("")
        for line in _lines(answer, several=record.repeats > 1):
            echo(line)


def _input_lines(inputs: Mapping[str, Any] | None) -> Iterator[str]:
    """What was asked, a part for each input."""
    if inputs is None:
        yield f"\n{style('inputs', fg='cyan')}\nunknown: its run is not in the journal"
    for name, value in (inputs or {}).items():
        yield f"\n{style(f'input {visible(name)}', fg='cyan')}\n{plain(as_text(value))}"


def _lines(answer: Mapping[str, Any], *, several: bool) -> Iterator[str]:
    which = f", answer {answer['repeat'] + 1}" if several else ""
    value = "" if answer["value"] is None else f" {answer['value']:g}"
    yield f"{style(visible(answer['title']), bold=True)}{which}: {answer['status']}{value}"
    yield f"{cost_text(answer['usage'])}, {duration(answer['seconds'])}, run {answer['run']}"
    yield from _input_lines(answer["inputs"])
    for name, field in answer["fields"].items():
        yield f"\n{style(f'field {visible(name)}', fg='cyan')}\n{plain(field_text(field))}"
    whole = () if answer["fields"] else (("answer", answer["read"]), ("expected", answer["gold"]))
    for heading, text in (*whole, ("reason", answer["reason"])):
        if text:
            yield f"\n{style(heading, fg='cyan')}\n{plain(text)}"
    if "output" in answer:
        yield f"\n{style('output', fg='cyan')}\n{plain(as_text(answer['output']))}"
    if answer.get("verdict"):
        yield f"\n{style('people', fg='cyan')}\n{': '.join(filter(None, (answer['verdict'], plain(answer.get('note', '')))))}"
    yield f"\nSee its nodes with: merrow show {answer['run']}"
