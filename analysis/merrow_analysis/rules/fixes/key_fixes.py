"""Fixes of keys and values in labels and metadata, of nodes and subgraphs alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from merrow_analysis.definitions.labels import label_text
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.labels.parameters import LabelParameter, parse_label
from merrow_analysis.definitions.schema import Fragment
from merrow_analysis.definitions.validation import Path, violations
from merrow_analysis.definitions.yaml.yaml_scalars import plain_value
from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.parameters import without_entry
from merrow_analysis.edits.yaml_write import flow as written_flow
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.places.node_places import label_part, label_start, metadata_value_range
from merrow_analysis.rules.fixes.better_values import better_values
from merrow_analysis.rules.reporting import fix
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.tree import Block, Metadata
from merrow_analysis.text import Range, Span, TextEdit, equal_ends

_SLIP = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)\s*[=\s]\s*(\S.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WrittenKeys:
    """What a node or a subgraph says: its label, None where that must not be changed, and its metadata.

    ``part`` gives the place of a part of the label. ``drawn_elsewhere`` says that its metadata are statements of their own, as
    those of subgraphs and edges are.
    """

    label: str | None
    part: Callable[[Span], Range]
    metadata: Sequence[tuple[Metadata, Block]]
    drawn_elsewhere: bool = False

    def rewritten(self, text: str) -> TextEdit | None:
        """The edit that makes ``text`` of the label; None where that is the label already."""
        if self.label is None or text == self.label:
            return None
        front, back = equal_ends(self.label, text)
        place = self.part((front, len(self.label) - back))
        return TextEdit(place, text[front : len(text) - back])


def written_keys_of(node: TypedNode) -> WrittenKeys:
    """What a node says."""
    flow, label, start = node.flow, node.flow.label, label_start(node.flow)
    # Of two labels only the last counts, and both must stay alike.
    alone = sum(mention.vertex.shape is not None for mention in flow.mentions) < 2 and start is not None
    text = label.text if alone and label is not None and label.kind != "markdown" else None
    return WrittenKeys(text, lambda span: label_part(flow, span, start), flow.metadata)


def without_parameter(written_keys: WrittenKeys, parameter: LabelParameter) -> TextEdit | None:
    """The edit that takes a parameter out of the label; None where that would change another one."""
    if written_keys.label is None:
        return None
    text = label_text.without_one(written_keys.label, parameter, is_title=written_keys.drawn_elsewhere)
    before, after = parse_label(written_keys.label), parse_label(text)
    kept = [other.text for other in before.parameters.values() if other.key != parameter.key]
    if [other.text for other in after.parameters.values() if other.key != parameter.key] != kept:
        return None
    begin, end = label_text.with_comma(written_keys.label, parameter)
    if text == written_keys.label[:begin] + written_keys.label[end:]:
        # Its own place: of several that say the same each is another one.
        return TextEdit(written_keys.part((begin, end)), "")
    return written_keys.rewritten(text)


def remove_key(written_keys: WrittenKeys, key: str, block: int | None, *, safe: bool) -> Iterator[Fix]:
    """Take a parameter out of the label (``block`` is None), or out of label and metadata, wherever it is written."""
    parameter = None if written_keys.label is None else parse_label(written_keys.label).parameters.get(key)
    edits = [] if parameter is None else [without_parameter(written_keys, parameter)]
    if block is not None:
        has = [entry for entry in written_keys.metadata if key in parse_metadata(entry[0].body).values]
        edits += [without_entry(metadata, where, key, whole=written_keys.drawn_elsewhere) for metadata, where in has]
    made = [edit for edit in edits if edit is not None]
    if made and len(made) == len(edits):
        yield fix(f"Remove {key}", made, safe=safe)


def remove_repeated(
    written_keys: WrittenKeys, first: LabelParameter, second: LabelParameter, fits: Callable[[LabelParameter], bool]
) -> Iterator[Fix]:
    """Take one of two parameters of the same key out of the label; safe where they say the same. What ``fits`` may stay."""
    same = first.text == second.text
    for which, parameter, kept in (("second", second, first), ("first", first, second)):
        edit = without_parameter(written_keys, parameter) if same or fits(kept) else None
        if edit is not None:
            title = (
                f"Remove the {which} {parameter.key}" if same else f"Remove {parameter.key}: {_short(parameter.text)}"
            )
            yield fix(title, [edit], safe=same)
        if same:
            return


def _short(text: str) -> str:
    return text if len(text) <= 30 else f"{text[:29]}…"


def write_value(
    written_keys: WrittenKeys, key: str, fragment: Fragment, value: object, path: Path, block: int | None, place: Range
) -> Iterator[Fix]:
    """Write a value that is allowed in place of one that isn't, at ``path`` of the metadata or in the label; or remove it."""
    name = f"{path[-1] if path else key}: " if not path or isinstance(path[-1], str) else ""
    for better in better_values(fragment, value):
        if block is None:
            given = label_text.parameter(key, better)
            written = None if given is None or written_keys.label is None else given.removeprefix(f"{key}: ")
        else:
            written = written_flow(better)
            place = metadata_value_range(*written_keys.metadata[block], *path)
        # Mermaid ends metadata at the first brace that closes and is not in quotes.
        if written is not None and ("}" not in written or block is None or written.startswith('"')):
            yield fix(f"Write {name}{written}", [TextEdit(place, written)], safe=False)
    if len(path) < 2:
        yield from remove_key(written_keys, key, block, safe=False)


def write_parameter(
    written_keys: WrittenKeys, span: Span, allowed: Mapping[str, Fragment], taken: Collection[str]
) -> Iterator[Fix]:
    """Make a parameter of a part of the label that is none: a colon after its key, or ``role`` before a text."""
    label = written_keys.label
    if label is None:
        return
    start, end = span
    piece = label[start:end]
    if piece.startswith("("):
        yield from _readable(written_keys, f"{label[:end]})", "Add )")
        return
    if piece.strip() in allowed:
        # A key without a value.
        before, after = label[:start].rstrip(), label[end:].lstrip()
        rest = (
            before.removesuffix(",") + after
            if before.endswith(",")
            else label[:start] + after.removeprefix(",").lstrip()
        )
        yield from _readable(written_keys, rest, f"Remove {piece.strip()}")
        return
    slip = _SLIP.fullmatch(piece)
    key = None if slip is None else slip[1] if slip[1] in allowed else closest(slip[1], allowed)
    if slip is not None and key is not None:
        value: object = plain_value(slip[2])
    elif "role" in allowed:
        key, value = "role", piece
    else:
        return
    written = label_text.parameter(key, value)
    if written is None or key in taken or any(True for _ in violations(allowed[key], value)):
        return
    yield from _readable(written_keys, label[:start] + written + label[end:], f"Write {_short(written)}")


def _readable(written_keys: WrittenKeys, text: str, title: str) -> Iterator[Fix]:
    """The fix that makes ``text`` of the label, where more of it can be read then."""
    before, after = parse_label(written_keys.label or ""), parse_label(text)
    edit = written_keys.rewritten(text)
    if edit is not None and len(after.problems) < len(before.problems) and not after.repeated:
        yield fix(title, [edit], safe=False)
