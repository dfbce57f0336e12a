"""The environments of a workflow: those that Merrow ships, and those that the front matter declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merrow_analysis.definitions.validation import Path

TEXTCRAFT = "textcraft"
SHIPPED: Mapping[str, str] = {
    TEXTCRAFT: "A crafting game in text. Its task is {seed: 7, depth: 3}; its commands are `get 2 oak log`, `craft 4 oak planks "
    "using 1 oak log` and `inventory`."
}
"""The environments that every workflow may use, each with what it is."""
SERVER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What a server of tools may be called."""


@dataclass(frozen=True, slots=True)
class EnvironmentSettings:
    """An environment as the front matter declares it: of a ``server`` of the user's settings with the tools `reset` and `step`,
    or of the package gymnasium by its id, or TextCraft with the ``recipes`` of a folder.
    """

    name: str
    server: str | None = None
    gymnasium: str | None = None
    recipes: str | None = None


def read_environments(written: Mapping[str, Any], wrong: set[Path]) -> dict[str, EnvironmentSettings]:
    """The environments of a block that fits the schema, without those at ``wrong`` places."""
    environments: dict[str, EnvironmentSettings] = {}
    for name, body in written.items():
        if isinstance(body, dict) and not any(path[:3] == ("workflow", "environments", name) for path in wrong):
            environments[name] = EnvironmentSettings(
                name, body.get("server"), body.get("gymnasium"), body.get("recipes")
            )
    return environments
