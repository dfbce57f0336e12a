"""Code lenses above a workflow's header: to run it, what a run would do, its figures, its last evaluation, a better version, what
a model suggested.
"""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from merrow_analysis.ide import code_lens as ide_code_lens
from merrow_server.features.code_action import SUGGEST_COMMAND
from merrow_server.features.commands.cases import TEST
from merrow_server.features.commands.evaluation_commands import SHOW as SHOW_EVALUATION
from merrow_server.features.commands.people_commands import ANSWER
from merrow_server.features.commands.run_commands import DRY_RUN, RUN
from merrow_server.features.commands.search_commands import SHOW_BETTER
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.findings.cases_documents import cases_beside
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.run_results import OFFLINE_NAME
from merrow_server.rendering.counts import counted

SHOW_METRICS = "merrow.showMetrics"
ANSWER_TITLE = "Answer..."
RUN_TITLE, DRAWN_TITLE, DRY_RUN_TITLE = "▶ Run", "▶ Run as Drawn", "Dry run"


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=True))(code_lens)
    server.feature(types.CODE_LENS_RESOLVE)(resolve)
    server.command(SHOW_METRICS)(show_metrics)


def code_lens(server: MerrowServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The lenses of each workflow; that of its figures has no words: measuring waits until the lens is in sight."""
    uri = params.text_document.uri
    lenses: list[types.CodeLens] = []
    for number, diagram in enumerate(server.diagrams(uri), 1):
        place = ide_code_lens.header_range(diagram.analysis)
        where: dict[str, Any] = {"uri": uri, "diagram": number}
        drawn = ide_code_lens.drawing_range(diagram.analysis)
        if drawn is not None and server.runs.trusted:
            lenses += [
                types.CodeLens(diagram.to_lsp(drawn), types.Command(title, command, arguments=[where]))
                for title, command in ((DRAWN_TITLE, RUN), (DRY_RUN_TITLE, DRY_RUN))
            ]
        if place is not None:
            # Also where Mermaid refuses the text, and a run with it: lenses that come and go move the lines while somebody types.
            if server.runs.trusted:
                lenses += [
                    types.CodeLens(diagram.to_lsp(place), types.Command(title, command, arguments=[where]))
                    for title, command in ((RUN_TITLE, RUN), (DRY_RUN_TITLE, DRY_RUN))
                ]
                lenses += _of_cases(server, diagram, diagram.to_lsp(place))
            lenses.append(types.CodeLens(diagram.to_lsp(place), data=where))
            evaluation = server.last_evaluations.of(diagram, number)
            if evaluation is not None:
                lenses.append(types.CodeLens(diagram.to_lsp(place), _evaluated(evaluation)))
            better = server.last_searches.of(diagram, number)
            if better is not None:
                lenses.append(types.CodeLens(diagram.to_lsp(place), _better(better)))
            suggested = server.suggestions.last(diagram)
            if suggested is not None:
                title = counted(suggested.count, "suggestion")
                command = types.Command(title, SUGGEST_COMMAND, arguments=[suggested.asked])
                lenses.append(types.CodeLens(diagram.to_lsp(place), command))
            lenses += _of_questions(server, diagram)
            last = server.runs.results.of(diagram)
            if last is not None and last.offline:
                # Without a command: words to read.
                lenses.append(types.CodeLens(diagram.to_lsp(place), types.Command(f"Last run: {OFFLINE_NAME}", "")))
    return lenses


def _evaluated(evaluation: dict[str, Any]) -> types.Command:
    from merrow_server.evaluations.evaluation_words import facts, last_text, lens_title

    arguments = [{"id": evaluation["evaluation"]}]
    tooltip = "\n".join([last_text(evaluation), *(f"{name}: {value}" for name, value in facts(evaluation))])
    return types.Command(lens_title(evaluation), SHOW_EVALUATION, tooltip, arguments)


def _better(search: dict[str, Any]) -> types.Command:
    from merrow_server.optimizations.lens import lens_text, lens_title

    return types.Command(lens_title(search), SHOW_BETTER, lens_text(search), [{"id": search["search"]}])


def _of_questions(server: MerrowServer, diagram: OpenDiagram) -> list[types.CodeLens]:
    """The lenses at the nodes that wait for a person, in the last run or in one of a workflow that calls this file: each asks the
    first question that is open there.
    """
    if not server.runs.trusted:
        return []
    lenses = []
    for (run, name), open_ones in server.runs.results.asking_in(diagram).items():
        asking = diagram.analysis.flow.nodes.get(name)
        if asking is not None:
            title = ANSWER_TITLE if len(open_ones) == 1 else f"{ANSWER_TITLE} (1 of {len(open_ones)})"
            command = types.Command(title, ANSWER, arguments=[{"run": run, "node": open_ones[0]}])
            lenses.append(types.CodeLens(diagram.to_lsp(asking.range), command))
    return lenses


def _of_cases(server: MerrowServer, diagram: OpenDiagram, place: types.Range) -> list[types.CodeLens]:
    """The lens that runs the cases of a workflow, where it has any."""
    document = diagram.document
    if document.path is None or len(document.diagrams) > 1:
        return []
    file = cases_beside(server, document.path)
    if file is None:
        return []
    from merrow_analysis.cases.cases_reader import read_cases

    count = len(read_cases(file.text).cases)
    if not count:
        return []
    title = f"▶ Run {counted(count, 'case')}"
    return [types.CodeLens(place, types.Command(title, TEST, arguments=[{"uri": file.uri}]))]


def resolve(server: MerrowServer, lens: types.CodeLens) -> types.CodeLens:
    if lens.command is not None:
        return lens
    data = lens.data if isinstance(lens.data, dict) else {}
    uri, number = data.get("uri"), data.get("diagram")
    diagram = _diagram(server, uri, number)
    figures = None if diagram is None else ide_code_lens.figures(diagram.analysis)
    if figures is not None:
        lens.command = types.Command(figures.title, SHOW_METRICS, arguments=[uri, number])
    return lens


def show_metrics(server: MerrowServer, arguments: list[Any]) -> dict[str, object]:
    """Tell the figures of a workflow, named by a document's URI and the diagram's number in it, from 1; and give them."""
    uri, number = [*arguments, None, None][:2]
    diagram = _diagram(server, uri, 1 if number is None else number)
    figures = None if diagram is None else ide_code_lens.figures(diagram.analysis)
    if figures is None:
        raise InvalidParameters("The arguments must be the URI of an open document and the number of a workflow in it.")
    server.window_show_message(types.ShowMessageParams(types.MessageType.Info, figures.text))
    return figures.metrics.as_json()


def _diagram(server: MerrowServer, uri: object, number: object) -> OpenDiagram | None:
    diagrams = server.diagrams(uri) if isinstance(uri, str) else []
    if not isinstance(number, (int, float)) or not 1 <= number <= len(diagrams):
        return None
    return diagrams[int(number) - 1]
