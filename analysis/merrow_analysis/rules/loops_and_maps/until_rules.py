"""What ends a Loop, and which turn of it counts: ``until`` and ``best``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from merrow_analysis.definitions.types import BOOL, NUMBER, Type
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.graph.bare.conditions import NEVER, TooManyCombinationsError
from merrow_analysis.graph.boxes.box_expressions import read_box_expression
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.skipping import any_skips, failing_away, skipping_key
from merrow_analysis.rules.box_parameters import value_range, written_keys_of_box
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.fixes.key_fixes import remove_key
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, listed, named, report
from merrow_analysis.suggest import closest
from merrow_analysis.text import Position, Range, TextEdit

# It needs types and liveness, and `on_error` of nodes as well.
_FAMILY = RuleFamily[TextContext](Scope.TEXT)
LOOP_EXPRESSION = _FAMILY.rule(
    "MW225",
    "loop-expression",
    "The `until` or `best` of a Loop reads a value that may be missing after a turn, or is of the wrong type.",
    Severity.ERROR,
    fix="sometimes",
)


@_FAMILY.checked_by
def check_expressions(context: TextContext) -> Iterator[Diagnostic]:
    """Findings about the expressions of Loops, one for each expression."""
    graph = context.graph
    if graph is None:
        return
    away = _Away(graph, context.settings.on_error)
    for box in graph.composites:
        if box.kind != "loop":
            continue
        for key in ("until", "best"):
            parameter = box.parameters.get(key)
            if parameter is None or not isinstance(parameter.value, str) or not parameter.value.strip():
                continue
            problem = _problem(graph, box, key, parameter.value, away)
            if problem is not None:
                message, near = problem
                place = value_range(graph.flow.groups[box.id], key, parameter)
                fixes = _repairs(context, box, key, near, place)
                yield report(LOOP_EXPRESSION, place, f"{box.id}: {message}", fixes=fixes)


_MOST_OFFERED = 3
_Problem = tuple[str, tuple[str, str] | None]


class _Away:
    """What failures may skip in the boxes of a graph; ``usual`` is the workflow's ``on_error``."""

    def __init__(self, graph: TypedGraph, usual: str | None) -> None:
        self._graph, self._usual = graph, usual

    def within(self, box: str) -> dict[str, str]:
        """`failing_away` of a box."""
        return failing_away(self._graph, box, self._usual) if self._any else {}

    @cached_property
    def _any(self) -> bool:
        return any_skips(self._graph, self._usual)


def _repairs(
    context: TextContext, box: Composite, key: str, near: tuple[str, str] | None, place: Range
) -> Iterator[Fix]:
    """Write the word that was probably meant, or another expression that may be read after every turn."""
    graph, workflow = context.graph, context.workflow
    text = box.parameters[key].value
    if graph is None or workflow is None or not isinstance(text, str):
        return
    repairs = _replaced(text, near, place) if near is not None else []
    yield from repairs
    if repairs:
        return
    away = _Away(graph, context.settings.on_error)
    wanted: Type = BOOL if key == "until" else NUMBER
    members = [graph.by_id[name] for name in graph.composites.members(box.id) if name in graph.core.handles]
    known = (
        f"{node.id}.{output}"
        for node in members
        for output, type_ in node.outputs.items()
        if node.kind == "operator" and type_ is not None and graph.types.fits(type_, wanted)
    )
    sound = (other for other in known if _problem(graph, box, key, other, away) is None)
    others = (
        made._replace(title=f"Write {key}: {other}")
        for other in sound
        for made in _replaced(text, (text, other), place)
    )
    # A node that the expression alone reads would be a dead end.
    yield from islice(asked(workflow).sound(LOOP_EXPRESSION, others), _MOST_OFFERED)
    for name in _skipped(graph, box, text, away):
        skip_key = skipping_key(graph, name)
        edits = rewrite(graph.by_id[name], Moved(frozenset({skip_key}), {skip_key: "fail"}))
        if edits is not None:
            yield fix(f"Write {skip_key}: fail at {name}", edits, safe=False)
    if key == "best":
        gone = remove_key(written_keys_of_box(graph.flow.groups[box.id]), key, box.parameters[key].block, safe=False)
        yield from asked(workflow).sound(LOOP_EXPRESSION, gone)


def _skipped(graph: TypedGraph, box: Composite, text: str, away: _Away) -> list[str]:
    """The nodes, boxes left out, for whose failure one that an expression reads is skipped."""
    causes_by_id = away.within(box.id)
    paths = read_box_expression(text, "until").paths
    causes = [causes_by_id[path[0]] for path in paths if path[0] in causes_by_id]
    nodes = [graph.by_id[name] for name in dict.fromkeys(causes) if name in graph.core.handles]
    return [node.id for node in nodes if skipping_key(graph, node.id) in node.resolution.parameters]


def _problem(graph: TypedGraph, box: Composite, key: str, text: str, away: _Away) -> _Problem | None:
    """What is wrong with an expression, and a word in it with the one that was probably meant."""
    read = read_box_expression(text, key)
    if read.problem is not None:
        return read.problem, None
    members = [name for name in graph.composites.members(box.id) if name in graph.core.handles]
    for name in read.bare:
        example = _example(graph, members, key)
        if name in members:
            node = graph.by_id[name]
            outputs = listed([f"`{name}.{output}`" for output in node.outputs], "or")
            wanted = _fitting(graph, node, BOOL if key == "until" else NUMBER) or next(iter(node.outputs), None)
            near = None if wanted is None else (name, f"{name}.{wanted}")
            return f"`{key}` reads {name} without saying which output: write {outputs}.", near
        message = (
            f"`{key}` reads `{name}`, which is not an output of a node in {box.id}; write one such as `{example}`."
        )
        return message, (name, example) if example.split(".")[0] in members else None
    if not read.paths:
        return f"`{key}` reads nothing of {box.id}, so it is the same after every turn; read an output in it.", None
    for path in read.paths:
        problem = _unreadable(graph, box, key, path, members) or _absent(graph, box, key, path, away.within(box.id))
        if problem is not None:
            return problem
    if key == "best" and not read.single:
        return "`best` is one Number, such as `JUDGE.score`; write the name of an output.", None
    if read.single:
        return _mistyped(graph, key, read.paths[0])
    return None


