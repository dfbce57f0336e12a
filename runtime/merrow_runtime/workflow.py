"""A checked workflow that can be run, and the snapshot of all that was read to check it."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any

from merrow_analysis.called_files import CalledFiles
from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.check_files import with_check_files
from merrow_analysis.definitions.libraries import with_libraries
from merrow_analysis.definitions.prompts import collect_prompts
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.definitions.settings import NO_SETTINGS, read_settings
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.files_read import FilesBeside, beside
from merrow_analysis.graph.flow import Flowchart
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.plain_steps import reading
from merrow_analysis.graph.resolve import called_path
from merrow_analysis.graph.typed import is_workflow
from merrow_analysis.markdown import DiagramFence
from merrow_analysis.rules.configuration import Config
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.trust import WorkspaceValue, workspace_values

SNAPSHOT = 1
"""The number of the snapshot's format."""

_NUMBERS: Mapping[str, Callable[[str], object]] = {
    "temperature": float, "timeout": float, "max_tokens": int, "seed": int, "retries": int,
}  # fmt: skip
_NUMBERS_OF_BOXES: Mapping[str, Callable[[str], object]] = {"max": int, "min": int, "parallel": int}


class RecordingProvider:
    """Hands on what another provider gives, and keeps it: ``files`` has each file's text, or why it can't be had."""

    def __init__(self, provider: Provider | None) -> None:
        self._provider = provider
        self.files: dict[str, dict[str, str]] = {}

    def read(self, path: str) -> str:
        """The text of the file. Raises `ResourceError`."""
        known = self.files.get(path)
        if known is None:
            known = self.files[path] = self._look(path)
        if "text" not in known:
            raise ResourceError(known["missing"])
        return known["text"]

    def exists(self, path: str) -> bool:
        """Whether there is such a file that may be read."""
        if path in self.files:
            return "text" in self.files[path]
        return self._provider is not None and self._provider.exists(path)

    def _look(self, path: str) -> dict[str, str]:
        if self._provider is None:
            return {"missing": f"{path} was not there when the run began."}
        try:
            return {"text": self._provider.read(path)}
        except ResourceError as problem:
            return {"missing": str(problem)}


@dataclass(frozen=True, eq=False)
class Workflow:
    """A workflow without errors.

    ``name`` is how the user knows it: its path, with ``#2`` behind it for the second block of a Markdown file. ``text``
    is its diagram, ``path`` what its settings go by, ``files`` what its analysis read of the files beside it, and
    ``fence`` its place in a Markdown file.
    """

    name: str
    text: str
    analysis: Analysis
    graph: TypedGraph
    config: Config
    path: str | None = None
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    fence: DiagramFence | None = None
    shared: tuple[WorkspaceValue, ...] = ()
    """Settings of the machine that are in its settings file, where they are mostly ignored."""
    place: str = ""
    """Of a called file its path from the folder of the workflow that is run; empty for that one."""
    called: dict[str, Workflow] = field(default_factory=dict, repr=False)
    """The files that its Calls run, by their paths as it writes them. Files that call each other have each other here."""
    steps: dict[str, Any] = field(default_factory=dict, repr=False)
    """The nodes made ready to run, by the model of those that name none; see `merrow_runtime.program.definitions.make_steps`."""

    @property
    def how_read(self) -> tuple[str, ...]:
        """How a flowchart that does not say that it is a workflow is read, for the user to know; empty for others."""
        settings = self.analysis.settings
        if is_workflow(self.analysis.flow, settings):
            return ()
        return (
            f"{self.name} names no operators and is read as a workflow. {reading(self.graph, settings.says_memory)}",
        )

    @property
    def machine(self) -> list[WorkspaceValue]:
        """Settings of the machine's in its front matter and in its settings file."""
        block = self.analysis.settings.document.values.get("workflow")
        own = workspace_values(block, self.name) if isinstance(block, dict) else []
        return [*own, *self.shared]

    def reached(self) -> list[Workflow]:
        """This workflow and all that its calls lead to, each once."""
        known: dict[Workflow, None] = {self: None}
        waiting = [self]
        for caller in waiting:  # It grows meanwhile.
            for other in caller.called.values():
                if other not in known:
                    known[other] = None
                    waiting.append(other)
        return waiting

    def snapshot(self) -> dict[str, Any]:
        """All that `restore` needs, as plain data: what the files say later makes no difference."""
        config = self.config
        return {
            "format": SNAPSHOT,
            "name": self.name,
            "text": self.text,
            "path": self.path,
            "files": {path: dict(known) for path, known in self.files.items()},
            "settings": {
                "select": list(config.select),
                "ignore": list(config.ignore),
                "severity": dict(config.severity),
                "per-path": {pattern: list(names) for pattern, names in config.per_path.items()},
                "libraries": list(config.libraries),
            },
        }


