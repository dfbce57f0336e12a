"""What ``merrow.toml`` (or ``[tool.merrow]`` of ``pyproject.toml``) says: which rules count, how much and where.

`SETTINGS` is the one table of settings: reading, the documentation and the server's own settings all come from it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from merrow_analysis.bounded.globs import LONGEST, path_matches
from merrow_analysis.bounded.toml import read_toml
from merrow_analysis.definitions.schema import DRAFT, Fragment
from merrow_analysis.definitions.settings import MACHINE_KEYS, machine_setting_message
from merrow_analysis.definitions.validation import shown, violations, wanted
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.rules.fault_rules import FAULT
from merrow_analysis.rules.registry import Rule, all_rules, find_rule
from merrow_analysis.suggest import closest
from merrow_analysis.tools.permissions import NO_PERMISSIONS, Permissions

OFF = "off"
ALL = "ALL"

_RULES: Fragment = {"type": "array", "items": {"type": "string", "minLength": 1}}
_TOML_PLACE = re.compile(r"\s*\(at line (\d+), column \d+\)")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name, the JSON Schema of its value, what holds without it, and a sentence of help. A ``personal``
    one is the user's alone: a workspace can't set it.
    """

    name: str
    schema: Fragment
    default: Any
    help: str
    personal: bool = False


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "select",
        _RULES,
        [ALL],
        "The rules to check: codes (`MW402`), beginnings of codes (`MW4`), names, or `ALL`.",
    ),
    Setting("ignore", _RULES, [], "Rules to turn off, written as in `select`; takes precedence over `select`."),
    Setting(
        "severity",
        {"type": "object", "additionalProperties": {"enum": [*(level.value for level in Severity), OFF]}},
        {},
        'The severity of rules: `MW402 = "error"`, `MW4 = "off"`; an exact code or name takes precedence over the beginning of'
        " a code.",
    ),
    Setting(
        "per-path",
        {"type": "object", "additionalProperties": _RULES},
        {},
        'Rules to turn off in some files: `"drafts/**" = ["MW3"]`; patterns as in `.gitignore`, relative to the settings'
        " file's folder.",
    ),
    Setting(
        "libraries",
        {"type": "array", "items": {"type": "string", "minLength": 1}},
        [],
        "YAML files with operators and types for all workflows; paths are relative to the settings file's folder.",
    ),
    Setting(
        "patterns",
        {"type": "array", "items": {"type": "string", "minLength": 1}},
        [],
        "Files of patterns for safe mutations, or folders of them, in addition to `.merrow/patterns`; paths are relative to"
        " the settings file's folder.",
    ),
)
"""Every setting, in the order of the documentation."""