def _unreadable(
    graph: TypedGraph, box: Composite, key: str, path: tuple[str, ...], members: list[str]
) -> _Problem | None:
    name, output = path[:2]
    if name not in members:
        near = closest(name, members)
        if name in graph.core.handles:
            return f"`{key}` reads {name}, which does not lie in {box.id}; read an output of a node in it.", None
        hint = f"did you mean {near}?" if near is not None else f"its nodes are {listed(members)}."
        return f"`{key}` reads `{name}.{output}`, but {box.id} has no node {name}; {hint}", None if near is None else (
            name,
            near,
        )
    node = graph.by_id[name]
    between = graph.composites.around(name)
    for box_id in between[: between.index(box.id)]:
        inner = graph.composites.boxes[box_id]
        if inner.kind == "map":
            return (
                f"`{key}` reads {name}, which lies in the Map {inner.id} and has a value for each item; read a node that "
                f"joins them, outside of {inner.id}."
            ), None
    if node.kind == "decision":
        return f"`{key}` reads {name}, a Decision, which has no outputs; read what it decides by.", None
    if output not in node.outputs:
        near = closest(output, node.outputs)
        outputs = listed([f"`{known}`" for known in node.outputs])
        hint = f"did you mean `{near}`?" if near is not None else f"its outputs are {outputs}."
        return (
            f"`{key}` reads `{name}.{output}`, but {named(node)} has no output `{output}`; {hint}",
            None
            if near is None
            else (
                f".{output}",
                f".{near}",
            ),
        )
    return None


def _absent(
    graph: TypedGraph, box: Composite, key: str, path: tuple[str, ...], away: dict[str, str]
) -> _Problem | None:
    """Whether a node does not run in every turn."""
    name = path[0]
    if name in away:
        cause = away[name]
        sentence = f"{name} may fail and is skipped then" if cause == name else f"{name} is skipped where {cause} fails"
        skip_key = skipping_key(graph, cause)
        return f"`{key}` reads {name}, but {sentence} (`{skip_key}: skip`); write `{skip_key}: fail` at {cause}.", None
    live = graph.combinations.live
    if live is None:
        return None
    algebra = live.algebra
    try:
        begins = algebra.never
        for member in graph.composites.members(box.id):
            handle = graph.core.handles.get(member)
            if handle is not None:
                begins = algebra.either(begins, live.runs.get(handle, algebra.always))
        skipped = algebra.both(begins, algebra.negated(live.runs.get(graph.core.handles[name], algebra.always)))
    except TooManyCombinationsError:
        return None
    if skipped == NEVER:
        return None
    cases = graph.combinations.cases
    choices = {} if cases is None else cases.holding(skipped) or {}
    chosen = next(((index, case) for index, case in choices.items() if isinstance(index, int)), None)
    when = "in some turns"
    if chosen is not None:
        node = graph.node(chosen[0])
        if node.cases is not None:
            when = f"where {node.id} chooses `{node.cases.labels[chosen[1]]}`"
    return f"`{key}` reads {name}, which is skipped {when}; read a node that runs in every turn.", None


def _mistyped(graph: TypedGraph, key: str, path: tuple[str, ...]) -> _Problem | None:
    wanted: Type = BOOL if key == "until" else NUMBER
    node = graph.by_id[path[0]]
    given = node.outputs.get(path[1])
    if given is None or len(path) > 2 or graph.types.fits(given, wanted):
        return None
    fitting = _fitting(graph, node, wanted)
    hint = (
        f"write `{node.id}.{fitting}`." if fitting is not None else "read another output, or compare it with a value."
    )
    if key == "best" and fitting is None:
        hint = "read an output that is a Number."
    near = (f".{path[1]}", f".{fitting}") if fitting is not None else None
    return f"`{key}` wants a {wanted}, but `{node.id}.{path[1]}` is {given}; {hint}", near


def _fitting(graph: TypedGraph, node: TypedNode, wanted: Type) -> str | None:
    outputs = node.outputs.items()
    return next((name for name, type_ in outputs if type_ is not None and graph.types.fits(type_, wanted)), None)


def _example(graph: TypedGraph, members: list[str], key: str) -> str:
    wanted: Type = BOOL if key == "until" else NUMBER
    for name in members:
        output = _fitting(graph, graph.by_id[name], wanted)
        if output is not None:
            return f"{name}.{output}"
    return "REVIEW.result" if key == "until" else "JUDGE.score"


def _replaced(text: str, near: tuple[str, str] | None, place: Range) -> list[Fix]:
    """Write another word in an expression that stands on one line as it is read."""
    if near is None or place.start.line != place.end.line or text.count(near[0]) != 1:
        return []
    width = place.end.column - place.start.column
    shift = 0 if width == len(text) else 1 if width == len(text) + 2 else None
    if shift is None:
        return []
    at = place.start.column + shift + text.index(near[0])
    where = Range(Position(place.start.line, at), Position(place.start.line, at + len(near[0])))
    return [fix(f"Write {near[1].removeprefix('.')}", [TextEdit(where, near[1])], safe=False)]
