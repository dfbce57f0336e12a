"""Files that a workflow names and that are not there: they are created, or another file of nearly that name is named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lsprotocol import types

from merrow_analysis.definitions.prompts import words_of_role
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.diagnostics import Diagnostic, Fix
from merrow_analysis.edits.yaml_write import flow, quoted, word
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import called_path
from merrow_analysis.rules.declared.configuration_rules import prompt_file_range
from merrow_analysis.rules.fixes.decision_fixes import rename_in_value
from merrow_analysis.rules.reporting import parameter_range
from merrow_analysis.suggest import closest
from merrow_server.lsp.documents import Locator, OpenDiagram
from merrow_server.lsp.supports import Supports

_CREATE = "create"
_WORKFLOWS = (".mmd", ".mermaid")
_MOST_LISTED = 1_000
"""Files of a folder among which a name is looked for."""
_INPUT, _OUTPUT = "PROBLEM", "RETURN"
"""The input and the output that no front matter needs to name."""


def new_prompt_file(
    supports: Supports, diagram: OpenDiagram, finding: Diagnostic
) -> tuple[str, types.WorkspaceEdit] | None:
    """The file of prompts that the front matter names, created with a prompt for each role: its path, and the change."""
    settings, front = diagram.analysis.settings, diagram.analysis.diagram.front_matter
    path = settings.prompt_file
    if path is None or not path.endswith((".yaml", ".yml")):
        return None
    if front is None or prompt_file_range(settings, front) != finding.range:
        return None
    change = _created(supports, diagram, path, _prompts(diagram))
    return None if change is None else (path, change)


def new_workflow(
    supports: Supports, diagram: OpenDiagram, finding: Diagnostic
) -> tuple[str, types.WorkspaceEdit] | None:
    """The file that a Call names, created with the inputs and outputs that its edges name: its path, and the change."""
    node, path = _caller(diagram, finding)
    if node is None or path is None or not path.endswith(_WORKFLOWS):
        return None
    change = _created(supports, diagram, path, _workflow(node))
    return None if change is None else (path, change)


def other_workflow(diagram: OpenDiagram, finding: Diagnostic) -> Iterator[Fix]:
    """Have a Call name a file of nearly the same name."""
    node, path = _caller(diagram, finding)
    place = None if path is None else _free_place(diagram, path)
    if node is None or path is None or place is None:
        return
    name = path.rpartition("/")[2]
    near = closest(name, _names(place.parent, diagram.document.path))
    if near is not None:
        yield from rename_in_value(node, "workflow", name, near)


def _caller(diagram: OpenDiagram, finding: Diagnostic) -> tuple[TypedNode | None, str | None]:
    """The Call that a finding is about, and the file that it names."""
    graph = diagram.analysis.typed
    for node in () if graph is None else graph.nodes:
        path = called_path(node.resolution)
        if path is not None and parameter_range(node, "workflow") == finding.range:
            return node, path
    return None, None


def _free_place(diagram: OpenDiagram, path: str) -> Path | None:
    """Where a file that a workflow names would lie; None outside the workspace, where one is there, and where none can be."""
    provider = diagram.document.context.provider
    if not isinstance(provider, Locator):
        return None
    try:
        place = provider.location(path) if provider.is_inside(path) else None
        return None if place is None or place.exists() else place
    except (ResourceError, ValueError, OSError):  # The system takes no name that is too long.
        return None


def _names(folder: Path, own: Path | None) -> Sequence[str]:
    try:
        names = sorted(path.name for path, _ in zip(folder.iterdir(), range(_MOST_LISTED), strict=False) if path != own)
    except OSError:
        return ()
    return [name for name in names if name.endswith((*_WORKFLOWS, ".md"))]


def _created(supports: Supports, diagram: OpenDiagram, path: str, text: str) -> types.WorkspaceEdit | None:
    """The change that creates a file which is not there yet; None where the client can't, or the file must not be."""
    place = _free_place(diagram, path)
    if not supports.document_changes or _CREATE not in supports.resource_operations or place is None:
        return None
    uri = place.as_uri()
    begin = types.Position(0, 0)
    edit = types.TextEdit(types.Range(begin, begin), text)
    return types.WorkspaceEdit(
        document_changes=[
            types.CreateFile(uri=uri, options=types.CreateFileOptions(ignore_if_exists=True)),
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, None), [edit]),
        ]
    )


def _prompts(diagram: OpenDiagram) -> str:
    typed = diagram.analysis.typed
    roles = [role[1] for node in (typed.nodes if typed is not None else ()) if (role := role_of(node)) is not None]
    entries = {
        role.casefold(): f"{word(role) or quoted(role)}: {quoted(words_of_role(role))}\n" for role in reversed(roles)
    }
    return "".join(reversed(entries.values())) or "# role: what the model is told\n"


def _workflow(node: TypedNode) -> str:
    """A workflow of one step, with the inputs and outputs that edges at a Call name."""
    inputs = list(dict.fromkeys(edge.placed.label.port or _INPUT for edge in node.incoming)) or [_INPUT]
    outputs = list(dict.fromkeys(edge.placed.label.output or _OUTPUT for edge in node.outgoing)) or [_OUTPUT]
    lines = [f"  inputs: {flow(list(inputs))}"] if inputs != [_INPUT] else []
    lines += [f"  outputs: {flow(list(outputs))}"] if outputs != [_OUTPUT] else []
    head = ["---", "workflow:", *lines, "---"] if lines else []
    ends = [f"    {name}([{name}]):::Interface" for name in (*inputs, *outputs)]
    step = _step({*inputs, *outputs})
    body = [
        "flowchart TD",
        *ends,
        f'    {step}["Custom<br/>(prompt: Say here what this workflow is to do.)"]:::CustomOp',
        f"    {' & '.join(inputs)} -->|input| {step}",
        f"    {step} --> {' & '.join(outputs)}",
        "    classDef Interface fill:#e2e2f2",
        "    classDef CustomOp fill:#d0e1f9",
    ]
    return "\n".join([*head, *body, ""])


def _step(taken: set[str]) -> str:
    names = ("STEP", *(f"STEP_{number}" for number in range(2, len(taken) + 2)))
    return next(name for name in names if name not in taken)
