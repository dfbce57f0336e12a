"""Finds the files that workflows call, and says what each of them takes and gives.

What is said of a file is a function of its text and of those that it reads in turn: it is remembered by these, and worked
out again only where one of them says something else.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from merrow_analysis.collector import collection_paused
from merrow_analysis.definitions.callees import Callee, declared_types
from merrow_analysis.definitions.libraries import with_libraries
from merrow_analysis.definitions.operators import InputPort, OutputPort
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.definitions.settings import NO_SETTINGS, read_settings
from merrow_analysis.definitions.types import ANY, Type, TypeTable
from merrow_analysis.diagnostics import Diagnostic, Related
from merrow_analysis.document import Document
from merrow_analysis.files_read import FilesBeside, ReadMemory, Reads, beside, said_of
from merrow_analysis.graph import typed
from merrow_analysis.graph.bare.conditions import ALWAYS
from merrow_analysis.graph.drawings.fold import MOST_EDGES_READ, fold
from merrow_analysis.graph.flow import Undrawn
from merrow_analysis.graph.measures.call_bounds import call_bounds
from merrow_analysis.graph.measures.kept_effects import acting
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.outside import Outside
from merrow_analysis.graph.resolve import called_path
from merrow_analysis.rules.call_rules import ENDLESS_CALL
from merrow_analysis.rules.configuration import Config
from merrow_analysis.text import LARGEST_TEXT, Range
from merrow_analysis.tools.permissions import NO_PERMISSIONS, Permissions
from merrow_analysis.tools.pinned_tools import PinnedTools

MOST_FILES = 200
"""Files that the calls of one workflow may lead to."""

_MARKDOWN = (".md", ".markdown")

T = TypeVar("T")
_MEMORY = ReadMemory()
FindErrors = Callable[[str, str, Provider, Config, Outside], list[Diagnostic]]
"""The errors of a workflow's text, by its path, the files beside it, its settings, and the files that it calls."""


