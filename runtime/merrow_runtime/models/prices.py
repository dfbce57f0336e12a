"""What a call costs: prices by origin and model, as data with its date. An unknown price is None, never nothing."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Protocol, runtime_checkable

from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.usage import Usage

_MILLION = 1_000_000
_VERSION = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$")
"""What may follow a model's name without changing its price: a release date, or ``-latest``."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars a million tokens. ``cached_input`` is for prompt tokens that the endpoint had cached; None: as ``input``."""

    input: float
    output: float
    cached_input: float | None = None

    def cost(self, usage: Usage, cached_tokens: int = 0) -> float:
        """US dollars for the tokens of ``usage``, ``cached_tokens`` of its prompt tokens at the price of cached ones."""
        cached = min(max(cached_tokens, 0), usage.prompt_tokens)
        rate = self.input if self.cached_input is None else self.cached_input
        fresh = (usage.prompt_tokens - cached) * self.input
        return (fresh + cached * rate + usage.completion_tokens * self.output) / _MILLION


FREE = Price(0.0, 0.0, 0.0)
"""The price of what costs nothing, said explicitly."""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by origin and model name. A name may end in ``*`` and then stands for all that begin so; the longest counts."""

    prices: Mapping[str, Mapping[str, Price]] = field(default_factory=dict)

    def price_of(self, origin: str, model: str) -> Price | None:
        """The price of a model at an origin; None where it isn't known."""
        models = self.prices.get(origin)
        if not models:
            return None
        for name in (model, _VERSION.sub("", model)):
            if name in models:
                return models[name]
        patterns = [name for name in models if name.endswith("*") and model.startswith(name[:-1])]
        return models[max(patterns, key=len)] if patterns else None

    def over(self, other: PriceTable) -> PriceTable:
        """Both tables in one; this one's prices go before the other's."""
        merged = {origin: dict(models) for origin, models in other.prices.items()}
        for origin, models in self.prices.items():
            merged.setdefault(origin, {}).update(models)
        return PriceTable(merged)


@runtime_checkable
class PricedEndpoint(Protocol):
    """An endpoint that knows its prices itself: the user's table before the packaged one."""

    def price(self, model: str) -> Price | None:
        """The price of a model here; None where it isn't known."""
        ...


def price_of(origin: str, model: str) -> Price | None:
    """The price of a model at an origin by the packaged table; None where it isn't known."""
    return packaged_prices().price_of(origin, model)


def price_at(endpoint: Endpoint, model: str) -> Price | None:
    """The price of a model at an endpoint: its own answer where it has one, else the packaged table's."""
    if isinstance(endpoint, PricedEndpoint):
        return endpoint.price(model)
    return price_of(endpoint.origin, model)


@lru_cache(maxsize=1)
def packaged_prices() -> PriceTable:
    """The table that Merrow comes with (``prices.toml``: figures, source and date)."""
    read = tomllib.loads(files(__package__).joinpath("prices.toml").read_text(encoding="utf-8"))
    return PriceTable(
        {
            origin["name"]: {model: read_price(figures) for model, figures in origin["models"].items()}
            for origin in read["origin"]
        }
    )


def read_price(figures: object) -> Price:
    """A price as a table in TOML says it: ``{input, output, cached_input?}`` in US dollars a million tokens.

    Raises ``ValueError`` with what is wrong.
    """
    if not isinstance(figures, dict) or not {"input", "output"} <= figures.keys():
        raise ValueError("a price is `{input = ..., output = ...}` in US dollars a million tokens")
    unknown = sorted(figures.keys() - {"input", "output", "cached_input"})
    if unknown:
        raise ValueError(f"a price has no `{unknown[0]}`; it has `input`, `output` and `cached_input`")
    return Price(**{key: dollars(value, key) for key, value in figures.items()})


def dollars(value: object, name: str) -> float:
    """What a setting says in US dollars. Raises `ValueError` where it is no amount."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise ValueError(f"`{name}` is not a number of US dollars, 0 or more")
    return float(value)
