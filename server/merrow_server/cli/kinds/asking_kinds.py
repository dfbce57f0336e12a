"""The kinds that ask models and do nothing else, such as plans and suggestions, in the journal."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from merrow_server.cli import OK
from merrow_server.cli.kinds import Json, View
from merrow_server.errors import InputError
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import plain, visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.reports.run_report import cost_text
from merrow_server.times import ago

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.jobs import JobRecord
    from merrow_server.asking_jobs import Asking, AskingKind
    from merrow_server.cli.sessions.asking_session import Finish
    from merrow_server.continuing import ResumeChanges


class AskingDoor:
    """See `Door`."""

    kind: ClassVar[AskingKind]
    none_yet: ClassVar[str]

    @abstractmethod
    def title(self, entry: Json) -> str:
        """What one is of, to be shown."""

    @abstractmethod
    def counted(self, report: Json) -> str:
        """How much came of one."""

    @abstractmethod
    def print_report(self, record: JobRecord, report: Json) -> None:
        """Print what came of one."""

    @abstractmethod
    async def again(
        self, record: JobRecord, user: Store, changed: ResumeChanges, *, as_json: bool
    ) -> tuple[Asking[Any], Finish[Any]]:
        """One made ready to continue, and what is done at its end. Raises `RunFailure`."""

    def none(self, workflow: str | None) -> str:  # noqa: ARG002 (all kinds have it)
        return self.none_yet

    def listed(self, user: Store, limit: int, file: str | None) -> list[Json]:
        from merrow_runtime.store.listed import readable
        from merrow_server.asking_jobs import job_object

        return readable(
            user.jobs[self.kind].newest(limit, file, complain), lambda record: job_object(user, record), complain
        )

    def row(self, entry: Json) -> tuple[str, ...]:
        came = "nothing yet" if entry["report"] is None else self.counted(entry["report"])
        return (
            entry[self.kind],
            entry["status"],
            ago(entry["started"]),
            came,
            cost_text(entry["usage"]),
            self.title(entry),
        )

    def show(self, user: Store, identity: str | None, view: View) -> None:
        from merrow_server.asking_jobs import job_object

        assert identity is not None  # noqa: S101 (only a run may be named otherwise)

        if view.item is not None or view.form not in ("text", "json"):
            raise InputError(f"A {self.kind} is shown as a whole, as text or json.")
        record = user.jobs[self.kind].get(identity)
        shown = job_object(user, record)
        if view.form == "json":
            emit(json.dumps(shown, indent=2, ensure_ascii=False))
            return
        echo(f"{identity}  {shown['status']}  {ago(shown['started'])}  {self.title(shown)}", err=True)
        if shown["error"]:
            echo(style(plain(shown["error"]), fg="red"), err=True)
        if shown["report"] is not None:
            self.print_report(record, shown["report"])
        elif shown["status"] != "finished":
            echo(
                f"It has not ended; {cost_text(shown['usage'])} so far. Continue it with: merrow resume {identity}",
                err=True,
            )

    def resume(self, user: Store, identity: str, given: Json) -> int:
        """One that has ended is only shown again."""
        from merrow_server.cli.sessions.asking_session import run, watch
        from merrow_server.continuing import changed_by

        record = user.jobs[self.kind].get(identity)
        if record.status == "finished":
            self.show(user, identity, View("json" if given["as_json"] else "text"))
            return OK

        async def work() -> int:
            asking, finish = await self.again(record, user, changed_by(given), as_json=given["as_json"])
            try:
                return await watch(asking, record, finish, as_json=given["as_json"])
            finally:
                await asking.close()

        return run(work())


def title_of(text: str) -> str:
    """A text of a person in one short line."""
    line = " ".join(text.split())
    return visible(line if len(line) <= 60 else f"{line[:59]}…")
