"""Records of the journal as rows of its tables, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from merrow_analysis.definitions.operators import CALL
from merrow_runtime.provenance import UNKNOWN_ORIGIN, Provenance
from merrow_runtime.requests import CallKey
from merrow_runtime.store.contract import (
    CallRecord,
    FailureRecord,
    FrameRecord,
    LoopRecord,
    NodeRecord,
    RunFailed,
    RunRecord,
    Told,
)
from merrow_runtime.store.schema import WORKFLOW
from merrow_runtime.usage import Usage
from merrow_runtime.values import as_text, number_text
from merrow_runtime.visit import Visit, read_segment

RUN_COLUMNS = "id, workflow, status, started, ended, seconds, usage, sources, error, parent, failure, snapshot, outputs"
"""Of a run; to be read, followed by the text of its workflow's snapshot where that is kept apart."""

UNKNOWN = Provenance(UNKNOWN_ORIGIN, "")
"""Who answered, where an older version did not record it."""

SENT = "sent"
"""Why a call is in ``lost`` that is on its way: it has no answer yet, and none will come where its process is dead."""

_HASH_BYTES = 16

_MICROSECONDS = 1e6
"""Of a second: whole ones are written and read in a sixth of the time of a fraction."""

CALL_COLUMNS = (
    "node, sample, step, attempt, path, redo, request_hash, kind, usage, usable, origin, endpoint, model, started, seconds,"
    " request, result"
)


Report = Callable[[str], object]
"""Called with a sentence about a damaged record that is left out."""


def ignored(sentence: str) -> None:
    """A `Report` that nobody reads."""
    del sentence


class Damaged(Exception):  # noqa: N818 (a state of a row)
    """A row of the journal that can't be read back."""


def run_values(run: RunRecord) -> tuple[Any, ...]:
    """In the order of `RUN_COLUMNS`; the snapshot is without the workflow, which runs share, see `workflow_text`."""
    return (
        run.id,
        storable(run.workflow),
        run.status,
        run.started,
        run.ended,
        run.seconds,
        usage_text(run.usage),
        text_of(run.sources),
        storable(run.error),
        run.parent,
        None if run.failure is None else text_of(run.failure),
        text_of({name: part for name, part in run.snapshot.items() if name != WORKFLOW}),
        None if run.outputs is None else text_of(run.outputs),
    )


def workflow_text(run: RunRecord) -> str | None:
    """The snapshot of its workflow, where it has one."""
    return text_of(run.snapshot[WORKFLOW]) if WORKFLOW in run.snapshot else None


def run_of(row: Sequence[Any]) -> RunRecord:
    """The inverse of `run_values` and `workflow_text`. Raises `Damaged`."""
    *told, failure, snapshot, outputs, shared, author = row
    identity, workflow, status, started, ended, seconds, usage, sources, error, parent = told
    with reading():
        kept = _object(snapshot)
        if seconds is None:  # before version 3: from its beginning to its end
            seconds = 0.0 if ended is None else max(0.0, ended - started)
        return RunRecord(
            identity,
            workflow,
            status,
            started,
            ended,
            kept if shared is None else {WORKFLOW: _object(shared), **kept},
            None if outputs is None else _object(outputs),
            usage_of(usage),
            error,
            parent,
            float(seconds),
            () if sources is None else sources_of(json.loads(sources)),
            None if failure is None else RunFailed(*json.loads(failure)),
            str(author),
        )


def call_values(run: int, call: CallRecord) -> tuple[Any, ...]:
    """``run`` and what `CALL_COLUMNS` names."""
    key = call.key
    return (
        run,
        key.node,
        key.sample,
        key.step,
        key.attempt,
        key.path,
        key.redo,
        call.request_hash,
        call.kind,
        usage_text(call.usage),
        call.usable,
        call.origin,
        call.endpoint,
        storable(call.model),
        call.started,
        call.seconds,
        call.request_text,
        call.result_text,
    )


def call_of(row: Sequence[Any]) -> CallRecord:
    """A row of `CALL_COLUMNS`. Raises `Damaged`."""
    node, sample, step, attempt, path, redo, request_hash, kind, usage, usable, origin, endpoint, model, *rest = row
    started, seconds, request, result = rest
    with reading():
        _object(request)
        _object(result)
        return CallRecord(
            CallKey(node, sample, step, attempt, path, redo),
            kind,
            request_hash,
            request,
            result,
            usage_of(usage),
            bool(usable),
            origin,
            float(started),
            float(seconds),
            endpoint if kind in ("model", "person", "fact") else "",
            model,
        )


