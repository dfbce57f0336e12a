"""The editor's settings (section ``merrow``): one table, made of that of ``merrow.toml`` and of what only a server needs.

Imported when settings are first read, not to start the server: it brings all rules with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from merrow_analysis.definitions.validation import named, sentence_start, shown, violations
from merrow_analysis.rules.configuration import ALL, DEFAULT, SETTINGS, Config, Setting, selected_rules
from merrow_analysis.suggest import closest

SECTION = "merrow"

SERVER_SETTINGS: tuple[Setting, ...] = (
    Setting("enable", {"type": "boolean"}, True, "Whether to check files."),
    Setting(
        "configuration",
        {"type": "string"},
        "",
        "A settings file to use instead of the nearest `merrow.toml`; a relative path starts at the workspace folder.",
    ),
    Setting(
        "maximum-problems",
        {"type": "integer", "minimum": 1},
        1000,
        "The most problems to show for one file; a final one says how many more there are.",
    ),
    Setting(
        "rule-pages",
        {"type": "string"},
        "",
        "The page that a problem's code links to: an address that contains `{code}`; by default the page installed with Merrow.",
    ),
    Setting(
        "inlay-hint-ports",
        {"type": "boolean"},
        True,
        "Whether edges show the port and the type that Merrow inferred for them.",
    ),
    Setting(
        "inlay-hint-operators",
        {"type": "boolean"},
        True,
        "Whether nodes show their operator if only a class elsewhere in the file says it.",
    ),
    Setting(
        "inlay-hint-results",
        {"type": "boolean"},
        True,
        "Whether nodes show the start of their last result, with its tokens, cost and time.",
    ),
    Setting(
        "suggest-ask-above-usd",
        {"type": "number", "minimum": 0},
        0.05,
        "What suggestions or plans from a model may cost, in US dollars, without asking you. You are always asked if a price"
        " is not known.",
        personal=True,
    ),
    Setting(
        "log-level",
        {"enum": ["error", "warning", "info", "debug"]},
        "info",
        "How much the server writes to its log.",
    ),
)
"""The settings that only the server has."""

ALL_SETTINGS: tuple[Setting, ...] = (*SERVER_SETTINGS, *SETTINGS)
"""Every setting of the editor's section. Those of ``merrow.toml`` go before the file's, as the command line's do."""

_BY_NAME = {setting.name: setting for setting in ALL_SETTINGS}
_DEFAULTS = {setting.name: setting.default for setting in ALL_SETTINGS}
_SELECTORS = ("select", "ignore")
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


@dataclass(frozen=True, slots=True)
class EditorSettings:
    """The settings as read. ``folder`` is the workspace folder that they are for."""

    values: Mapping[str, Any] = field(default_factory=lambda: dict(_DEFAULTS))
    folder: Path | None = None

    @property
    def enabled(self) -> bool:
        return bool(self.values["enable"])

    @property
    def maximum_problems(self) -> int:
        return int(self.values["maximum-problems"])

    @property
    def rule_pages(self) -> str:
        return str(self.values["rule-pages"])

    @property
    def log_level(self) -> str:
        return str(self.values["log-level"])

    def configuration_file(self, base: Path) -> Path | None:
        """The settings file that takes precedence over the nearest one."""
        name = self.values["configuration"]
        return (self.folder or base) / name if name else None

    def apply(self, config: Config | None) -> Config:
        """``config`` (that of the settings file, if there is one) with what the editor's settings say on top."""
        base, values = config if config is not None else DEFAULT, self.values
        selected = () if values["select"] == [ALL] else values["select"]
        return replace(
            base.with_selection(selected, values["ignore"]),
            severity={**base.severity, **values["severity"]},
            per_path={**base.per_path, **{path: tuple(names) for path, names in values["per-path"].items()}},
            libraries=(*base.libraries, *values["libraries"]),
            patterns=(*base.patterns, *values["patterns"]),
        )


def read_editor_settings(given: object, folder: Path | None = None) -> tuple[EditorSettings, list[str]]:
    """The settings in the value of the client's section, and a sentence for each that is wrong; its default then holds.

    Names may be written as in ``merrow.toml`` (``per-path``) or in camel case (``perPath``).
    """
    values = dict(_DEFAULTS)
    problems: list[str] = []
    if given is None:
        return EditorSettings(values, folder), problems
    if not isinstance(given, dict):
        return EditorSettings(values, folder), [f"The settings `{SECTION}` must be an object, not {shown(given)}."]
    for key, value in given.items():
        name = _HUMP.sub(lambda hump: "-" + hump[1].lower(), str(key))
        setting = _BY_NAME.get(name)
        if setting is None:
            # Clients send what their own extension has in the section as well; only a near miss is worth a word.
            near = closest(name, _BY_NAME)
            if near is not None:
                problems.append(f"There is no setting `{SECTION}.{key}`; did you mean `{SECTION}.{near}`?")
        elif value is not None:
            problem = _problem(setting, str(key), value)
            if problem is None:
                values[name] = value
            else:
                problems.append(problem)
    return EditorSettings(values, folder), problems


def _problem(setting: Setting, key: str, value: Any) -> str | None:
    """What is wrong with ``value``, as one sentence."""
    name = f"{SECTION}.{key}"
    wrong = next(iter(violations(setting.schema, value)), None)
    if wrong is not None:
        part = value
        for step in wrong.path:
            part = part[step]
        what = sentence_start(named((name, *wrong.path)))
        return f"{what} must be {wrong.wanted}, not {shown(part)}; {_default(setting)}."
    selectors: Iterable[str] = value if setting.name in _SELECTORS else ()
    if setting.name == "severity":
        selectors = value
    elif setting.name == "per-path":
        selectors = [selector for names in value.values() for selector in names]
    for selector in selectors:
        if not selected_rules(selector):
            return f"`{selector}` in `{name}` selects no rule; {_default(setting)}."
    return None


def _default(setting: Setting) -> str:
    """What counts in place of a value that is wrong; a default as the editor's settings file has it."""
    if setting.default in ("", [], {}):
        return "it is left out"
    return f"the default ({json.dumps(setting.default)}) holds"
