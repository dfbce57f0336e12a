"""Cases carried out in the thread of the runs, for an editor."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from merrow_analysis.cases.reading import Case, read_cases
from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.cases.results import CaseResult
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.connections import concurrency_at
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.running.resources import Chosen
from merrow_runtime.store.database import Store
from merrow_runtime.workflow import Workflow
from merrow_server.cases.collecting import remember
from merrow_server.cases.suites import Asked, Suite, recorded
from merrow_server.cases.suites import carry_out as carry_out_cases
from merrow_server.runs.endpoints import Endpoints
from merrow_server.runs.orders import CasesOrder

Json = dict[str, Any]


async def carry_out(
    order: CasesOrder, workflow: Workflow, user: Store, endpoints: Endpoints, told: Callable[[Json], None]
) -> Json:
    """Carry out the cases of an order; ``{"whole": True}`` at their end. ``told`` gets ``{id, result, spans}`` of each: its
    result is None when it begins; ``spans`` are the places of id and message in the cases file, as offsets.

    Raises `RunFailure`.
    """
    file = read_cases(order.text)
    suite = Suite(order.path, file, workflow, order.files, recorded(order.path))
    results: list[tuple[Suite, CaseResult]] = []

    def tell(case: Case, result: CaseResult | None) -> None:
        if result is None:
            told({"id": case.id, "result": None})
            return
        results.append((suite, result))
        told({"id": case.id, "result": result.to_json(), "spans": [case.span, result.place or case.span]})

    def opens(base_url: str | None, machine: Sequence[WorkspaceValue]) -> Chosen:
        choice, settings = endpoints.choose(base_url, machine), read_user_settings()
        endpoint = choice.open(user.dialects)
        concurrency = settings.concurrency or concurrency_at(endpoint)
        return Chosen(endpoint, settings.model, concurrency, choice.notices, settings.limits, choice.connection)

    try:
        asked = Asked(order.record, order.model, order.base_url)
        await carry_out_cases(suite, _meant(file.cases, order.ids, os.fspath(order.path)), asked, opens, user, tell)
    finally:
        remember(results)
    return {"whole": True}


def _meant(cases: Sequence[Case], ids: Sequence[str] | None, name: str) -> list[Case]:
    """The cases with these ids, in the order of the file. Raises `UsageFailure` for an id that none has."""
    known = [case.id for case in cases]
    for one in ids or ():
        if one not in known:
            near = closest(one, known)
            raise UsageFailure(f"{name} has no case {one}.{f' Did you mean {near}?' if near else ''}")
    return [case for case in cases if ids is None or case.id in ids]
