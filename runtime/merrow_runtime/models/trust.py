"""What files inside a workspace may say about where requests go: nothing, but for origins that the user trusts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from merrow_analysis.definitions.settings import MACHINE_KEYS, machine_setting_message
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.origins import origin_of

BASE_URL_KEYS = frozenset({"base_url", "api_base", "openai_base_url"})
KEY_VARIABLE_KEYS = frozenset({"api_key_env", "key_env", "api_key_name"})


@dataclass(frozen=True, slots=True)
class WorkspaceValue:
    """A setting of the machine that is in a file of the workspace: its key, its value and the file."""

    key: str
    value: object
    place: str


def workspace_values(block: Mapping[str, object], place: str) -> list[WorkspaceValue]:
    """Of a block of settings (a front matter's ``workflow:``, a ``merrow.toml``), those that no shared file may set."""
    names = MACHINE_KEYS | KEY_VARIABLE_KEYS
    return [
        WorkspaceValue(str(key), value, place)
        for key, value in block.items()
        if str(key).casefold().replace("-", "_") in names
    ]


def trusted_base_url(values: Iterable[WorkspaceValue], trusted: frozenset[str]) -> tuple[str | None, list[str]]:
    """The first base URL in the workspace whose origin the user trusts, and a sentence for each value that is ignored.

    The sentences name keys, files and origins, never values that may be secret.
    """
    chosen: str | None = None
    ignored: list[str] = []
    for value in values:
        name = value.key.casefold().replace("-", "_")
        if name not in BASE_URL_KEYS:
            ignored.append(f"{value.place}: {machine_setting_message(value.key)}")
            continue
        try:
            origin = origin_of(str(value.value))
        except UsageFailure:
            ignored.append(f"{value.place}: `{value.key}` is ignored: it is not an address of an endpoint.")
            continue
        if origin in trusted and chosen is None:
            chosen = str(value.value)
        elif origin not in trusted:
            ignored.append(
                f"{value.place}: `{value.key}` ({origin}) is ignored in a file that can be shared; to allow it, add"
                f' "{origin}" to `trusted_origins` in your own settings.'
            )
    return chosen, ignored
