"""Suggestions in the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from merrow_server.cli.kinds import Door, Json
from merrow_server.cli.kinds.asking_kinds import AskingDoor, title_of
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.reports.run_report import workflow_text

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.jobs import JobRecord
    from merrow_server.asking_jobs import Asking
    from merrow_server.cli.sessions.asking_session import Finish
    from merrow_server.continuing import ResumeChanges


class _Suggestions(AskingDoor):
    kind, none_yet = "suggestion", "No suggestions yet; ask for some with: merrow suggest FILE"

    def title(self, entry: Json) -> str:
        return visible(workflow_text(entry["file"])) + (f": {title_of(entry['goal'])}" if entry["goal"] else "")

    def counted(self, report: Json) -> str:
        return counted(len(report["suggestions"]), "suggestion")

    def print_report(self, record: JobRecord, report: Json) -> None:
        from merrow_server.cli.sessions.suggesting import print_suggestions

        print_suggestions(workflow_text(record.file), record.plan["snapshot"]["text"], report)

    async def again(
        self, record: JobRecord, user: Store, changed: ResumeChanges, *, as_json: bool
    ) -> tuple[Asking[Any], Finish[Any]]:
        from merrow_server.cli.sessions.suggesting import finishing, operators_beside
        from merrow_server.suggestions.prepared_suggestions import prepare_suggestions_again

        operators = operators_beside(record.file)
        prepared = await prepare_suggestions_again(record, user, changed, operators=operators)
        name, text = workflow_text(record.file), record.plan["snapshot"]["text"]
        return prepared, finishing(name, text, as_json=as_json)


DOOR: Door = _Suggestions()
