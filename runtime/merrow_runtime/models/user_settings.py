"""The user's own settings about models: one TOML file in the user's configuration folder, in no workspace."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merrow_analysis.bounded.toml import read_toml
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.azure import AzureSettings
from merrow_runtime.models.origins import origin_of
from merrow_runtime.models.prices import PriceTable, dollars, read_price
from merrow_runtime.models.spending_limits import SpendingLimits, read_limits, whole
from merrow_runtime.models.tool_servers import ToolServer, read_servers
from merrow_runtime.settings_place import settings_path as settings_path

ASK_ABOVE_USD = 0.05
_KEY_NAMES = frozenset({"api_key", "key", "openai_api_key", "token"})


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """How long runs and cached answers are kept, in days, and how many megabytes (10^6 bytes) all of them may have; None is
    without end. The oldest go first, when a run begins.
    """

    keep_days: float | None = 90.0
    max_mb: float | None = 1000.0
    url: str | None = None
    """The database that has the journal, where it is not a file of this machine: see `merrow_runtime.store.address`."""


@dataclass(frozen=True, slots=True)
class ModelNames:
    """The models that improve workflows, judge, and embed texts, by name, and how many tokens an answer of a model at a local
    address may have; None where the user says none.
    """

    optimizer: str | None = None
    judge: str | None = None
    embedding: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class UserSettings:
    """What the user's file says. ``api_key_env`` has by origin the name of the environment variable that holds the key for
    it; ``proxy`` is an address, False for none, None for what the environment says. ``suggest_ask_above_usd`` is what suggestions
    may cost, in US dollars, before the user is asked; None where the file doesn't say it (then `ASK_ABOVE_USD`).
    """

    base_url: str | None = None
    model: str | None = None
    models: ModelNames = field(default_factory=ModelNames)
    suggest_ask_above_usd: float | None = None
    concurrency: int | None = None
    proxy: str | bool | None = None
    api_key_env: Mapping[str, str] = field(default_factory=dict)
    trusted_origins: frozenset[str] = frozenset()
    journal: JournalLimits = field(default_factory=JournalLimits)
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    prices: PriceTable = field(default_factory=PriceTable)
    azure: AzureSettings = field(default_factory=AzureSettings)
    notify: tuple[str, ...] = ()
    """A program with its arguments, which is started for each question that a run asks people."""
    servers: Mapping[str, ToolServer] = field(default_factory=dict)
    """Servers of tools by their names in workflows."""
    path: Path | None = None


def read_user_settings(path: Path | None = None) -> UserSettings:
    """Read the file; without one, nothing is set. Raises `UsageFailure` that names the file and what is wrong in it."""
    path = settings_path() if path is None else path
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return UserSettings()
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise UsageFailure(f"Your settings {path} can't be read: {reason}.") from None
    try:
        return _settings(read_toml(text), path)
    except tomllib.TOMLDecodeError as problem:
        raise UsageFailure(f"Your settings {path} are not valid TOML: {problem}.") from None
    except (ValueError, UsageFailure) as problem:
        raise UsageFailure(f"Your settings {path}: {str(problem).rstrip('.')}.") from None


def _settings(read: Mapping[str, Any], path: Path) -> UserSettings:
    for name in read:
        if name.casefold() in _KEY_NAMES:
            raise ValueError(
                f"`{name}` does not belong in a file: put the key into an environment variable and name it under"
                " `[api_key_env]`"
            )
        if name not in _READERS:
            raise ValueError(
                f"there is no setting `{name}`; the settings are {', '.join(f'`{name}`' for name in _READERS)}"
            )
    values = {name: _READERS[name](value, name) for name, value in read.items()}
    named = read.get("api_key_env")
    if isinstance(named, str):
        if values.get("base_url") is None:
            raise ValueError("`api_key_env` names a variable for no origin: say `base_url` too, or a table by origin")
        values["api_key_env"] = {origin_of(values["base_url"]): values["api_key_env"]}
    return UserSettings(**values, path=path)


def _url(value: object, name: str) -> str:
    url = _text(value, name)
    origin_of(url, f"`{name}`")
    return url


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"`{name}` is not a text")
    return value.strip()


def _program(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(part, str) and part for part in value):
        raise ValueError(f'`{name}` must be a program with its arguments, such as ["notify-send", "A run asks"]')
    return tuple(value)


def _proxy(value: object, name: str) -> str | bool:
    if value is False:
        return False
    if not isinstance(value, str) or "://" not in value:
        raise ValueError(f"`{name}` is neither an address such as `http://proxy:3128` nor false")
    return value


def _origins(value: object, name: str) -> frozenset[str]:
    if not isinstance(value, list):
        raise ValueError(f"`{name}` is not a list of addresses")
    return frozenset(origin_of(_text(entry, name), f"entry of `{name}`") for entry in value)


def _key_variables(value: object, name: str) -> object:
    """A table of variables by origin, or one name; a key in the place of a name is refused without repeating it."""
    table = value if isinstance(value, dict) else {"": value}
    for variable in table.values():
        if not isinstance(variable, str) or not variable.isidentifier():
            raise ValueError(
                f"`{name}` is not the name of an environment variable (a key itself doesn't belong in a file)"
            )
    if not isinstance(value, dict):
        return value
    return {origin_of(origin, f"origin in `{name}`"): variable for origin, variable in table.items()}


def _limit(value: object, name: str) -> float | None:
    if value is False:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise ValueError(f"`{name}` is neither a number above 0 nor false")
    return float(value)


def _prices(value: object, name: str) -> PriceTable:
    if not isinstance(value, dict) or not all(isinstance(models, dict) for models in value.values()):
        raise ValueError(f'`{name}` is not a table by origin and model: [{name}."https://host"."model"]')
    return PriceTable(
        {
            origin_of(origin, f"origin in `{name}`"): {
                model: _price(figures, model) for model, figures in models.items()
            }
            for origin, models in value.items()
        }
    )


def _price(figures: object, model: str) -> Any:
    try:
        return read_price(figures)
    except ValueError as problem:
        raise ValueError(f"the price of `{model}`: {problem}") from None


def _table(make: Callable[..., Any], **readers: Callable[[object, str], Any]) -> Callable[[object, str], Any]:
    """What reads a table with these keys and no others."""
    *most, last = (f"`{key}`" for key in readers)

    def read(value: object, name: str) -> Any:
        if not isinstance(value, dict) or value.keys() - readers.keys():
            raise ValueError(f"`[{name}]` is a table with {', '.join(most)} and {last}")
        return make(**{key: readers[key](setting, f"{name}.{key}") for key, setting in value.items()})

    return read


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    "base_url": _url,
    "model": _text,
    "models": _table(ModelNames, optimizer=_text, judge=_text, embedding=_text, max_tokens=whole),
    "suggest_ask_above_usd": dollars,
    "concurrency": whole,
    "proxy": _proxy,
    "api_key_env": _key_variables,
    "trusted_origins": _origins,
    "journal": _table(JournalLimits, keep_days=_limit, max_mb=_limit, url=_text),
    "limits": read_limits,
    "prices": _prices,
    "notify": _program,
    "servers": read_servers,
    "azure": _table(AzureSettings, api_version=_text, deployment=_text),
}