def told_text(several: Iterable[Told]) -> str:
    """What was told; nodes without their definitions, which are kept once for the run."""
    return text_of(
        [
            _frame_values(node)
            if isinstance(node, FrameRecord)
            else _loop_values(node)
            if isinstance(node, LoopRecord)
            else (
                node.node,
                node.status,
                node.key,
                node.outputs,
                _usage_values(node.usage),
                round(node.started * _MICROSECONDS),
                round(node.ended * _MICROSECONDS),
                node.error,
                node.case,
                node.inputs,
                [_named(*kept) for kept in zip_longest(node.memory, node.remembers)],
                node.sources,
                node.why_no_call,
                node.path,
                node.redo,
                node.number,
                node.label,
                node.failed,
                node.validation,
                *_rare(node),
            )
            for node in several
        ]
    )


def _named(entry: Mapping[str, Any], visit: Visit | None) -> Any:
    """An entry of a memory: its title, and node, path and redo of the visit whose result it is; as it is where there is none."""
    if visit is None:
        return entry
    return entry["title"], visit.node, visit.path, visit.redo


class PastResults:
    """What the visits of a run have given so far, while its rows are read in the order in which they were written; ``missing``
    are the names of those that a memory holds and that gave nothing.
    """

    def __init__(self) -> None:
        self.missing: dict[str, None] = {}
        self._given: dict[tuple[str, str, int], Mapping[str, Any]] = {}
        self._texts: dict[tuple[str, str, int], str] = {}

    def add(self, node: NodeRecord) -> None:
        """A visit has ended, maybe again."""
        if node.outputs:
            visit = node.node, node.path, node.redo
            self._given[visit] = node.outputs
            self._texts.pop(visit, None)

    def memory(self, entries: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
        """The memory of a node whose row is read; an older version kept the text of every entry."""
        for entry in entries:
            if isinstance(entry, dict):
                yield entry
                continue
            title, node, path, redo = entry
            yield {"node": node, "title": title, "text": self._text((node, path, redo))}

    def _text(self, visit: tuple[str, str, int]) -> str | None:
        text = self._texts.get(visit)
        if text is None:
            outputs = self._given.get(visit)
            if outputs is None:
                self.missing[Visit(*visit).name] = None
                return None
            text = self._texts[visit] = as_text(next(iter(outputs.values())))
        return text


def _rare(node: NodeRecord) -> tuple[Any, ...]:
    """What few nodes have, and only these rows hold."""
    if node.masked:
        return node.revision, node.taken, True
    return (node.revision, node.taken) if node.revision or node.taken else ()


def told_of(several: str, by_revision: Mapping[int, Mapping[str, Any]], results: PastResults) -> list[Told]:
    """The inverse of `told_text`; ``by_revision`` has the definitions of the run by node, for 0 those that it began with,
    and for the numbers of revisions theirs; ``results`` are those of the rows before it. Of nodes with an operator that were
    written before version 3 the source is one that is not known. Raises `Damaged`.
    """
    with reading():
        return [
            _frame_or_loop(values) if values[0] is None else _node(values, by_revision, results)
            for values in json.loads(several)
        ]


def _frame_values(frame: FrameRecord) -> tuple[Any, ...]:
    """Of a turn or an item: no node has the id None."""
    at = round(frame.at * _MICROSECONDS)
    return (
        None,
        frame.event,
        frame.composite,
        frame.path,
        frame.which,
        frame.most,
        at,
        frame.number,
        frame.error,
        frame.code,
    )


_LOOP_ENDED = "loop_ended"


def _loop_values(loop: LoopRecord) -> tuple[Any, ...]:
    """Of a Loop that ended, beside those of turns: with the name of its event in the same place."""
    at = round(loop.at * _MICROSECONDS)
    told = loop.composite, loop.path, loop.turns, loop.most, at, loop.number, loop.why, loop.exhausted
    rare = (loop.best, loop.replaced) if loop.best is not None or loop.replaced else ()
    return None, _LOOP_ENDED, *told, *rare


def _frame_or_loop(values: Sequence[Any]) -> FrameRecord | LoopRecord:
    _, event, composite, path, which, most, at, number, *rest = values
    if event == _LOOP_ENDED:
        why, exhausted, best, several = (*rest, None, ())[:4]
        replaced = tuple((str(node), str(answer), str(taken)) for node, answer, taken in several)
        return LoopRecord(
            str(composite),
            str(path),
            int(which),
            int(most),
            str(why),
            bool(exhausted),
            at / _MICROSECONDS,
            int(number),
            None if best is None else int(best),
            replaced,
        )
    error, code = rest
    return FrameRecord(
        event, str(composite), str(path), int(which), int(most), at / _MICROSECONDS, int(number), error, code
    )


def _node(values: Sequence[Any], by_revision: Mapping[int, Mapping[str, Any]], results: PastResults) -> NodeRecord:
    node, status, key, outputs, usage, started, ended, error, chosen, inputs, memory, *later = values
    # What an older version had no place for.
    missing = [() if key is None else (UNKNOWN,), None, "", 0, 0, None, None, None, 0, None, False][len(later) :]
    sources, why_no_call, path, redo, number, label, failed, validation, revision, taken, masked = later + missing
    definitions = by_revision.get(revision) or by_revision[0]
    record = NodeRecord(
        str(node),
        status,
        key,
        None if outputs is None else dict(outputs),
        Usage(*usage),
        started / _MICROSECONDS,
        ended / _MICROSECONDS,
        error,
        chosen,
        None if status == "skipped" else definition_of(definitions, str(path), str(node)),
        None if inputs is None else dict(inputs),
        tuple(results.memory(memory)),
        sources_of(sources),
        why_no_call,
        str(path),
        int(redo),
        number,
        label,
        None if failed is None else FailureRecord(*failed),
        None if validation is None else dict(validation),
        revision,
        taken,
        bool(masked),
    )
    results.add(record)
    return record


def definition_name(place: str, node: str) -> str:
    """By what the definition of a node is found; ``place`` is the called file that it is in, empty for the workflow itself."""
    return f"{place}:{node}" if place else node


def definition_of(definitions: Mapping[str, Any], path: str, node: str) -> Mapping[str, Any] | None:
    """The definition of a node in a frame. Each Call among the parts of the path leads to the file that it runs, or to what was
    planned for this very visit, which has the path of its frame for a place.
    """
    place, end = "", -1
    for part in path.split("/") if path else ():
        end += 1 + len(part)
        around = definitions.get(definition_name(place, read_segment(part)[0]))
        if around is not None and around.get("operator") == CALL.name:
            place = around.get("parameters", {}).get("file", path[:end])
    definition: Mapping[str, Any] | None = definitions.get(definition_name(place, node))
    return definition


def hash_of(body: str) -> bytes:
    """What a text that runs share is found by."""
    return hashlib.sha256(body.encode()).digest()[:_HASH_BYTES]


def definitions_of(text: str) -> dict[str, Any]:
    """The definitions of a run's nodes by id. Raises `Damaged`."""
    return object_of(text)


def object_of(text: str) -> dict[str, Any]:
    """A column that holds a JSON object. Raises `Damaged`."""
    with reading():
        return _object(text)


def sources_of(plain: Any) -> tuple[Provenance, ...]:
    """Sources of plain data, the inverse of their JSON."""
    return tuple(Provenance(str(endpoint), str(model)) for endpoint, model in plain)


def storable(text: str | None) -> str | None:
    """A text for a column of its own: half characters (of a model's answer, of a file's name) become visible escapes."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def storable_json(text: str) -> str:
    """JSON for a column of its own: the same where it can be stored, else with escapes in place of half characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text_of(json.loads(text))
    return text


def _usage_values(usage: Usage) -> tuple[Any, ...]:
    return usage.prompt_tokens, usage.completion_tokens, usage.calls, usage.cost_usd, usage.estimated


def usage_text(usage: Usage) -> str:
    """Usage as a column: this takes a tenth of the time of the object's JSON."""
    cost = "null" if usage.cost_usd is None else number_text(usage.cost_usd)
    return f"[{usage.prompt_tokens},{usage.completion_tokens},{usage.calls},{cost},{int(usage.estimated)}]"


def usage_of(text: str) -> Usage:
    """The inverse of `usage_text`. Raises `Damaged`."""
    with reading():
        prompt, completion, calls, cost, estimated = json.loads(text)
        return Usage(int(prompt), int(completion), int(calls), None if cost is None else float(cost), bool(estimated))


@lru_cache(maxsize=1024)
def usage_or_unknown(text: str) -> Usage:
    """The same; of a damaged column it is one call of unknown cost, so that nothing paid for is counted as free."""
    try:
        return usage_of(text)
    except Damaged:
        return Usage(calls=1, cost_usd=None, estimated=True)


# Keys keep their order, which is that of ports. Escapes keep what no database takes: lone surrogates.
text_of = json.JSONEncoder(separators=(",", ":")).encode


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(text)
    return value


@contextmanager
def reading() -> Iterator[None]:
    """Whatever is wrong with a row that does not read back is one thing: it is damaged."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise Damaged from problem
