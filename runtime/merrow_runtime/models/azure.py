"""Azure OpenAI: which addresses are its, and what the environment and the user's settings say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.connections import Azure
from merrow_runtime.models.origins import origin_of, origin_or_none

ENDPOINT_VARIABLE = "AZURE_OPENAI_ENDPOINT"
KEY_VARIABLE = "AZURE_OPENAI_API_KEY"
TOKEN_VARIABLE = "AZURE_OPENAI_AD_TOKEN"  # noqa: S105 (a variable's name)
VERSION_VARIABLE = "OPENAI_API_VERSION"
DEPLOYMENT_VARIABLE = "AZURE_OPENAI_DEPLOYMENT"
_HOSTS = tuple(
    f".{service}.azure.{top}"
    for service in ("openai", "cognitiveservices", "services.ai")
    for top in ("com", "us", "cn")
)
_DEPLOYMENTS = "/openai/deployments/"


@dataclass(frozen=True, slots=True)
class AzureSettings:
    """What the user's settings say: the version of the interface, and the deployment; None where they say nothing."""

    api_version: str | None = None
    deployment: str | None = None


def is_azure(origin: str, environment: Mapping[str, str]) -> bool:
    """Whether an origin is Azure's, by its name or since the environment says so: its key is expected under Azure's names."""
    return (urlsplit(origin).hostname or "").endswith(_HOSTS) or origin == environment_origin(environment)


def environment_origin(environment: Mapping[str, str]) -> str | None:
    """The origin of ``AZURE_OPENAI_ENDPOINT``; None where that is no address."""
    return origin_or_none(value_of(environment, ENDPOINT_VARIABLE))


def environment_key(environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Azure's key or, before it, its token, with the variable that has it."""
    for variable in (TOKEN_VARIABLE, KEY_VARIABLE):
        value = value_of(environment, variable)
        if value is not None:
            return value, variable
    return None


def azure_at(
    base_url: str,
    environment: Mapping[str, str],
    settings: AzureSettings | None = None,
    *,
    key_source: str = "",
) -> tuple[str, Azure] | None:
    """The address and what else Azure's client needs; None for all other addresses, also Azure's own ``.../openai/v1``, which any
    client of OpenAI's can use. An address as Azure's pages show it may name the deployment and the version. ``key_source`` is the
    variable that has the key.

    Raises `UsageFailure` where no version is set.
    """
    address = urlsplit(base_url.strip())
    path = address.path.rstrip("/")
    if path.endswith("/v1") or not is_azure(origin_of(base_url), environment):
        return None
    settings = settings or AzureSettings()
    before, _, deployed = path.partition(_DEPLOYMENTS)
    root = address._replace(path=before.removesuffix("/openai"), query="", fragment="").geturl()
    deployment = (
        unquote(deployed.partition("/")[0]) or value_of(environment, DEPLOYMENT_VARIABLE) or settings.deployment
    )
    version = (
        next(iter(parse_qs(address.query).get("api-version", ())), None)
        or value_of(environment, VERSION_VARIABLE)
        or settings.api_version
    )
    if version is None:
        raise UsageFailure(
            f"Azure OpenAI at {origin_of(base_url)} needs the version of its interface: set {VERSION_VARIABLE}, such as"
            " 2024-10-21, or give the address that ends in /openai/v1, which needs none."
        )
    return root, Azure(version, deployment, has_token=key_source == TOKEN_VARIABLE)


def value_of(environment: Mapping[str, str], name: str) -> str | None:
    """The value of a variable that is set to more than blanks."""
    return environment.get(name, "").strip() or None
