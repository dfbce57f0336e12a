"""Where the stores of a workflow are: what a workflow declares, with the folder that its paths start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from merrow_analysis.definitions.stores import StoreSettings
from merrow_analysis.graph.resolve import store_name
from merrow_runtime.program.tool_parameters import folder_of
from merrow_runtime.program.workspace import WorkspaceFinder
from merrow_runtime.workflow import Workflow


class StorePlace(NamedTuple):
    """A store of a workflow: ``folder`` is the workflow's, and nothing outside of ``root`` is read."""

    store: StoreSettings
    folder: Path
    root: Path


def place_of(workflow: Workflow, name: str, root: Path | None) -> StorePlace:
    """The store that a workflow declares as ``name``; ``root`` is the folder of the workflow that is run, None where that is
    not in a file.
    """
    folder = folder_of(workflow, root)
    return StorePlace(workflow.analysis.settings.stores[name], folder, WorkspaceFinder().root(folder))


def stores_used(workflow: Workflow, root: Path | None) -> Iterator[tuple[str, StorePlace]]:
    """The stores that the nodes of a workflow use, and of the files that it calls, each once, with the first node that does."""
    known: set[StorePlace] = set()
    for reached in workflow.reached():
        for node in reached.graph.nodes:
            name = store_name(node.resolution)
            if name is None:
                continue
            place = place_of(reached, name, root)
            if place not in known:
                known.add(place)
                yield node.id, place
