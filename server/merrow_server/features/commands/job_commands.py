"""The commands that all kinds of job have, made of what a kind declares: what it may be told, how it is asked about, what it is
called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from lsprotocol import types

from merrow_server.features.commands.run_commands import asked_of, tell
from merrow_server.features.commands.run_journal import text_in, what_to_list
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import Consent, Followed, JobLocation, refused

if TYPE_CHECKING:
    from merrow_server.jobs.desk import JobOrder
    from merrow_server.lsp.work.last_found import LastFound

Json = dict[str, Any]


class JobArgument(NamedTuple):
    """What may be told: of which type, that ``words`` say; ``name`` is what it is called inside, where that is another name than
    the editor's. It is one of ``known`` where there are any, and a number from ``least`` to ``most``.
    """

    type: type[Any] | tuple[type[Any], ...]
    words: str
    name: str | None = None
    known: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    def takes(self, value: Any) -> bool:
        """Whether a value is of the type and in the bounds."""
        if not isinstance(value, self.type) or (isinstance(value, bool) and self.type is not bool):
            return False
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


def text(name: str | None = None, *known: str) -> JobArgument:
    """A text, of those that are ``known``."""
    return JobArgument(str, "a text", name, known)


def flag(name: str | None = None) -> JobArgument:
    """True or false."""
    return JobArgument(bool, "true or false", name)


def whole(name: str | None = None, least: int | None = 1, most: int | None = None) -> JobArgument:
    """A whole number, from 1 where nothing else is said."""
    words = "a whole number" if least is None else f"a whole number from {least}"
    return JobArgument(int, words if most is None else f"{words} to {most}", name, (), least, most)


def fields_of(asked: Json, fields: Mapping[str, JobArgument]) -> Json:
    """Those that are given, by their names inside. Raises `InvalidParameters`."""
    values: Json = {}
    for key, field in fields.items():
        value = asked.get(key)
        if value is None:
            continue
        if not field.takes(value):
            raise InvalidParameters(f"`{key}` must be {field.words}.")
        if field.known and value not in field.known:
            raise InvalidParameters(f"`{key}` must be one of {', '.join(field.known)}.")
        values[field.name or key] = value
    return values


@dataclass(frozen=True, slots=True)
class JobCommands:
    """The commands about a kind. Where its cost is agreed to, that is by ``button``; ``wanted`` says for what else a client
    agrees that can't ask, ``left`` what was not done. ``busy`` is said where one of the workflow goes on; None: several may.
    ``last`` is what knows the newest ones, which is out of date once there are others; ``tells_cost``: a client that shows no
    runs is told what one may cost.
    """

    kind: Followed
    button: str
    wanted: str
    left: str
    busy: str | None = None
    last: Callable[[MerrowServer], LastFound] | None = None
    listed_by: str | None = None
    deleted_by: str | None = None
    reported_by: str | None = None
    tells_cost: bool = True

    def register(self, server: MerrowServer) -> None:
        """Those that list, delete and report, where the kind has them."""
        commands = {self.listed_by: self._list, self.deleted_by: self._delete, self.reported_by: self._report}
        for name, command in commands.items():
            if name is not None:
                server.command(name)(command)

    async def carry_out(
        self, server: MerrowServer, asked: Json, order: JobOrder, place: JobLocation, title: str, name: str = ""
    ) -> Any:
        """What came of what is ordered, for the workflow ``name``; or with ``dryRun`` what it may cost. Raises `FeatureError`."""
        if asked.get("dryRun", False):
            forecast = await server.jobs.forecast(self.kind, order)
            if self.tells_cost and not server.supports.shows_runs:
                between = "\n" if "\n" in forecast["text"] else " "
                tell(server, f"{forecast['text']}{between}No call was made.", types.MessageType.Info)
            return forecast
        if self.busy is not None and server.jobs.works_on(place, self.kind):
            raise refused(self.busy.replace("{name}", name))
        consent = None if asked.get("agreed") else Consent(title, self.button, self.wanted, self.left)
        try:
            return await server.jobs.follow(self.kind, order, place, title, consent)
        finally:
            self._forget(server)

    async def _list(self, server: MerrowServer, arguments: list[Any]) -> list[Json]:
        """The newest, of one document or of all."""
        name, limit = what_to_list(server, asked_of(arguments), self.listed_by or "")
        listed: list[Json] = await server.jobs.ask(
            lambda session: session.look_at(self.kind, lambda jobs: jobs.list(name, limit))
        )
        return listed

    async def _delete(self, server: MerrowServer, arguments: list[Any]) -> Json:
        """Take one with all that it came by out of the journal."""
        identity = text_in(asked_of(arguments), "id", self.deleted_by or "")
        deleted = await server.jobs.ask(lambda session: session.kind(self.kind).delete(identity))
        self._forget(server)
        return {self.kind: deleted}

    async def _report(self, server: MerrowServer, arguments: list[Any]) -> Json:
        """One with its report; a client that shows no runs is told it in words."""
        identity = text_in(asked_of(arguments), "id", self.reported_by or "")
        answer: Json = await server.jobs.ask(
            lambda session: session.look_at(self.kind, lambda jobs: jobs.report(identity))
        )
        if not server.supports.shows_runs:
            tell(server, answer["text"], types.MessageType.Info)
        return answer

    def _forget(self, server: MerrowServer) -> None:
        if self.last is not None:
            self.last(server).forget()


EVALUATION = JobCommands(
    "evaluation",
    "Evaluate",
    "to evaluate",
    "Nothing was evaluated.",
    "{name} is being evaluated already; stop that first.",
    lambda server: server.last_evaluations,
    "merrow.evaluations",
    "merrow.deleteEvaluation",
)
BATCH = JobCommands(
    "batch",
    "Run",
    "to run it on every row",
    "Nothing was run.",
    "{name} is being run on every row already; stop that first.",
    listed_by="merrow.batches",
    deleted_by="merrow.deleteBatch",
)
SEARCH = JobCommands(
    "search",
    "Search",
    "to search",
    "Nothing was searched for.",
    "A better version of this workflow is being searched for already; stop that first.",
    lambda server: server.last_searches,
    "merrow.optimizations",
    "merrow.deleteOptimization",
    "merrow.optimizationReport",
)
EXTRACTION = JobCommands(
    "extraction",
    "Extract",
    "to extract operators",
    "Nothing was extracted.",
    listed_by="merrow.extractions",
    deleted_by="merrow.deleteExtraction",
    reported_by="merrow.extractionReport",
)
PLAN = JobCommands(
    "plan",
    "Ask the Model",
    "to plan",
    "No model was asked.",
    listed_by="merrow.plans",
    deleted_by="merrow.deletePlan",
    reported_by="merrow.planReport",
)
SUGGESTION = JobCommands("suggestion", "Ask the Model", "to ask", "No model was asked.", tells_cost=False)
REPRODUCTION = JobCommands(
    "reproduction",
    "Reproduce",
    "to reproduce it",
    "Nothing was reproduced.",
    listed_by="merrow.reproductions",
    deleted_by="merrow.deleteReproduction",
    reported_by="merrow.reproductionReport",
)


def register(server: MerrowServer) -> None:
    for kind in (EVALUATION, BATCH, SEARCH, EXTRACTION, PLAN, SUGGESTION, REPRODUCTION):
        kind.register(server)
