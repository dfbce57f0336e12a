"""The endpoints of the runs that go on: chosen for each, shared by those that go to the same one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from merrow_runtime.models.connections import EndpointConnection, concurrency_at
from merrow_runtime.models.dialects import DialectStore
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.models.selection import EndpointChoice, ModelOptions, decide
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.options import RunOptions
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_server.jobs.keys import Keys


@dataclass(frozen=True, slots=True)
class Access:
    """An endpoint that is taken, and what the user's settings say of calls to it. ``notices`` are for the user to read."""

    endpoint: Endpoint
    connection: EndpointConnection | None
    model: str | None
    concurrency: int | None
    notices: tuple[str, ...]


class Endpoints:
    """Opens endpoints and closes them when nobody uses them any more. Runs with the same one share its concurrency."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._open: dict[EndpointConnection | None, tuple[Endpoint, int]] = {}

    def choose(self, base_url: str | None, machine: Sequence[WorkspaceValue]) -> EndpointChoice:
        """The endpoint by the editor's keys, the environment and the user's settings. Raises `UsageFailure`."""
        environment, settings = self._keys.grant(os.environ, read_user_settings())
        return decide(ModelOptions(base_url=base_url), environment, settings, machine)

    def own(
        self,
        options: RunOptions,
        base_url: str | None,
        machine: Sequence[WorkspaceValue],
        dialects: DialectStore | None,
    ) -> ChosenEndpoint:
        """An endpoint for one evaluation alone, which closes it; chosen as for a run. Raises `UsageFailure`."""
        environment, settings = self._keys.grant(os.environ, read_user_settings())
        asked = ModelOptions(base_url=base_url, model=options.model, concurrency=options.concurrency)
        choice = decide(asked, environment, settings, machine)
        endpoint = choice.open(dialects)
        concurrency = options.concurrency or settings.concurrency or concurrency_at(endpoint)
        return ChosenEndpoint(endpoint, settings.model, concurrency, choice.notices, settings.limits, choice.connection)

    def take(self, base_url: str | None, machine: Sequence[WorkspaceValue], dialects: DialectStore) -> Access:
        """Choose an endpoint and open it, unless it is open; to be given back with `release`. Raises `UsageFailure`."""
        choice = self.choose(base_url, machine)
        settings = read_user_settings()
        endpoint, users = self._open.get(choice.connection) or (choice.open(dialects), 0)
        self._open[choice.connection] = endpoint, users + 1
        return Access(endpoint, choice.connection, settings.model, settings.concurrency, choice.notices)

    async def release(self, access: Access) -> None:
        """Give an endpoint back; the last one who does closes it."""
        endpoint, users = self._open[access.connection]
        if users > 1:
            self._open[access.connection] = endpoint, users - 1
        else:
            del self._open[access.connection]
            await endpoint.close()
