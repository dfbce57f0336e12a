"""Plans in the journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_server.cli.kinds import Door, Json
from merrow_server.cli.kinds.asking_kinds import AskingDoor, title_of
from merrow_server.rendering.counts import counted

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.jobs import JobRecord
    from merrow_server.asking_jobs import Asking
    from merrow_server.cli.sessions.asking_session import Finish
    from merrow_server.continuing import ResumeChanges


class _Plans(AskingDoor):
    kind, none_yet = "plan", 'No plans yet; make some with: merrow plan "TASK"'

    def title(self, entry: Json) -> str:
        return title_of(entry["task"])

    def counted(self, report: Json) -> str:
        return counted(len(report["plans"]), "plan")

    def print_report(self, record: JobRecord, report: Json) -> None:  # noqa: ARG002
        from merrow_server.cli.sessions.plan_session import print_plans

        print_plans(report, [])

    async def again(
        self, record: JobRecord, user: Store, changed: ResumeChanges, *, as_json: bool
    ) -> tuple[Asking[Any], Finish[Any]]:
        from merrow_server.cli.sessions.plan_session import finishing
        from merrow_server.plans.prepared_plan import prepare_plans_again

        output, folder = (
            None if record.plan[name] is None else Path(record.plan[name]) for name in ("output", "folder")
        )
        return prepare_plans_again(record, user, changed), finishing(output, folder, as_json=as_json)


DOOR: Door = _Plans()