_BY_NAME = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """What is wrong with a configuration: a sentence, and the line (from zero) that it is about.

    ``word`` is a misspelled word of that line, ``near`` the one that was probably meant.
    """

    message: str
    line: int = 0
    word: str = ""
    near: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration as read; what was wrong is left out and told in ``problems``. ``Config()`` changes nothing."""

    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, str] = field(default_factory=dict)
    per_path: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    problems: tuple[ConfigProblem, ...] = ()
    permissions: Permissions = NO_PERMISSIONS
    """Those of the user; no settings file of a workspace has any."""

    def with_selection(self, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> Config:
        """This configuration with other rules selected (where any are given) and further ones ignored."""
        return replace(self, select=tuple(select) or self.select, ignore=(*self.ignore, *ignore))

    def with_files(self, place: Callable[[str], str]) -> Config:
        """This configuration with the files that it names told from another folder."""
        if not self.libraries and not self.patterns:
            return self
        libraries, patterns = (tuple(map(place, names)) for names in (self.libraries, self.patterns))
        return replace(self, libraries=libraries, patterns=patterns)

    def severity_of(self, rule: Rule, path: str | None = None) -> Severity | None:
        """How much a rule counts in a file (``/``-separated path from the settings' folder); None where it doesn't."""
        if not any(_selects(selector, rule) for selector in self.select):
            return None
        ignored = [*self.ignore]
        if path is not None:
            for pattern, selectors in self.per_path.items():
                if path_matches(pattern, path):
                    ignored += selectors
        if any(_selects(selector, rule) for selector in ignored):
            return None
        level = rule.severity.value
        longest = -1
        for selector, value in self.severity.items():
            length = 1000 if selector == rule.name else len(selector)
            if length > longest and _selects(selector, rule):
                level, longest = value, length
        return None if level == OFF else Severity(level)

    def apply(self, diagnostics: Iterable[Diagnostic], path: str | None = None) -> list[Diagnostic]:
        """The diagnostics that count in a file, with the severities that they have there. A fault of Merrow counts whichever
        rules are selected, as one of them may have failed, unless it is ignored.
        """
        if self.select == (ALL,) and not self.ignore and not self.severity and not self.per_path:
            return list(diagnostics)
        levels: dict[str, Severity | None] = {}
        kept: list[Diagnostic] = []
        for diagnostic in diagnostics:
            if diagnostic.code not in levels:
                rule = find_rule(diagnostic.code)
                selected = self if diagnostic.code != FAULT.code else replace(self, select=(ALL,))
                levels[diagnostic.code] = diagnostic.severity if rule is None else selected.severity_of(rule, path)
            level = levels[diagnostic.code]
            if level is not None and diagnostic.code == FAULT.code and not self.severity:
                level = diagnostic.severity
            if level is not None:
                kept.append(diagnostic if level is diagnostic.severity else diagnostic._replace(severity=level))
        return kept


DEFAULT = Config()


def parse_configuration(text: str, *, in_pyproject: bool = False) -> Config:
    """Read the text of a ``merrow.toml``, or of a ``pyproject.toml`` whose ``[tool.merrow]`` counts. Never raises."""
    try:
        document = read_toml(text)
    except tomllib.TOMLDecodeError as error:
        return Config(problems=(_toml_problem(str(error), text),))
    except ValueError as error:
        return Config(problems=(ConfigProblem(f"This TOML can't be read; {error}."),))
    if in_pyproject:
        tool = document.get("tool", {})
        document = tool.get("merrow", {}) if isinstance(tool, dict) else {}
        if not isinstance(document, dict):
            return Config(
                problems=(ConfigProblem("[tool.merrow] must be a table of settings.", _line(text, "merrow")),)
            )
    return _read(document, text)


def _toml_problem(message: str, text: str) -> ConfigProblem:
    place = _TOML_PLACE.search(message)
    line = int(place[1]) - 1 if place else text.count("\n")
    what = _TOML_PLACE.sub("", message).removesuffix("(at end of document)").strip().rstrip(".")
    return ConfigProblem(f"This is not valid TOML: {what[:1].lower() + what[1:]}.", line)


def _read(document: dict[str, Any], text: str) -> Config:
    problems: list[ConfigProblem] = []
    good: dict[str, Any] = {}
    for key, value in document.items():
        setting = _BY_NAME.get(key)
        if setting is None:
            near = closest(key, _BY_NAME)
            problems.append(ConfigProblem(_unknown(key), _line(text, key), key, None if near in document else near))
            continue
        bad: set[str | int] = set()
        for wrong in violations(setting.schema, value):
            inner = str(wrong.path[0]) if wrong.path and isinstance(value, dict) else key
            what = f"`{key}` must be {wanted(setting.schema)}"
            if inner != key:
                what = f"`{inner}` in `{key}` must be {wanted(setting.schema['additionalProperties'])}"
            problems.append(ConfigProblem(f"{what}, not {shown(_at(value, wrong.path))}.", _line(text, inner, key)))
            bad.update(wrong.path[:1] or (key,))
        if isinstance(value, dict):
            good[key] = {name: part for name, part in value.items() if name not in bad}
        elif not bad:
            good[key] = value
    select = _selectors(good.get("select", [ALL]), text, "select", problems)
    if not select and good.get("select"):
        select = (ALL,)
    ignore = _selectors(good.get("ignore", []), text, "ignore", problems)
    severity = {
        name: level
        for name, level in good.get("severity", {}).items()
        if _selectors([name], text, "severity", problems)
    }
    per_path = {
        pattern: _selectors(names, text, pattern, problems)
        for pattern, names in good.get("per-path", {}).items()
        if _is_usable(pattern, text, problems)
    }
    libraries, patterns = (tuple(good.get(key, ())) for key in ("libraries", "patterns"))
    return Config(select, ignore, severity, per_path, libraries, patterns, tuple(problems))


def _is_usable(pattern: str, text: str, problems: list[ConfigProblem]) -> bool:
    if len(pattern) <= LONGEST:
        return True
    message = f"A pattern in `per-path` is longer than {LONGEST:,} characters; shorten it."
    problems.append(ConfigProblem(message, _line(text, "per-path")))
    return False


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _unknown(key: str) -> str:
    if key.casefold().replace("-", "_") in MACHINE_KEYS:
        return machine_setting_message(key)
    near = closest(key, _BY_NAME)
    return f"There is no setting `{key}`; " + (f"did you mean `{near}`?" if near else f"the settings are {_names()}.")


def _names() -> str:
    return ", ".join(f"`{name}`" for name in _BY_NAME)


def _selectors(names: Iterable[str], text: str, key: str, problems: list[ConfigProblem]) -> tuple[str, ...]:
    """The selectors that select something; the others are told."""
    kept: list[str] = []
    for name in names:
        if selected_rules(name):
            kept.append(name)
            continue
        near = closest(name, [ALL, *(word for rule in all_rules() for word in (rule.code, rule.name))])
        hint = f"did you mean `{near}`?" if near else "`merrow rules` lists them."
        problems.append(ConfigProblem(f"`{name}` selects no rule; {hint}", _line(text, name, key), name, near))
    return tuple(kept)


def selected_rules(selector: str) -> list[Rule]:
    """The rules that a code, the beginning of one, a name or ``ALL`` stands for; none for anything else."""
    return [rule for rule in all_rules() if _selects(selector, rule)]


def _selects(selector: str, rule: Rule) -> bool:
    upper = selector.upper()
    return upper == ALL or selector == rule.name or (upper.startswith("MW") and rule.code.startswith(upper))


def _line(text: str, *words: str) -> int:
    """The line of the first of ``words`` that is in the text as a word of its own, or the first line."""
    for word in words:
        match = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)
        if match is not None:
            return text.count("\n", 0, match.start())
    return 0


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of a ``merrow.toml``, as dicts."""
    properties = {
        setting.name: {**setting.schema, "default": setting.default, "description": setting.help}
        for setting in SETTINGS
    }
    return {
        "$schema": DRAFT,
        "title": "Settings of Merrow",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def settings_table() -> str:
    """The settings as a Markdown table, as the documentation has it."""
    rows = ["| setting | value | default | what it does |", "|---|---|---|---|"]
    for setting in SETTINGS:
        value = wanted(setting.schema)
        if setting.schema["type"] == "object":
            value = f"a table; each value {wanted(setting.schema['additionalProperties'])}"
        rows.append(f"| `{setting.name}` | {value} | `{_toml(setting.default)}` | {setting.help} |")
    return "\n".join(rows) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    return f'"{value}"'