@dataclass(frozen=True, slots=True)
class _Outline:
    """What the text of a file says alone. ``calls`` are the files that it names, from its own folder; ``acts`` says that a node
    of its own has an effect beyond a model's answer.

    ``outputs`` have None for a type that isn't written. ``problem`` says why it can't be called, ``at`` where.
    """

    inputs: tuple[InputPort, ...] = ()
    outputs: tuple[tuple[str, Type | None], ...] = ()
    types: Mapping[Type, tuple[object, ...]] = field(default_factory=dict)
    title: str | None = None
    calls: tuple[str, ...] = ()
    places: Mapping[str, Range] = field(default_factory=dict)
    problem: str | None = None
    acts: bool = False


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a file means with all that it calls. ``always`` are the files that it calls whatever is chosen, from its folder,
    ``calls`` how many calls it makes at least and at most.
    """

    outputs: tuple[OutputPort, ...]
    types: Mapping[Type, tuple[object, ...]]
    always: tuple[str, ...]
    calls: tuple[int, int | None]


class CalledFiles:
    """The files that one workflow calls, directly or through others.

    All paths in here are from the folder of that workflow. ``name`` is its own one, None where it isn't known; then a
    call that comes back to it is found in the files that it calls.
    """

    def __init__(self, provider: Provider, name: str | None, config: Config, errors: FindErrors) -> None:
        self.config, self._errors_of = config, errors
        self._name = name
        self._found: dict[str, Callee] = {}
        self._ways: dict[str, tuple[str, ...] | None] = {}
        self._begin(provider)

    def _begin(self, provider: Provider) -> None:
        self.reads = Reads(provider)
        self._tools: dict[str, PinnedTools] = {}
        self._outlines: dict[str, _Outline] = {}
        self._reach: dict[str, frozenset[str]] = {}
        self._meanings: dict[str, _Meaning] = {}
        self._errors: dict[str, list[Diagnostic]] = {}

    def serves(self, provider: Provider, name: str | None, config: Config) -> bool:
        """Whether all answers given so far hold with these files; later ones are about these, too."""
        if name != self._name or config != self.config:
            return False
        if self.reads.same_in(provider):
            self.reads.provider = provider
            return True
        pinned = self._tools.get(_folder(self._name or ""))
        self._begin(provider)
        callees, self._found = self._found, {}
        ways, self._ways = self._ways, {}
        return (
            (pinned is None or pinned.says_the_same_as(self.tools))
            and all(self.find(path) == callee for path, callee in callees.items())
            and all(self.way_back(path) == way for path, way in ways.items())
        )

    def find(self, path: str) -> Callee:
        """See `Outside.find`."""
        known = self._found.get(path)
        if known is None:
            known = self._found[path] = self.callee(self._name or "", path, is_entry=True)
        return known

    def way_back(self, path: str) -> tuple[str, ...] | None:
        """See `Outside.way_back`."""
        if path not in self._ways:
            self._ways[path] = self.way(self._name or "", path)
        return self._ways[path]

    @property
    def tools(self) -> PinnedTools:
        """See `Outside.tools`."""
        return self.tools_beside(self._name or "")

    @property
    def permissions(self) -> Permissions:
        """See `Outside.permissions`."""
        return self.config.permissions

    def tools_beside(self, name: str) -> PinnedTools:
        """The pins of the tools that a file uses."""
        folder = _folder(name)
        known = self._tools.get(folder)
        if known is None:
            known = self._tools[folder] = PinnedTools(FilesBeside(self.reads, name))
        return known

    # One call

    def callee(self, caller: str, path: str, *, is_entry: bool) -> Callee:
        """What ``caller`` calls as ``path``. Errors of a file that calls back are looked for only for the workflow itself."""
        name = beside(caller, path)
        shown = posixpath.relpath(name, posixpath.dirname(caller) or ".") if not posixpath.isabs(name) else name
        outline = self._outline(name)
        if outline.problem is not None:
            return Callee(shown, title=outline.title, problem=outline.problem)
        cannot = f"{shown} can't be called:"
        if len(self._reached(name)) > MOST_FILES:
            return Callee(shown, problem=f"{cannot} its calls lead to more than {MOST_FILES} files; call fewer.")
        calls_back = caller in self._reached(name)
        calls: tuple[int, int | None] = (0, None)
        if calls_back:
            untyped = next((output for output, type_ in outline.outputs if type_ is None), None)
            if untyped is not None:
                problem = (
                    f"{cannot} it calls this file again, so its output {untyped} must say its type: write "
                    f"`{untyped}@{{ type: Text }}` there, with the type that it gives."
                )
                place = outline.places.get(untyped)
                related = None if place is None else Related(place, f"output {untyped}", shown)
                return Callee(shown, title=outline.title, problem=problem, related=related)
            outputs = tuple(OutputPort(output, type_ or ANY) for output, type_ in outline.outputs)
            types = outline.types
        else:
            meaning = self._meaning(name)
            outputs, types, calls = meaning.outputs, {**outline.types, **meaning.types}, meaning.calls
        acts = any(self._outline(file).acts for file in (name, *self._reached(name)))
        callee = Callee(
            shown, outline.inputs, outputs, types, outline.title, places=outline.places, calls=calls, acts=acts
        )
        # Those of a file that calls itself are reported where they are.
        errors = self._all_errors(name) if name != caller and (is_entry or not calls_back) else []
        if calls_back:
            errors = [error for error in errors if error.code != ENDLESS_CALL.code]
        if not errors:
            return callee
        first = errors[0]
        count = "it has an error" if len(errors) == 1 else f"it has {len(errors)} errors, the first"
        problem = f"{cannot} {count} on line {first.range.start.line + 1}: {first.message} ({first.code})"
        return replace(callee, problem=problem, related=Related(first.range, first.message, shown))

    def way(self, caller: str, path: str) -> tuple[str, ...] | None:
        """See `way_back`, for any caller."""
        first = beside(caller, path)
        if not caller or self._outline(first).problem is not None or caller not in self._reached(first):
            return None
        came_from: dict[str, str | None] = {first: None}
        waiting = [first]
        for name in waiting:  # It grows meanwhile.
            if name == caller:
                way = [name]
                while (before := came_from[way[-1]]) is not None:
                    way.append(before)
                return tuple(reversed(way))
            for following in self._meaning(name).always:
                target = beside(name, following)
                if target not in came_from and self._outline(target).problem is None:
                    came_from[target] = name
                    waiting.append(target)
        return None

    # What is known of each file

    def _outline(self, name: str) -> _Outline:
        known = self._outlines.get(name)
        if known is None:
            known = self._outlines[name] = self._read_outline(name)
        return known

    def _read_outline(self, name: str) -> _Outline:
        if name.endswith(_MARKDOWN):
            return _Outline(problem=f"{name} can't be called: it is a Markdown file; name a file that is one diagram.")
        try:
            text = self.reads.read(name)
        except ResourceError as problem:
            return _Outline(problem=str(problem))
        if len(text) > LARGEST_TEXT:
            return _Outline(problem=f"{name} can't be called: it has more than {LARGEST_TEXT:,} characters; split it.")
        return _MEMORY.remembered(
            "outline",
            name,
            text,
            self.config,
            FilesBeside(self.reads, name),
            lambda files: _outline_of(name, text, files, self.config),
        )

    def _reached(self, name: str) -> frozenset[str]:
        """The files that calls lead to from a file; more than `MOST_FILES` of very many."""
        known = self._reach.get(name)
        if known is None:
            reached: dict[str, None] = {}
            waiting = [name]
            while waiting and len(reached) <= MOST_FILES:
                file = waiting.pop()
                for path in self._outline(file).calls:
                    target = beside(file, path)
                    if target not in reached:
                        reached[target] = None
                        waiting.append(target)
            known = self._reach[name] = frozenset(reached)
        return known

    def _below(self, name: str, done: Mapping[str, object]) -> list[str]:
        """The files that must be known before ``name``: those that it calls, and that don't call it again."""
        targets = dict.fromkeys(beside(name, path) for path in self._outline(name).calls)
        return [
            target
            for target in targets
            if target not in done and self._outline(target).problem is None and name not in self._reached(target)
        ]

    def _meaning(self, name: str) -> _Meaning:
        waiting = [name]
        while waiting:
            file = waiting[-1]
            below = [] if file in self._meanings else self._below(file, self._meanings)
            waiting += below
            if not below:
                waiting.pop()
                if file not in self._meanings:
                    self._meanings[file] = self._remembered("meaning", file, self._find_meaning)
        return self._meanings[name]

    def _all_errors(self, name: str) -> list[Diagnostic]:
        waiting = [name]
        while waiting:
            file = waiting[-1]
            below = [] if file in self._errors else self._below(file, self._errors)
            waiting += below
            if not below:
                waiting.pop()
                if file not in self._errors:
                    self._errors[file] = self._remembered("errors", file, self._find_errors)
        return self._errors[name]

    def _remembered(self, what: str, name: str, make: Callable[[str], T]) -> T:
        def made(files: Provider) -> T:
            answer = make(name)
            # The files that it calls, and what these read, count as well: to ask again is to remember them.
            for path, is_text in list(self.reads.found):
                said_of(files, path, is_text)
            return answer

        return _MEMORY.remembered(what, name, self.reads.read(name), self.config, self.reads, made)

    def _find_meaning(self, name: str) -> _Meaning:
        graph, _ = _typed(self.reads.read(name), FilesBeside(self.reads, name), self.config, _From(self, name))
        assert graph is not None  # noqa: S101 (its outline has no problem)
        given: list[tuple[str, Type]] = [(node.id, output_type(node, graph.types)) for node in graph.outputs]
        always = [
            path
            for node in graph.nodes
            if (path := called_path(node.resolution)) is not None
            and graph.combinations.runs(node) == ALWAYS
            and not graph.composites.maps(graph.composites.around(node.id))
        ]
        types = declared_types([type_ for _, type_ in given], graph.types)
        bounds = call_bounds(graph)
        outputs = tuple(OutputPort(*output) for output in given)
        return _Meaning(outputs, types, tuple(dict.fromkeys(always)), (bounds.least, bounds.most))

    def _find_errors(self, name: str) -> list[Diagnostic]:
        text = self.reads.read(name)
        return self._errors_of(text, name, FilesBeside(self.reads, name), self.config, _From(self, name))


