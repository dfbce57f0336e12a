"""Actions at findings that no edit of the text repairs: a run that failed is continued, a file that is missing is created."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lsprotocol import types

from merrow_analysis.definitions.prompts import words_of_role
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.edits.yaml_write import quoted, word
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.rules.configuration_rules import UNUSABLE_FILE
from merrow_analysis.rules.run_rules import NODE_FAILED
from merrow_analysis.text import Range
from merrow_server.lsp.documents import Locator, OpenDiagram
from merrow_server.lsp.runs import RESUME, RUN_FROM, Runs
from merrow_server.lsp.supports import Supports

_CREATE = "create"


class OtherAction(NamedTuple):
    """What can be done about a finding: a command, or a change of other files."""

    title: str
    finding: Diagnostic
    command: types.Command | None = None
    change: types.WorkspaceEdit | None = None


def other_actions(
    supports: Supports, runs: Runs, diagram: OpenDiagram, number: int, within: Range
) -> Iterator[OtherAction]:
    """The actions at a range of a diagram, which is the ``number``-th of its document."""
    yield from _after_a_run(runs, diagram, number, within)
    for finding in diagram.analysis.diagnostics:
        if finding.code == UNUSABLE_FILE.code and _touches(finding, within):
            yield from _new_prompt_file(supports, diagram, finding)


def _touches(finding: Diagnostic, within: Range) -> bool:
    return finding.range.start <= within.end and within.start <= finding.range.end


def _after_a_run(runs: Runs, diagram: OpenDiagram, number: int, within: Range) -> Iterator[OtherAction]:
    last = runs.results.of(diagram)
    if last is None or not runs.trusted:
        return
    where = {"uri": diagram.document.uri, "diagram": number}
    for finding in diagram.run_findings:
        if not _touches(finding, within):
            continue
        named = (name for name, node in diagram.analysis.flow.nodes.items() if node.range == finding.range)
        node = next(named, None) if finding.code == NODE_FAILED.code else None
        if node is not None:
            title = f"Run from {node}"
            yield OtherAction(
                title, finding, types.Command(title, RUN_FROM, arguments=[{**where, "node": node, "run": last.run}])
            )
        yield OtherAction(
            "Resume the run", finding, types.Command("Resume the run", RESUME, arguments=[{"run": last.run}])
        )


def _new_prompt_file(supports: Supports, diagram: OpenDiagram, finding: Diagnostic) -> Iterator[OtherAction]:
    """Create the file of prompts that the front matter names, with a prompt for each role."""
    analysis = diagram.analysis
    path, provider = analysis.settings.prompt_file, diagram.document.context.provider
    if path is None or not path.endswith((".yaml", ".yml")) or not finding.message.startswith(f"{path} "):
        return
    if (
        not supports.document_changes
        or _CREATE not in supports.resource_operations
        or not isinstance(provider, Locator)
    ):
        return
    try:
        place = provider.location(path)
    except (ResourceError, ValueError):
        return
    if place.exists():
        return
    uri = place.as_uri()
    begin = types.Position(0, 0)
    text = types.TextEdit(types.Range(begin, begin), _prompts(diagram))
    change = types.WorkspaceEdit(
        document_changes=[
            types.CreateFile(uri=uri, options=types.CreateFileOptions(ignore_if_exists=True)),
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, None), [text]),
        ]
    )
    yield OtherAction(f"Create {path}", finding, change=change)


def _prompts(diagram: OpenDiagram) -> str:
    typed = diagram.analysis.typed
    roles = [role[1] for node in (typed.nodes if typed is not None else ()) if (role := role_of(node)) is not None]
    entries = {
        role.casefold(): f"{word(role) or quoted(role)}: {quoted(words_of_role(role))}\n" for role in reversed(roles)
    }
    return "".join(reversed(entries.values())) or "# role: what the model is told\n"
