"""Cases of workflows, for an editor: carried out, one after the other."""

from __future__ import annotations

import os
from collections.abc import Sequence

from merrow_analysis.cases.cases_reader import Case, read_cases
from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.cases.results import CaseResult
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.connections import concurrency_at
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.store.database import Store
from merrow_server.cases.collecting import remember
from merrow_server.cases.suites import Suite, SuiteRequest, carry_out, recorded
from merrow_server.jobs.desk import Json, Kind, ReadyJob
from merrow_server.jobs.endpoints import Endpoints
from merrow_server.jobs.orders import CasesOrder
from merrow_server.jobs.recorded import Check, Told


class CaseJobs(Kind[CasesOrder, Told, Json]):
    """The cases that a server carries out."""

    cancelled = "The cases were cancelled before they began."

    def __init__(self, user: Store, endpoints: Endpoints, check: Check) -> None:
        self._user, self._endpoints, self._check = user, endpoints, check

    async def prepare(self, order: CasesOrder, told: Told) -> ReadyJob[Json]:
        """``told`` gets ``{id, result, spans}`` of each case: its result is None when it begins; ``spans`` are the places of id
        and message in the cases file, as offsets. Raises `RunFailure`.
        """
        file = read_cases(order.text)
        suite = Suite(order.path, file, self._check(order.workflow), order.files, recorded(order.path))
        cases = _meant(file.cases, order.ids, os.fspath(order.path))
        return _ReadyCases(
            suite, cases, SuiteRequest(order.record, order.model, order.base_url), self._user, self._endpoints, told
        )

    def never_begun(self) -> Json:
        return {"whole": False}


class _ReadyCases(ReadyJob[Json]):
    """Cases that can be carried out."""

    def __init__(
        self, suite: Suite, cases: Sequence[Case], asked: SuiteRequest, user: Store, endpoints: Endpoints, told: Told
    ) -> None:
        self._suite, self._cases, self._asked = suite, cases, asked
        self._user, self._endpoints, self._told = user, endpoints, told
        self._results: list[tuple[Suite, CaseResult]] = []
        self._whole = False
        self.forecast = {}

    async def run(self) -> None:
        try:
            await carry_out(self._suite, self._cases, self._asked, self._opens, self._user, self._tell)
            self._whole = True
        finally:
            remember(self._results)

    def ended(self) -> Json:
        """``{whole}``: whether they came to their end."""
        return {"whole": self._whole}

    def _tell(self, case: Case, result: CaseResult | None) -> None:
        if result is None:
            self._told({"id": case.id, "result": None})
            return
        self._results.append((self._suite, result))
        self._told({"id": case.id, "result": result.to_json(), "spans": [case.span, result.place or case.span]})

    def _opens(self, base_url: str | None, machine: Sequence[WorkspaceValue]) -> ChosenEndpoint:
        choice, settings = self._endpoints.choose(base_url, machine), read_user_settings()
        endpoint = choice.open(self._user.dialects)
        concurrency = settings.concurrency or concurrency_at(endpoint)
        return ChosenEndpoint(endpoint, settings.model, concurrency, choice.notices, settings.limits, choice.connection)


def _meant(cases: Sequence[Case], ids: Sequence[str] | None, name: str) -> list[Case]:
    """The cases with these ids, in the order of the file. Raises `UsageFailure` for an id that none has."""
    known = [case.id for case in cases]
    for identifier in ids or ():
        if identifier not in known:
            near = closest(identifier, known)
            raise UsageFailure(f"{name} has no case {identifier}.{f' Did you mean {near}?' if near else ''}")
    return [case for case in cases if ids is None or case.id in ids]
