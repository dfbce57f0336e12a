"""Which endpoint answers, and which key goes to it: command line before environment before the user's settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from merrow_runtime.models import azure
from merrow_runtime.models.azure import value_of
from merrow_runtime.models.connections import LOCAL_MAX_TOKENS, EndpointConnection, default_concurrency
from merrow_runtime.models.dialects import DialectStore
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.models.offline import OfflineEndpoint
from merrow_runtime.models.origins import (
    OPENAI_BASE_URL,
    OPENAI_ORIGIN,
    is_local,
    is_loopback,
    origin_of,
    origin_or_none,
)
from merrow_runtime.models.prices import PriceTable
from merrow_runtime.models.trust import WorkspaceValue, trusted_base_url
from merrow_runtime.models.user_settings import UserSettings, read_user_settings, settings_path
from merrow_runtime.provenance import OFFLINE_ORIGIN

KEY_VARIABLE = "OPENAI_API_KEY"
BASE_URL_VARIABLE = "OPENAI_BASE_URL"
CONCURRENCY_VARIABLE = "MERROW_CONCURRENCY"
"""How many calls at the same time, where neither an option nor the user's settings say."""
OFFLINE_NAMES = frozenset({"offline", OFFLINE_ORIGIN})

Source = Literal["command line", "environment", "workspace", "settings", "default", "nothing"]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What the command line, a program's call or a user-level setting of an editor says. ``base_url`` may be ``offline``
    for the embedded model.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class EndpointChoice:
    """Which endpoint it is and why: what ``merrow doctor`` shows. ``connection`` is None for the embedded model; ``source``
    says what named the endpoint, ``key_source`` where its key comes from ("" without one), and ``notices`` what was
    ignored or is remarkable. Nothing shown holds the key.
    """

    origin: str
    source: Source
    connection: EndpointConnection | None = None
    key_source: str = ""
    model: str | None = None
    notices: tuple[str, ...] = ()
    prices: PriceTable = field(default_factory=PriceTable, repr=False)

    def open(self, dialects: DialectStore | None = None) -> Endpoint:
        """The endpoint itself. The client's package is imported by the first call, not here."""
        if self.connection is None:
            return OfflineEndpoint()
        from merrow_runtime.models.openai_endpoint import OpenAIEndpoint

        return OpenAIEndpoint(self.connection, dialects=dialects, prices=self.prices)


def choose_endpoint(
    options: ModelOptions,
    environment: Mapping[str, str],
    user_settings: UserSettings | None = None,
    workspace_values: Iterable[WorkspaceValue] = (),
    *,
    dialects: DialectStore | None = None,
) -> Endpoint:
    """The endpoint that `decide` names, opened. Without ``user_settings`` the user's file is read."""
    settings = user_settings or read_user_settings(settings_path(environment))
    return decide(options, environment, settings, workspace_values).open(dialects)


