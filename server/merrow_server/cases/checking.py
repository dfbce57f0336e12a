"""The findings about a cases file, with what lies beside it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_analysis.cases.cases_reader import CasesFile, read_cases
from merrow_analysis.cases.checking import CasesContext, beside_workflow, check_cases
from merrow_analysis.check import analyse
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.rules.configuration import Config
from merrow_server.cases.case_paths import workflow_name
from merrow_server.files import MARKDOWN_SUFFIXES

if TYPE_CHECKING:
    from merrow_analysis.graph.nodes import TypedGraph


def beside(name: str, folder: Path, provider: Provider | None, config: Config | None) -> CasesContext | None:
    """What is beside the cases file ``name`` in ``folder``; None where nothing can be known of it."""
    if provider is None:
        return None
    from merrow_optimizer.evaluation.cases.expectations import field_fault, refusal

    workflow = workflow_name(name, provider.exists)
    if workflow is None:
        return CasesContext(None, None, (), provider, partial(refusal, folder=folder))
    graph = _graph(workflow, provider, config)
    refuses = partial(refusal, folder=folder, graph=graph)
    of_field = None if graph is None else partial(field_fault, graph)
    return beside_workflow(workflow, graph, provider, refuses, of_field)


def _graph(name: str, provider: Provider, config: Config | None) -> TypedGraph | None:
    """The graph of the workflow; None where it has errors, which are told there."""
    try:
        text = provider.read(name)
    except ResourceError:
        return None
    if name.lower().endswith(MARKDOWN_SUFFIXES):
        from merrow_analysis.markdown import find_fences

        fences = find_fences(text)
        if len(fences) != 1:
            return None
        text = fences[0].text
    analysis = analyse(text, path=name, provider=provider, config=config, as_workflow=True)
    return None if analysis.errors else analysis.typed


def findings(
    text: str, file: Path, provider: Provider | None, config: Config | None, path: str | None = None
) -> tuple[CasesFile, list[Diagnostic]]:
    """A cases file as read, and what is wrong in it as far as the configuration counts it at its ``path``."""
    read = read_cases(text)
    diagnostics = check_cases(read, beside(file.name, file.parent, provider, config))
    return read, diagnostics if config is None else config.apply(diagnostics, path)
