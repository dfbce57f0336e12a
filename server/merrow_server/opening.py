"""One diagram opened for a command that looks at a single one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from merrow_analysis.check import Analyser, Analysis
from merrow_analysis.markdown import DiagramFence
from merrow_analysis.text import Range
from merrow_runtime.program.workflow_files import one_file
from merrow_server.checking import Checker, the_diagram
from merrow_server.errors import InputError
from merrow_server.files import Target, discover, read
from merrow_server.settings import Settings


@dataclass(frozen=True, slots=True)
class Opened:
    """A diagram with its analysis and what made it; ``text`` is that of the whole file, ``fence`` its place in Markdown."""

    target: Target
    text: str
    fence: DiagramFence | None
    analyser: Analyser
    analysis: Analysis

    @property
    def errors(self) -> int:
        """How many errors the diagram has."""
        return len(self.analysis.errors)

    @property
    def warning(self) -> str:
        """The sentence that says that there are errors."""
        errors = "an error" if self.errors == 1 else f"{self.errors} errors"
        return f"{self.target.name} has {errors}; merrow check {self.target.name} shows what is wrong."

    def in_file(self, span: Range) -> Range:
        """A range of the diagram as one of the file."""
        return span if self.fence is None else self.fence.range_to_host(span)


def open_diagram(name: str, config: str | None, *, use_files: bool, as_workflow: bool = False) -> Opened:
    """Read and analyse the one diagram that ``name`` stands for; with ``as_workflow`` any flowchart is read as a workflow.

    Raises `InputError`.
    """
    settings = Settings(config, use_files=use_files)
    resolved = discover([name])
    for problem in resolved.problems:
        raise InputError(problem)
    if len(resolved.targets) != 1 or resolved.targets[0].folder is not None:
        raise InputError(one_file(Path(name)))
    target = resolved.targets[0]
    source = read(target)
    text, fence = the_diagram(target, source.text)
    analyser = Checker(settings, as_workflow=as_workflow).opener(target)(text)
    analysis = analyser.analysis()
    if settings.problems:
        raise InputError(settings.problems[0])
    return Opened(target, source.text, fence, analyser, analysis)