def decide(
    options: ModelOptions,
    environment: Mapping[str, str],
    user_settings: UserSettings,
    workspace_values: Iterable[WorkspaceValue] = (),
) -> EndpointChoice:
    """Decide the endpoint and its key.

    The base URL is the command line's, else ``OPENAI_BASE_URL``, else one that the workspace names and the user trusts,
    else the user settings', else OpenAI's where there is a key for it, else ``AZURE_OPENAI_ENDPOINT`` where there is one for
    that, else none: the embedded model.

    A key goes only to the origin it was set for. The command line's goes to whatever endpoint the user chose;
    ``[api_key_env]`` of the user's settings names the variable for an origin; ``OPENAI_API_KEY`` goes to the origin of
    ``OPENAI_BASE_URL`` (OpenAI's where that isn't set) and to a base URL typed on the command line, to no other that a
    file names; ``AZURE_OPENAI_AD_TOKEN`` or ``AZURE_OPENAI_API_KEY`` to ``AZURE_OPENAI_ENDPOINT``, and to an address of Azure's
    that was typed. Raises `UsageFailure` for an address that is none, and for one of Azure's without a version.
    """
    trusted, notices = trusted_base_url(workspace_values, user_settings.trusted_origins)
    base_url, source = _base_url(options, environment, user_settings, trusted)
    model = options.model or user_settings.model
    if base_url is None or base_url.strip().casefold() in OFFLINE_NAMES:
        return EndpointChoice(OFFLINE_ORIGIN, source, model=model, notices=tuple(notices))
    origin = origin_of(base_url, BASE_URL_VARIABLE if source == "environment" else "base URL")
    key, key_source = _key(options, environment, user_settings, origin, source)
    variable = user_settings.api_key_env.get(origin)
    if key is None and variable is not None:
        notices.append(f"{variable}, which your settings name for the key of {origin}, is not set.")
    elif key is None and value_of(environment, KEY_VARIABLE) and not is_loopback(origin):
        notices.append(
            f"{KEY_VARIABLE} is not sent to {origin}, which it was not set for; to send it, add"
            f' "{origin}" = "{KEY_VARIABLE}" to `[api_key_env]` in your own settings.'
        )
    if key is not None and origin.startswith("http:") and not is_loopback(origin):
        notices.append(f"The key goes to {origin} unencrypted; use an https address where there is one.")
    of_azure = azure.azure_at(base_url, environment, user_settings.azure, key_source=key_source)
    address, needed = of_azure or (base_url.strip(), None)
    concurrency = options.concurrency or user_settings.concurrency or _whole(environment, CONCURRENCY_VARIABLE)
    connection = EndpointConnection(
        address,
        key,
        concurrency or default_concurrency(origin),
        user_settings.proxy,
        environment_headers=origin == _environment_origin(environment),
        azure=needed,
        max_tokens=(user_settings.models.max_tokens or LOCAL_MAX_TOKENS) if is_local(origin) else None,
        is_guessed=concurrency is None and is_local(origin),
    )
    return EndpointChoice(origin, source, connection, key_source, model, tuple(notices), user_settings.prices)


def _base_url(
    options: ModelOptions, environment: Mapping[str, str], user_settings: UserSettings, trusted: str | None
) -> tuple[str | None, Source]:
    if options.base_url and options.base_url.strip():
        return options.base_url, "command line"
    named = value_of(environment, BASE_URL_VARIABLE)
    if named:
        return named, "environment"
    if trusted:
        return trusted, "workspace"
    if user_settings.base_url:
        return user_settings.base_url, "settings"
    if options.api_key:
        return OPENAI_BASE_URL, "default"
    if value_of(environment, user_settings.api_key_env.get(OPENAI_ORIGIN, KEY_VARIABLE)):
        return OPENAI_BASE_URL, "default"
    named = value_of(environment, azure.ENDPOINT_VARIABLE)
    return (named, "environment") if named and azure.environment_key(environment) else (None, "nothing")


def _key(
    options: ModelOptions, environment: Mapping[str, str], user_settings: UserSettings, origin: str, source: Source
) -> tuple[str | None, str]:
    if options.api_key and source != "workspace":
        return options.api_key, "command line"
    variable = user_settings.api_key_env.get(origin)
    if variable is not None:
        key = value_of(environment, variable)
        return (key, f"{variable} (your settings name it for {origin})") if key else (None, "")
    if azure.is_azure(origin, environment):
        azure_key = azure.environment_key(environment)
        if azure_key and (source == "command line" or origin == azure.environment_origin(environment)):
            return azure_key
    key = value_of(environment, KEY_VARIABLE)
    if key and (source == "command line" or origin == _environment_origin(environment)):
        return key, KEY_VARIABLE
    return None, ""


def _environment_origin(environment: Mapping[str, str]) -> str | None:
    """The origin that the environment's key, organization and headers are meant for."""
    named = value_of(environment, BASE_URL_VARIABLE)
    return OPENAI_ORIGIN if named is None or named.casefold() in OFFLINE_NAMES else origin_or_none(named)


def _whole(environment: Mapping[str, str], name: str) -> int | None:
    """The value of a variable that is a whole number from 1 on; others count as not set."""
    value = value_of(environment, name) or ""
    return int(value) if value.isascii() and value.isdecimal() and int(value[:9]) > 0 and len(value) <= 9 else None