def check_workflow(
    text: str,
    *,
    name: str = "the workflow",
    path: str | None = None,
    provider: Provider | None = None,
    config: Config | None = None,
    fence: DiagramFence | None = None,
    shared: tuple[WorkspaceValue, ...] = (),
    analysis: Analysis | None = None,
) -> Workflow:
    """Check a diagram's text and make a `Workflow` of it.

    ``provider`` hands out the files that it names; ``shared`` are settings of the machine's in its settings file.
    ``analysis`` is one of this text under these settings, where there is one: the text is not read again then, unless the
    files say something else by now. Any flowchart is read as a workflow. Raises `UsageFailure` where it has
    errors, saying which, or is not a workflow at all.
    """
    config = Config() if config is None else config
    recording = RecordingProvider(provider)
    # Without a provider prompts and libraries are those of the text alone, which is not a mistake; see `collect_prompts`.
    files = None if provider is None else recording
    known = None if analysis is None else _as_it_was(analysis, files, config)
    analysis = analyse(text, path=path, provider=files, config=config, as_workflow=True) if known is None else known
    graph = _runnable(analysis, name, fence)
    workflow = Workflow(name, text, analysis, graph, config, path, recording.files, fence, shared)
    _load_called(workflow, recording)
    return workflow


def restore(snapshot: Mapping[str, Any]) -> Workflow:
    """The workflow that a snapshot was made of. Raises `UsageFailure` where this version can't run it any more.

    The last few are kept: a resumed evaluation restores the same one for each run that was under way.
    """
    return _restored(json.dumps(snapshot))


@lru_cache(maxsize=4)
def _restored(written: str) -> Workflow:
    snapshot = json.loads(written)
    if snapshot.get("format") != SNAPSHOT:
        raise UsageFailure("The run was made by another version of Merrow; run the workflow again.")
    settings = snapshot["settings"]
    config = Config(
        tuple(settings["select"]),
        tuple(settings["ignore"]),
        settings["severity"],
        {pattern: tuple(names) for pattern, names in settings["per-path"].items()},
        tuple(settings["libraries"]),
    )
    recording = RecordingProvider(None)
    recording.files = {path: dict(known) for path, known in snapshot["files"].items()}
    analysis = analyse(snapshot["text"], path=snapshot["path"], provider=recording, config=config, as_workflow=True)
    graph = _runnable(analysis, snapshot["name"], None)
    workflow = Workflow(snapshot["name"], snapshot["text"], analysis, graph, config, snapshot["path"], recording.files)
    _load_called(workflow, recording)
    return workflow


def _load_called(workflow: Workflow, files: Provider) -> None:
    """Give a workflow, and all that its calls lead to, the files that they call. Raises `UsageFailure`."""
    own = "" if workflow.path is None else posixpath.basename(workflow.path)
    known = {own: workflow}
    waiting = [workflow]
    for caller in waiting:  # It grows meanwhile.
        for path in dict.fromkeys(called_path(resolution) for resolution in caller.graph.resolutions):
            if path is None:
                continue
            place = beside(caller.place or own, path)
            if place not in known:
                known[place] = _called(place, workflow, files)
                waiting.append(known[place])
            caller.called[path] = known[place]


