"""Commands about evaluations: ``merrow.evaluate``, ``merrow.evaluations``, ``merrow.showEvaluation``,
``merrow.compareEvaluations``, ``merrow.deleteEvaluation``, ``merrow.rateAnswer``; and the request ``merrow/evaluation``.

``merrow.evaluate`` takes one object, of which all but ``uri`` and ``dataset`` may be left out:

- ``dataset``, a file: a URI, or a path from the workflow's folder, as the files in ``metricOptions`` are; or the name of a set
  that comes with Merrow; ``diagram``, the number of the diagram in a Markdown file;
- ``reader``, ``mapping`` (a field by input), ``gold``, ``golds`` (by fields of the output the field of the data with the right
  value), ``metrics`` (by fields of the output), ``part``, ``limit``, ``items`` (ids), ``metric``, ``metricOptions``,
  ``repeat``, ``seed``, ``model``, ``judgeModel``, ``baseUrl``, ``concurrency``, ``fresh``, ``answers`` (a field by node),
  ``person``, ``tools``, ``fakeTools`` (a file), ``recipes`` (a folder), ``gates`` (the least score by fields of the output,
  that of the whole under ""): as the options of ``merrow evaluate``;
- ``budget``, ``{usd, tokens, seconds}``;
- ``resume``, an evaluation to go on with; ``uri`` and ``dataset`` are then those that it has;
- ``dryRun``: only say what it may cost; ``agreed``: the user knows that, who is asked otherwise where it may cost something.

It answers the evaluation as ``merrow.evaluations`` lists it, also where it was stopped or cancelled. What can't be evaluated is
an error with a sentence and data, as for runs. ``merrow.batch`` takes the same without gold and metrics, and ``output``, the file
to write (a URI, or a path from the workflow's folder), or
``resume``; it answers the batch as ``merrow runs --kind batch`` lists it.
``merrow.answerFields`` ``{uri, diagram?}`` says which ``fields`` the workflow returns, ``{name, type, metric}`` each, and which
``metrics`` there are, ``{name, options: [{name, needed, file}], whole}``: ``whole`` ones score no fields; and which ``datasets``
come with Merrow. Meanwhile each answer
that is scored goes out in ``merrow/evaluationEvent``, ``{uri, diagram, evaluation, done, total, text, rows}``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

from lsprotocol import types

from merrow_server.features.commands.job_commands import BATCH as BATCHES
from merrow_server.features.commands.job_commands import EVALUATION, JobArgument, fields_of, flag, text, whole
from merrow_server.features.commands.run_commands import asked_of, check_trust, name_of, runnable, tell
from merrow_server.features.commands.run_journal import text_in
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.documents import path_of
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import JobLocation, refused
from merrow_server.lsp.work.workflow_texts import text_of

if TYPE_CHECKING:
    from merrow_server.jobs.orders import EditorWorkflow, EvaluationOrder

EVALUATE, SHOW = "merrow.evaluate", "merrow.showEvaluation"
COMPARE, REPORT = "merrow.compareEvaluations", "merrow/evaluation"
RATE = "merrow.rateAnswer"
BATCH, FIELDS = "merrow.batch", "merrow.answerFields"
LONGEST_NOTE = 2_000
"""Characters of a note beside a verdict."""
_SCORING = ("gold", "golds", "metric", "metrics", "metricOptions", "gates")
_VERDICTS = ("good", "bad", None)
_FIELDS = {
    "reader": text(),
    "mapping": JobArgument(dict, "an object, such as {problem: question}"),
    "gold": text(),
    "golds": JobArgument(dict, "an object, such as {category: kind}"),
    "metrics": JobArgument(dict, "an object, such as {reply: judge}"),
    "part": text(),
    "limit": whole(),
    "items": JobArgument(list, "a list of ids"),
    "metric": text(),
    "metricOptions": JobArgument(dict, "an object"),
    "repeat": whole(),
    "seed": whole(None, None),
    "model": text(),
    "judgeModel": text(),
    "baseUrl": text(),
    "concurrency": whole(),
    "fresh": flag(),
    "answers": JobArgument(dict, "an object, such as {ASK: approved}"),
    "person": text(),
    "tools": text(),
    "fakeTools": text(),
    "gates": JobArgument(dict, "an object of scores, such as {category: 0.9}"),
    "recipes": text(),
}
"""What may be told beside the data."""


def register(server: MerrowServer) -> None:
    server.command(EVALUATE)(evaluate)
    server.command(SHOW)(show)
    server.command(COMPARE)(compare)
    server.command(RATE)(rate)
    server.command(BATCH)(batch)
    server.command(FIELDS)(answer_fields)
    server.feature(REPORT)(report)


async def evaluate(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Evaluate a workflow as it is in the editor, or go on with an evaluation."""
    asked = asked_of(arguments)
    settings = said_of(asked)
    order, place, title = _resumed(server, asked, settings) if "resume" in asked else _new(server, asked, settings)
    ended: dict[str, Any] = await EVALUATION.carry_out(
        server, asked, order, place, title, title.removeprefix("Evaluating ")
    )
    if asked.get("dryRun", False):
        return ended
    if not server.supports.shows_runs:
        from merrow_server.evaluations.evaluation_words import ended_text

        well = ended["status"] == "finished"
        tell(server, ended_text(ended), types.MessageType.Info if well else types.MessageType.Warning)
    return ended


