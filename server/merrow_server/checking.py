"""A target checked: its text analysed, block by block in Markdown, and all findings placed in the file itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from merrow_analysis import faults
from merrow_analysis.cases import ENDING
from merrow_analysis.check import Analyser, Analysis
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.markdown import DiagramFence
from merrow_analysis.rules.declared.configuration_rules import check_library
from merrow_analysis.text import split_lines
from merrow_runtime.program.workflow_files import diagrams as diagrams
from merrow_runtime.program.workflow_files import the_diagram as the_diagram
from merrow_server.errors import RunFailure
from merrow_server.files import Target
from merrow_server.reports.findings_report import FileReport, OtherFile
from merrow_server.settings import Settings
from merrow_server.workspace import FileProvider


class Checker:
    """Checks targets with the settings and the files that surround each of them."""

    def __init__(self, settings: Settings, *, as_workflow: bool = False) -> None:
        """``as_workflow`` reads any flowchart as a workflow."""
        self._settings = settings
        self._as_workflow = as_workflow

    def analyse(self, target: Target, text: str) -> Analysis:
        """The analysis of the one diagram with this ``text`` in ``target``."""
        return self.opener(target)(text).analysis()

    def opener(self, target: Target) -> Callable[[str], Analyser]:
        """How versions of a diagram in ``target`` are opened one after another."""
        return partial(
            Analyser,
            path=self._settings.relative_path(target),
            provider=self._provider(target),
            config=self._settings.config(target),
            as_workflow=self._as_workflow,
        )

    def diagnose(self, target: Target, text: str) -> list[Diagnostic]:
        """What is wrong with ``target`` whose file has this ``text``; places and fixes speak of the file. A fault of Merrow is a
        finding: of a diagram in Markdown at its place, else of the file.
        """
        return _guarded(lambda: self._diagnose(target, text), "this file could not be checked, all others were")

    def _diagnose(self, target: Target, text: str) -> list[Diagnostic]:
        if target.name.lower().endswith(ENDING):
            from merrow_server.cases.checking import findings

            place = target.base / Path(target.name).name
            config, path = self._settings.config(target), self._settings.relative_path(target)
            return findings(text, place, self._provider(target), config, path)[1]
        if target.name.lower().endswith((".yaml", ".yml")):
            config = self._settings.config(target)
            return config.apply(list(check_library(text, Path(target.name).name)), self._settings.relative_path(target))
        if not target.is_markdown:
            return list(self.analyse(target, text).diagnostics)
        return [
            in_file(diagnostic, fence)
            for fence in diagrams(target, text)
            for diagnostic in _guarded(partial(self._of_fence, target, fence), "this diagram could not be checked")
        ]

    def _of_fence(self, target: Target, fence: DiagramFence) -> list[Diagnostic]:
        return self.analyse(target, fence.text).diagnostics

    def report(self, target: Target, text: str, diagnostics: Sequence[Diagnostic]) -> FileReport:
        """``diagnostics`` of ``target`` with the lines that they speak of."""
        if not diagnostics:
            return FileReport(target.name)
        named = {related.file for diagnostic in diagnostics for related in diagnostic.related if related.file}
        others = dict(_others(target, named, self._provider(target)))
        ordered = sorted(diagnostics, key=lambda diagnostic: (diagnostic.range, diagnostic.code))
        return FileReport(target.name, split_lines(text), ordered, others)

    def _provider(self, target: Target) -> FileProvider:
        return self._settings.surroundings.provider(target.base)


def _guarded(diagnose: Callable[[], list[Diagnostic]], what: str) -> list[Diagnostic]:
    """What is found; where Merrow fails at it, that, and ``what`` could not be done. Problems of files are no faults."""
    try:
        return diagnose()
    except (RunFailure, OSError):
        raise
    except Exception as problem:
        if faults.are_raised():
            raise
        return [faults.finding(what, problem)]


def in_file(diagnostic: Diagnostic, fence: DiagramFence) -> Diagnostic:
    """``diagnostic`` of a block, placed in the Markdown file around it."""
    return diagnostic._replace(
        range=fence.range_to_host(diagnostic.range),
        related=tuple(
            related if related.file is not None else related._replace(range=fence.range_to_host(related.range))
            for related in diagnostic.related
        ),
        fixes=diagnostic.fixes.changed(lambda fix: fix._replace(edits=tuple(fence.edits_to_host(fix.edits)))),
    )


def _others(target: Target, files: Iterable[str], provider: FileProvider) -> Iterable[tuple[str, OtherFile]]:
    """The files that related places name, as the user would name them."""
    for file in files:
        try:
            lines = split_lines(provider.read(file))
        except ResourceError:
            lines = []
        yield file, OtherFile(os.path.normpath(Path(target.name).parent / file), lines)
