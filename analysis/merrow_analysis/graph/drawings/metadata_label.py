"""A label in metadata: Mermaid shows it, so it is the node's label like one between brackets."""

from __future__ import annotations

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.syntax.tree import Label, Metadata


def metadata_label(metadata: Metadata) -> Label | None:
    """The label that a metadata block gives its node, at the place of the value without its quotes; None where it gives none."""
    if "label" not in metadata.body:
        return None
    doc = parse_metadata(metadata.body)
    text = doc.values.get("label")
    if not isinstance(text, str) or not text:
        return None
    start, end = metadata.body_span
    quoted = f'"{text}"'
    if end - start != len(metadata.body):
        pass  # Mermaid reads a text that differs from the written one: the whole of it is the place
    elif metadata.body.count(quoted) == 1:
        start += metadata.body.index(quoted) + 1  # the usual form, found without the reader of places
        end = start + len(text)
    else:
        value_start, value_end = doc.value_span("label")
        if metadata.body[value_start:value_end][:1] in ("'", '"'):
            value_start, value_end = value_start + 1, value_end - 1
        start, end = start + value_start, start + value_end
    return Label(text, "string", (start, end))
