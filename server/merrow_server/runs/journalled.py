"""What the evaluations and the searches of a server share: each has a record in the journal, by which it goes on later."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Generic, TypeVar

from merrow_optimizer.evaluation.keys import semantic_hash
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.optimizations import OptimizationRecord
from merrow_runtime.workflow import Workflow, restore
from merrow_server.evaluations.preparing import Choosing
from merrow_server.runs.orders import WorkflowText
from merrow_server.runs.ticket import Ticket
from merrow_server.runs.tickets import Closes, Tickets

Check = Callable[[WorkflowText], Workflow]

_Ready = TypeVar("_Ready", bound=Closes)
_Record = TypeVar("_Record", EvaluationRecord, OptimizationRecord)


class Journalled(Tickets[_Ready], Generic[_Ready, _Record]):
    """Work with a record in the journal, by its tickets. All of it belongs to the thread of the runs."""

    what: ClassVar[str]
    """What it is called at the beginning of a sentence."""

    def __init__(self, store: Store, choosing: Choosing, check: Check) -> None:
        super().__init__()
        self._store = store
        self._choosing = choosing
        self._check = check
        self._semantics: dict[str, str] = {}
        self.running: set[str] = set()
        """The ids of those that are worked on here."""

    def _check_idle(self, identity: str) -> None:
        """Raises `UsageFailure` where it is worked on here."""
        if identity in self.running:
            raise UsageFailure(f"{self.what} {identity} is going on here already.")

    async def _work(
        self, ticket: Ticket, identity: str, work: Coroutine[Any, Any, Any], tell: Callable[[], None]
    ) -> None:
        """Work on what has this id to the end, whatever that is. ``tell`` is called before and after."""
        tell()
        self.running.add(identity)
        try:
            await self._finish(ticket, work)
        finally:
            self.running.discard(identity)
            tell()

    def _changed(self, record: _Record, text: WorkflowText) -> bool:
        """Whether a text does something else than the workflow of a record. Both are read with the same options, so that another
        endpoint or model of the user's is not a change of the text. A text with errors is taken to be changed.
        """
        options = RunOptions(model=record.plan["asked"]["model"], seed=record.seed)
        try:
            if record.id not in self._semantics:
                self._semantics[record.id] = _semantic(restore(record.plan["snapshot"]), options)
            return _semantic(self._check(text), options) != self._semantics[record.id]
        except RunFailure:
            return True


def _semantic(workflow: Workflow, options: RunOptions) -> str:
    return semantic_hash(workflow, make_steps(workflow, options))
