"""What a run uses from outside: an endpoint, a store, a recording; and who closes them."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from merrow_runtime.environments.interface import EnvironmentSession
from merrow_runtime.environments.shipped import shipped_session
from merrow_runtime.errors import EndpointFailure, StoreFailure
from merrow_runtime.models.connections import DEFAULT_CONCURRENCY, EndpointConnection, concurrency_at
from merrow_runtime.models.dialects import DialectStore
from merrow_runtime.models.endpoint import Endpoint, OnText
from merrow_runtime.models.selection import ModelOptions, decide
from merrow_runtime.models.spending_limits import SpendingLimits
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.options import RunOptions
from merrow_runtime.outside.served import ServedSession
from merrow_runtime.program.tool_parameters import environment_tool
from merrow_runtime.provenance import REPLAY_ORIGIN
from merrow_runtime.requests import EnvironmentAction, ModelReply, ModelRequest
from merrow_runtime.spending.meter import Meter, meter_of
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.store.recordings.recording import KeepsCalls

if TYPE_CHECKING:
    from merrow_runtime.calls.tool_servers import ToolServers
    from merrow_runtime.documents.run_stores import RunStores


class NoEndpoint:
    """The endpoint of a run that is replayed: a request that the recording doesn't have never gets this far."""

    origin = REPLAY_ORIGIN

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Raise `EndpointFailure`."""
        del request, on_text
        raise EndpointFailure("A run that is replayed calls no endpoint.", fatal=True)

    async def close(self) -> None:
        """Nothing to do."""


def without_user(base_url: str) -> str:
    """An address without the name and password that may be in it, and without its query."""
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@dataclass(frozen=True, slots=True)
class ChosenEndpoint:
    """An endpoint with what the user's settings say about calls to it. ``notices`` are for the user to read; ``connection`` is
    None where no server is known that could be asked for its models.
    """

    endpoint: Endpoint
    model: str | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    notices: tuple[str, ...] = ()
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    connection: EndpointConnection | None = None

    def key(self) -> str | None:
        """The key that it is sent, where there is one."""
        return None if self.connection is None else self.connection.api_key


def choose(
    options: RunOptions,
    base_url: str | None,
    machine: Sequence[WorkspaceValue],
    dialects: DialectStore | None = None,
) -> ChosenEndpoint:
    """The endpoint by options, environment and the user's settings; none for a replay. Raises `UsageFailure`.

    ``machine`` are settings of the machine that are in files of the workspace, where they are mostly ignored.
    """
    settings = read_user_settings()
    if options.replay is not None:
        concurrency = options.concurrency or settings.concurrency or DEFAULT_CONCURRENCY
        return ChosenEndpoint(NoEndpoint(), settings.model, concurrency)
    asked = ModelOptions(base_url=base_url, model=options.model, concurrency=options.concurrency)
    choice = decide(asked, os.environ, settings, machine)
    endpoint = choice.open(dialects)
    concurrency = options.concurrency or settings.concurrency or concurrency_at(endpoint)
    return ChosenEndpoint(endpoint, settings.model, concurrency, choice.notices, settings.limits, choice.connection)


class RunResources:
    """What a run uses and who must close it. As a context: closes what it opened if no run begins."""

    def __init__(
        self,
        options: RunOptions,
        endpoint: Endpoint | None,
        store: Store | None,
        limits: SpendingLimits | None = None,
        tools: ToolServers | None = None,
    ) -> None:
        """``limits`` are the user's for an ``endpoint`` that is given; read from the settings where they are None. ``tools`` are
        others' servers, which stay theirs to close.
        """
        self._options = options
        self._chosen: ChosenEndpoint | None = None
        if endpoint is not None:
            concurrency = options.concurrency or concurrency_at(endpoint)
            limits = read_user_settings().limits if limits is None else limits
            self._chosen = ChosenEndpoint(endpoint, None, concurrency, limits=limits)
        self._own_endpoint = endpoint is None
        self._own_store = store is None
        self._base_url = options.base_url
        self.store = store if store is not None else MemoryStore() if options.no_store else Store.open()
        self.recorder: KeepsCalls | None = None
        self._tools, self._own_tools = tools, tools is None
        self._stores: RunStores | None = None

    def __enter__(self) -> RunResources:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self.close_files()

    @property
    def forgets(self) -> bool:
        """Whether the run is gone with its process, and nobody else can read its journal."""
        return self._own_store and self._options.no_store

    def prefer(self, base_url: str | None) -> None:
        """Use this address unless another is named."""
        self._base_url = self._base_url or base_url

    @property
    def base_url(self) -> str | None:
        """The address that was asked for, without a user's name or password in it."""
        return None if self._base_url is None else without_user(self._base_url)

    def chosen(self, machine: Sequence[WorkspaceValue]) -> ChosenEndpoint:
        """The endpoint, chosen when it is first asked for; see `choose`. Raises `UsageFailure`."""
        if self._chosen is None:
            self._chosen = choose(self._options, self._base_url, machine, self.store.dialects)
        return self._chosen

    def meter(self, workflow: str) -> Meter | None:
        """What counts the calls of a run of ``workflow``, and keeps them within the user's limits; None where nothing is paid.

        `chosen` has been asked before. Raises what `meter_of` does.
        """
        if self._chosen is None:
            return None
        origin, limits = self._chosen.endpoint.origin, self._chosen.limits
        return meter_of(origin, limits, workflow, keeps=not self._options.no_store)

    @property
    def tools(self) -> ToolServers:
        """The servers of tools, none of which is started before it is used."""
        if self._tools is None:
            from merrow_runtime.outside.user_servers import UserServers  # few runs need them

            self._tools = UserServers(self._key)
        return self._tools

    async def open_environment(self, action: EnvironmentAction) -> EnvironmentSession:
        """A session with the environment that an action is for."""
        if environment_tool(action.of, "reset") is None:
            return shipped_session(action.of)
        return ServedSession(self.tools, action)

    def stores(self, root: Path | None) -> RunStores:
        """The stores that nodes search and add to, none of which is opened before it is used; ``root`` is the folder of the
        workflow's file. Where nobody attends the run, and where it leaves nothing, it has copies of its own.
        """
        if self._stores is None:
            from merrow_runtime.documents.run_stores import RunStores  # few runs need them

            options = self._options
            self._stores = RunStores(
                root, copies=options.unattended, leaves_nothing=options.no_store and not options.keeps_stores
            )
        return self._stores

    def _key(self) -> str | None:
        """The key of the endpoint."""
        return None if self._chosen is None else self._chosen.key()

    def tidy(self) -> None:
        """Delete from the user's own journal what it is not to keep any longer. Raises `UsageFailure`."""
        if self._own_store and not self._options.no_store:
            limits = read_user_settings().journal
            with contextlib.suppress(
                StoreFailure
            ):  # What keeps a journal from being written is reported when something must be written.
                self.store.tidy(
                    None if limits.keep_days is None else limits.keep_days * 86_400,
                    None if limits.max_mb is None else int(limits.max_mb * 1_000_000),
                )

    async def close(self, telling: object, *, whole: bool) -> None:
        """Close what this run opened. Where what it told is not kept as a ``whole``, its journal stays open for readers that
        are behind or come late, as long as anybody has the run or reads its events: both hold its ``telling``.
        """
        if self._own_endpoint and self._chosen is not None:
            await self._chosen.endpoint.close()
        if self._tools is not None and self._own_tools:
            await self._tools.close()
        if self._stores is not None:
            self._stores.close()
        if whole or not self._own_store:
            self.close_files()
        else:
            self._close_recorder()
            weakref.finalize(telling, self.store.close)

    def close_files(self) -> None:
        """Close what was opened of the recording, the stores and the journal."""
        if self._stores is not None:
            self._stores.close()
        self._close_recorder()
        if self._own_store:
            self.store.close()

    def _close_recorder(self) -> None:
        if self.recorder is not None:
            self.recorder.close()