def _called(place: str, caller: Workflow, files: Provider) -> Workflow:
    """The called file at a place."""
    try:
        text = files.read(place)
    except ResourceError as problem:
        raise UsageFailure(str(problem)) from None
    recording = RecordingProvider(FilesBeside(files, place))
    path = place if caller.path is None else beside(caller.path, place)
    analysis = analyse(text, path=path, provider=recording, config=caller.config)
    graph = _runnable(analysis, place, None)
    return Workflow(place, text, analysis, graph, caller.config, path, recording.files, place=place)


def _as_it_was(analysis: Analysis, provider: Provider | None, config: Config) -> Analysis | None:
    """An analysis with a view of its graph for this run alone; None where it was read as no workflow, or the files that it
    read say something else now.

    Nodes are made when they are asked for, and the other view belongs to another thread.
    """
    graph, front = analysis.typed, analysis.diagram.front_matter
    if graph is None:
        return None
    settings = NO_SETTINGS if front is None else read_settings(front[0].body, front[0].indent)
    settings, problems = with_libraries(settings, provider, config.libraries)
    settings, unusable = with_check_files(settings, provider)
    called = graph.core.language.outside
    if isinstance(called, CalledFiles) and (provider is None or not called.reads.same_in(provider)):
        return None
    if (
        problems
        or unusable
        or settings is not analysis.settings
        or collect_prompts(settings, provider) != analysis.prompts
    ):
        return None
    chart = graph.flow
    flow = Flowchart(chart.chart, chart.scenery, chart.moved, chart.last_block)
    return replace(analysis, flow=flow, typed=TypedGraph(flow, graph.core))


def _runnable(analysis: Analysis, name: str, fence: DiagramFence | None) -> TypedGraph:
    errors = analysis.errors
    graph = analysis.typed
    if errors:
        raise UsageFailure(_errors(name, errors, fence))
    if graph is None:
        raise UsageFailure(f"{name} is not a workflow: {analysis.why_no_workflow}.")
    if graph.cycles:
        nodes = " -> ".join(graph.node(index).id for index in graph.cycles[0])
        raise UsageFailure(f"{name} can't be run: these nodes wait for each other: {nodes}.")
    unknown = next((node for node in graph.nodes if node.kind == "unknown"), None)
    if unknown is not None:
        raise UsageFailure(f"{name} can't be run: the operator of node {unknown.id} is not known.")
    _check_numbers(name, graph)
    return graph


def _check_numbers(name: str, graph: TypedGraph) -> None:
    """Raise `UsageFailure` where a parameter that a run works with as a number is none: settings may ignore the rule."""
    nodes = ((f"node {node.id}", node.resolution.parameters, _NUMBERS) for node in graph.nodes)
    boxes = ((box.id, box.parameters, _NUMBERS_OF_BOXES) for box in graph.composites)
    for where, parameters, numbers in chain(nodes, boxes):
        for key in parameters.keys() & numbers.keys():
            value = parameters[key].value
            try:
                numbers[key](str(value))
            except ValueError:
                raise UsageFailure(
                    f"{name} can't be run: `{key}` of {where} must be a number, not `{value}`."
                ) from None


def _errors(name: str, errors: list[Diagnostic], fence: DiagramFence | None) -> str:
    first = errors[0]
    start = first.range.start if fence is None else fence.to_host(first.range.start)
    line, problem = f"on line {start.line + 1}", f"{first.message} ({first.code})"
    if len(errors) == 1:
        return f"{name} has an error {line} and is not run: {problem}"
    return f"{name} has {len(errors)} errors and is not run. The first is {line}: {problem}"