async def batch(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Run a workflow as it is in the editor on every row of a data set, and write the answers into a file."""
    from merrow_server.jobs.orders import EvaluationOrder

    asked = asked_of(arguments)
    settings = said_of({key: value for key, value in asked.items() if key not in _SCORING})
    if "resume" in asked:
        check_trust(server)
        name = text_in(asked, "resume", BATCH)
        order, place = EvaluationOrder(Ticket(), None, settings, asked.get("budget", {}), name), JobLocation(None, 1)
    else:
        text, place, name = with_data(server, asked, settings)
        assert text.file is not None  # noqa: S101 (`with_data` refuses others)
        output = text_in(asked, "output", BATCH)
        settings |= {"batch": str(_file(text.file.parent, output) or output), "part": settings.get("part", "all")}
        order = EvaluationOrder(Ticket(), text, settings, asked.get("budget", {}))
    ended: dict[str, Any] = await BATCHES.carry_out(server, asked, order, place, f"Running {name} on every row", name)
    if not asked.get("dryRun", False) and not server.supports.shows_runs:
        from merrow_server.evaluations.batch_data import batch_text

        tell(server, f"{batch_text(ended)}. Written to {ended['output']}.", types.MessageType.Info)
    return ended


def answer_fields(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Which fields a workflow returns, and which metrics there are."""
    from merrow_optimizer.evaluation.answer_fields import AnswerFields
    from merrow_optimizer.evaluation.data.names import shipped_names
    from merrow_optimizer.evaluation.metrics import METRICS, described
    from merrow_optimizer.evaluation.metrics.fields import WHOLE, metric_name

    asked = asked_of(arguments)
    diagram = runnable(server, asked)
    _folder_of(text_of(diagram, asked["diagram"]))
    graph = diagram.analysis.typed
    fields = () if graph is None else AnswerFields(graph)
    return {
        "fields": [{"name": field.name, "type": str(field.type), "metric": metric_name(field)} for field in fields],
        "metrics": [{"name": name, "options": described(name), "whole": name in WHOLE} for name in METRICS],
        "datasets": shipped_names(),
    }


async def report(server: MerrowServer, params: Any) -> dict[str, Any]:
    """A whole evaluation, or one item of it with its answers."""
    evaluation = text_in(params, "id", REPORT)
    item = None if params.get("item") is None else text_in(params, "item", REPORT)
    return await server.jobs.ask(
        lambda session: session.look_at("evaluation", lambda known: known.report(evaluation, item))
    )


async def show(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """A whole evaluation, and as a page in ``text``; a client that shows no runs is told how it came out."""
    evaluation = text_in(asked_of(arguments), "id", SHOW)
    answer: dict[str, Any] = await server.jobs.ask(
        lambda session: session.look_at("evaluation", lambda known: known.report(evaluation, None))
    )
    from merrow_server.evaluations.evaluation_words import ended_text, report_text

    if not server.supports.shows_runs:
        tell(server, ended_text(answer), types.MessageType.Info)
    return {**answer, "text": report_text(answer)}


async def compare(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Two evaluations side by side, and as a page in ``text``."""
    asked = asked_of(arguments)
    first, second = text_in(asked, "a", COMPARE), text_in(asked, "b", COMPARE)
    answer: dict[str, Any] = await server.jobs.ask(
        lambda session: session.look_at("evaluation", lambda known: known.compare(first, second))
    )
    if not server.supports.shows_runs:
        tell(server, answer["text"], types.MessageType.Info)
    return answer


async def rate(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Keep what a person says of an answer of an evaluation: ``good``, ``bad``, or null to take it back; with a ``note`` in
    words, which stays where none is given.
    """
    asked = asked_of(arguments)
    evaluation, item = text_in(asked, "evaluation", RATE), text_in(asked, "item", RATE)
    repeat, verdict = asked.get("repeat", 0), asked.get("verdict")
    if type(repeat) is not int or repeat < 0:
        raise InvalidParameters("`repeat` must be a whole number from 0.")
    if verdict not in _VERDICTS:
        raise InvalidParameters("`verdict` must be good, bad or null.")
    note = asked.get("note")
    if note is not None and (not isinstance(note, str) or len(note) > LONGEST_NOTE):
        raise InvalidParameters(f"`note` must be a text of at most {LONGEST_NOTE:,} characters.")
    return await server.jobs.ask(
        lambda session: session.kind("evaluation").rate(evaluation, item, repeat, verdict, note)
    )


def _new(
    server: MerrowServer, asked: dict[str, Any], settings: dict[str, Any]
) -> tuple[EvaluationOrder, JobLocation, str]:
    from merrow_server.jobs.orders import EvaluationOrder

    text, place, name = with_data(server, asked, settings)
    return EvaluationOrder(Ticket(), text, settings, asked.get("budget", {})), place, f"Evaluating {name}"


def with_data(
    server: MerrowServer, asked: dict[str, Any], settings: dict[str, Any]
) -> tuple[EditorWorkflow, JobLocation, str]:
    """The text of the workflow that is asked about, where it is, and its name; the data's file goes into ``said``. Raises
    `InvalidParameters`, `FeatureError`.
    """
    diagram = runnable(server, asked)
    dataset = asked.get("dataset")
    if not isinstance(dataset, str) or not dataset:
        raise InvalidParameters("`dataset` must be a file with data: a URI, or a path from the workflow's folder.")
    number, text = asked["diagram"], text_of(diagram, asked["diagram"])
    folder = _folder_of(text)
    file = _file(folder, dataset)
    from merrow_optimizer.evaluation.data.names import is_shipped
    from merrow_optimizer.evaluation.metrics import FILE_OPTIONS

    options = settings.get("metric_options", {})
    named = {
        key: str(_file(folder, named_file) or named_file)
        for key, named_file in options.items()
        if key.rpartition(".")[2] in FILE_OPTIONS and isinstance(named_file, str)
    }
    if named:
        settings["metric_options"] = {**options, **named}
    for key in ("fake_tools", "recipes"):
        if (beside := settings.get(key)) is not None:
            settings[key] = str(_file(folder, beside) or beside)
    is_name = is_shipped(dataset) and file is not None and not file.exists()
    settings["dataset"] = dataset if is_name else str(Path(dataset) if file is None else file)
    return text, JobLocation(diagram.document.uri, number, ref(diagram)), name_of(diagram)


def _folder_of(text: EditorWorkflow) -> Path:
    """The folder of a workflow's file. Raises `FeatureError` where it has none."""
    if text.file is None:
        raise refused("Save the workflow first: its evaluations are kept by its file.", "workflow")
    return text.file.parent


def _file(folder: Path, named: str) -> Path | None:
    """The file that a URI means, or a path from a folder; None for a URI that is no file's."""
    return path_of(named) if named.startswith("file:") else folder / named


def _resumed(
    server: MerrowServer, asked: dict[str, Any], settings: dict[str, Any]
) -> tuple[EvaluationOrder, JobLocation, str]:
    from merrow_server.jobs.orders import EvaluationOrder

    check_trust(server)
    evaluation = text_in(asked, "resume", EVALUATE)
    order = EvaluationOrder(Ticket(), None, settings, asked.get("budget", {}), evaluation)
    return order, JobLocation(None, 1), f"Evaluation {evaluation}"


def said_of(asked: dict[str, Any]) -> dict[str, Any]:
    """What is asked for, by the names of `Asked`. Raises `InvalidParameters`."""
    from merrow_server.jobs.orders import ASKED

    settings = {ASKED[key]: value for key, value in fields_of(asked, _FIELDS).items()}
    for key in ("mapping", "answers", "items", "golds", "metrics"):
        values = settings.get(key, []) if key == "items" else list(settings.get(key, {}).values())
        if not all(isinstance(value, str) for value in values):
            raise InvalidParameters(f"`{key}` must have texts.")
    if not all(type(least) in (int, float) and 0 <= least <= 1 for least in settings.get("gates", {}).values()):
        raise InvalidParameters("`gates` must have scores between 0 and 1.")
    if "items" in settings:
        if not settings["items"]:
            raise InvalidParameters("`items` must name at least one id.")
        settings["items"] = tuple(settings["items"])
    return settings
