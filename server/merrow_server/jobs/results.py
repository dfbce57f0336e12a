"""The tables of results that a server has shown, made again where their job went on."""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal, NamedTuple

from merrow_optimizer.optimization.record import load
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import BATCH, EvaluationRecord
from merrow_server.evaluations.evaluation_data import comparison, other_metrics
from merrow_server.jobs.desk import Json
from merrow_server.jobs.places import place_of
from merrow_server.results.candidates import CandidateTable
from merrow_server.results.compared import ComparedTable
from merrow_server.results.scored import ScoredTable
from merrow_server.results.table import PageRequest, ResultTable

Kind = Literal["evaluation", "batch", "comparison", "search"]
_KEPT = 4
"""Tables that are kept: of each some 100 bytes a row, and the texts where they are searched."""


class TableName(NamedTuple):
    """A table: of which kind, of which job, and of which ``other`` one where two are compared."""

    kind: Kind
    id: str
    other: str = ""


class ResultTables:
    """The tables of one journal."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[TableName, tuple[object, ResultTable]] = OrderedDict()

    def page(self, name: TableName, asked: PageRequest, *, head: bool) -> Json:
        """A page of a table, see `ResultTable.page`, with its ``head`` where wanted. Raises `UsageFailure`, `StoreFailure`."""
        table = self._table(name)
        return {**({"head": table.head()} if head else {}), **table.page(asked)}

    def whole(self, name: TableName, key: str) -> Json:
        """All that is known of one row. Raises `UsageFailure`, `StoreFailure`."""
        return self._table(name).whole(key)

    def _table(self, name: TableName) -> ResultTable:
        edition = self._edition(name)
        known = self._kept.pop(name, None)
        if known is None or edition is None or known[0] != edition:
            known = edition, self._made(name)
        self._kept[name] = known
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return known[1]

    def _edition(self, name: TableName) -> object:
        """What is another one once the table would be; None where that is not known."""
        if name.kind == "search":
            record = self._store.optimizations.get(name.id)
            return None if record.status == "running" else (record.id, record.status, record.ended)
        return tuple(self._of_scores(self._record(name.kind, each)) for each in (name.id, name.other) if each)

    def _of_scores(self, record: EvaluationRecord) -> object:
        return record.id, record.status, record.ended, record.error, self._store.evaluations.scores(record.id).last

    def _made(self, name: TableName) -> ResultTable:
        if name.kind == "search":
            search = load(self._store, name.id)
            return CandidateTable(search, place_of(search.search.workflow))
        record = self._record(name.kind, name.id)
        if name.kind != "comparison":
            return self._scored(record)
        other = self._record(name.kind, name.other)
        if record.dataset != other.dataset:
            raise UsageFailure(
                f"Evaluations {record.id} and {other.id} are of different data, so their items can't be compared."
            )
        tables = self._scored(record), self._scored(other)
        return ComparedTable(*tables, comparison(self._store, record, other), other_metrics(record, other))

    def _scored(self, record: EvaluationRecord) -> ScoredTable:
        return ScoredTable(self._store, record, place_of(record.workflow))

    def _record(self, kind: Kind, identity: str) -> EvaluationRecord:
        kept = self._store.batches if kind == "batch" else self._store.evaluations
        record = kept.get(identity)
        if (record.metric == BATCH) != (kind == "batch"):
            is_batch = record.metric == BATCH
            raise UsageFailure(f"{record.id} is {'a batch' if is_batch else 'an evaluation'}, not what was asked for.")
        return record
