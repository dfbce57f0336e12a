"""What there is to say about a store that the front matter declares."""

from __future__ import annotations

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.stores import StoreSettings
from merrow_analysis.graph.resolve import store_name
from merrow_analysis.ide.texts.markup import CodeSpan, Inline, Markup

_MOST_NODES = 20


def store_text(analysis: Analysis, store: StoreSettings) -> Markup:
    """A store: where its documents come from, and the nodes that use it."""
    text = Markup()
    if store.file is not None:
        matched = (CodeSpan(", ".join(store.match)), " is searched, ", CodeSpan(", ".join(store.shown)), " is shown.")
        text.say("Store ", CodeSpan(store.name), ": the documents in ", CodeSpan(store.file), ". Of rows, ", *matched)
    elif store.folder is not None:
        text.say(
            "Store ",
            CodeSpan(store.name),
            ": the passages of the Markdown and text files in ",
            CodeSpan(store.folder),
            ".",
        )
    else:
        text.say(
            "Store ", CodeSpan(store.name), f": the last {store.keep:,} texts that runs have added, in your own files."
        )
    nodes = [] if analysis.typed is None else analysis.typed.nodes
    names = [node.id for node in nodes if store_name(node.resolution) == store.name]
    pieces = [piece for name in names[:_MOST_NODES] for piece in (", ", CodeSpan(name))][1:]
    nodes_text: Inline = (
        ("Nodes: ", *pieces, ", ..." if len(names) > _MOST_NODES else "") if names else ("No node uses it.",)
    )
    return text.items([nodes_text])