@dataclass(frozen=True, slots=True)
class _From:
    """The files that ``name`` calls, itself a called one."""

    files: CalledFiles
    name: str

    def find(self, path: str) -> Callee:
        return self.files.callee(self.name, path, is_entry=False)

    def way_back(self, path: str) -> tuple[str, ...] | None:
        return self.files.way(self.name, path)

    @property
    def tools(self) -> PinnedTools:
        return self.files.tools_beside(self.name)

    @property
    def permissions(self) -> Permissions:
        return self.files.permissions


class _Uncalled:
    """What a file uses of others where nothing is said of those that it calls."""

    def __init__(self, files: Provider) -> None:
        self.tools = PinnedTools(files)
        self.permissions: Permissions = NO_PERMISSIONS

    def find(self, path: str) -> Callee:
        return Callee(path)

    def way_back(self, path: str) -> None:
        del path


def _folder(name: str) -> str:
    return posixpath.dirname(name)


def _typed(text: str, files: Provider, config: Config, outside: Outside) -> tuple[TypedGraph | None, Undrawn | None]:
    """The typed graph of a text; None where it is not a workflow, or beside what says that it has too many edges."""
    with collection_paused():
        diagram = Document(text).diagram
        if not diagram.is_flowchart:
            return None, None
        flow = fold(diagram.blocks, diagram.moved)
        front = diagram.front_matter
        own = NO_SETTINGS if front is None else read_settings(front[0].body, front[0].indent)
        settings, _ = with_libraries(own, files, config.libraries)
        graph = typed.build(flow, settings, outside=outside) if typed.is_workflow(flow, settings) else None
        return graph, flow.scenery.undrawn


