"""How often the nodes of a workflow failed in the user's own runs of it."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass

from merrow_runtime.errors import NodeFailure
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.store.database import Store

ENOUGH = 20
"""Executions of a node from which its rate is taken."""
_MOST_RUNS = 1_000


@dataclass(frozen=True, slots=True)
class FailureRate:
    """Of so many ``executions`` of a node, ``failed`` ended without a result by the node's own fault."""

    failed: int
    executions: int

    @property
    def rate(self) -> float:
        return self.failed / self.executions

    def as_json(self) -> dict[str, object]:
        return {"failed": self.failed, "executions": self.executions}


def failure_rates(file: str) -> dict[str, FailureRate]:
    """The rates of the nodes of a workflow file that were executed often enough, by the newest runs in the journal.

    What an endpoint or a budget kept from an answer does not count, nor what was reused. Raises `StoreFailure`.
    """
    done: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    with closing(Store.open(reading=True)) as store:
        for run in store.runs(_MOST_RUNS, whole_path(file)):
            for node in store.nodes(run.id):
                own_fault = node.status == "failed" and node.failed is not None and node.failed.code == NodeFailure.code
                if (node.status == "finished" or own_fault) and not node.path:
                    done[node.node] += 1
                    failed[node.node] += own_fault
    return {name: FailureRate(failed[name], count) for name, count in done.items() if count >= ENOUGH}
