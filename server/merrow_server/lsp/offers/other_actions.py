"""Actions at findings for which the text alone is not enough: a run that failed is continued, a file that is missing is created,
or another one is named, tools are pinned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lsprotocol import types

from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.rules.call_rules import BAD_CALLEE
from merrow_analysis.rules.declared.configuration_rules import UNUSABLE_FILE
from merrow_analysis.rules.effects.tool_rules import UNPINNED_TOOL
from merrow_analysis.rules.run_rules import NODE_FAILED
from merrow_analysis.text import Range, TextEdit
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.offers.missing_files import new_prompt_file, new_workflow, other_workflow
from merrow_server.lsp.offers.pinning_tools import pin_tools
from merrow_server.lsp.supports import Supports
from merrow_server.lsp.work.runs import RESUME, RUN_FROM, Runs


class OtherAction(NamedTuple):
    """What can be done about a finding: a command, a change of other files, or edits of the diagram."""

    title: str
    finding: Diagnostic
    command: types.Command | None = None
    change: types.WorkspaceEdit | None = None
    edits: Sequence[TextEdit] | None = None


def other_actions(
    supports: Supports, runs: Runs, diagram: OpenDiagram, number: int, within: Range
) -> Iterator[OtherAction]:
    """The actions at a range of a diagram, which is the ``number``-th of its document."""
    yield from _after_a_run(runs, diagram, number, within)
    for finding in diagram.analysis.diagnostics:
        if not _touches(finding, within):
            continue
        created = None
        if finding.code == UNUSABLE_FILE.code:
            created = new_prompt_file(supports, diagram, finding)
        elif finding.code == BAD_CALLEE.code:
            for fix in other_workflow(diagram, finding):
                yield OtherAction(fix.title, finding, edits=fix.edits)
            created = new_workflow(supports, diagram, finding)
        elif finding.code == UNPINNED_TOOL.code:
            command = pin_tools(diagram, finding)
            if command is not None:
                yield OtherAction(command.title, finding, command)
        if created is not None:
            path, change = created
            yield OtherAction(f"Create {path}", finding, change=change)


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