def _outline_of(name: str, text: str, files: Provider, config: Config) -> _Outline:
    graph, undrawn = _typed(text, files, config, _Uncalled(files))
    if undrawn is not None:
        return _Outline(
            problem=f"{name} has {undrawn.edges:,} edges, more than the {MOST_EDGES_READ:,} that Merrow reads."
        )
    if graph is None:
        return _Outline(
            problem=f"{name} is not a workflow: name its operators, or give its front matter a `workflow:` block."
        )
    inputs = tuple(
        InputPort(node.id, next(iter(node.outputs.values()), None) or ANY, required=not node.resolution.has_default)
        for node in graph.inputs
    )
    outputs = tuple((node.id, node.resolution.declared) for node in graph.outputs)
    if not outputs:
        return _Outline(
            problem=f"{name} can't be called: it has no output; give it a node RETURN with class Interface."
        )
    named = [*(port.type for port in inputs), *(type_ for _, type_ in outputs if type_ is not None)]
    title = graph.settings.document.values.get("title") if isinstance(graph.settings, type(NO_SETTINGS)) else None
    calls = [path for resolution in graph.resolutions if (path := called_path(resolution)) is not None]
    return _Outline(
        inputs,
        outputs,
        declared_types(named, graph.types),
        title if isinstance(title, str) else None,
        tuple(dict.fromkeys(calls)),
        {node.id: node.flow.range for node in (*graph.inputs, *graph.outputs) if not node.implied},
        acts=bool(acting(graph)),
    )


def output_type(node: TypedNode, types: TypeTable) -> Type:
    """The type of what reaches an output."""
    if node.resolution.declared is not None:
        return node.resolution.declared
    given = [feed.type for edge in node.incoming for feed in edge.feeds]
    known = [type_ for type_ in given if type_ is not None]
    return types.common(known) if known and len(known) == len(given) else ANY
