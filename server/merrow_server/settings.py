"""The configuration of a target: from the nearest settings file or the one named, and from the command line."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from merrow_analysis.diagnostics import Applicability, Diagnostic
from merrow_analysis.rules.configuration import ALL, DEFAULT, Config, parse_configuration, selected_rules
from merrow_analysis.rules.declared.configuration_rules import check_configuration
from merrow_analysis.rules.registry import all_rules
from merrow_analysis.suggest import closest
from merrow_analysis.text import split_lines
from merrow_runtime.outside.users_permissions import UsersPermissions
from merrow_server.changes.fixing import repair
from merrow_server.errors import InputError
from merrow_server.files import SourceText, Target, read_path, write
from merrow_server.reports.findings_report import FileReport
from merrow_server.workspace import LARGEST_RESOURCE, PROJECT_FILE, WorkspaceFinder


class Settings:
    """Hands out configurations. ``problems`` has a sentence for each settings file that can't be read, ``reports`` the
    mistakes in those that can; ``repaired`` are those that were repaired, each with the number of its repairs by rule.
    """

    def __init__(
        self,
        file: str | None = None,
        *,
        use_files: bool = True,
        select: Iterable[str] = (),
        ignore: Iterable[str] = (),
        least: Applicability | None = None,
    ) -> None:
        """``file`` takes precedence over the files found; without ``use_files`` none is looked for. With ``least``, each is
        repaired by fixes of at least that applicability before it is used.

        ``select`` and ``ignore`` have rules as `Config` takes them, also several in one string, with commas. Raises
        `InputError` where ``file`` can't be read or a selector selects nothing.
        """
        self.surroundings = WorkspaceFinder()
        self.problems: list[str] = []
        self.reports: list[FileReport] = []
        self.repaired: list[Counter[str]] = []
        self._least = least
        self._select = _selectors(select)
        self._ignore = _selectors(ignore)
        self._use_files = use_files
        self._configs: dict[Path, Config] = {}
        self._default = replace(DEFAULT, permissions=UsersPermissions())
        self._file = None if file is None else Path(file).absolute()
        if self._file is not None:
            self._configs[self._file] = self._read(self._file, str(file))

    def config(self, target: Target) -> Config:
        """The configuration for ``target``, its libraries and patterns as paths from the folder of ``target``."""
        file = self._settings_file(target)
        if file is None:
            return self._default.with_selection(self._select, self._ignore)
        if file not in self._configs:
            try:
                self._configs[file] = self._read(file, os.path.relpath(file))
            except InputError as problem:
                self.problems.append(str(problem))
                self._configs[file] = DEFAULT
        config = self._configs[file].with_selection(self._select, self._ignore)
        config = replace(config, permissions=self._default.permissions)
        beside = Path(os.path.relpath(file.parent, target.base))
        return config.with_files(lambda path: os.path.normpath(beside / path))

    def relative_path(self, target: Target) -> str:
        """The path of ``target`` from the folder of its settings, or of its workspace; with ``/`` between its parts."""
        file = self._settings_file(target)
        folder = self.surroundings.root(target.base) if file is None else file.parent
        return Path(os.path.relpath(target.base / Path(target.name).name, folder)).as_posix()

    def _settings_file(self, target: Target) -> Path | None:
        if self._file is not None:
            return self._file
        return self.surroundings.settings_file(target.base) if self._use_files else None

    def _read(self, file: Path, name: str) -> Config:
        source = read_path(file, name, LARGEST_RESOURCE)
        text = source.text
        diagnostics = self._diagnose(file, text)
        if self._least is not None and diagnostics:
            after = repair(text, lambda changed: self._diagnose(file, changed), self._least)
            if after.applied:
                write(file, SourceText(after.text, source.bom))
                self.repaired.append(after.applied)
            text, diagnostics = after.text, list(after.diagnostics)
        if diagnostics:
            self.reports.append(FileReport(name, split_lines(text), diagnostics))
        return parse_configuration(text, in_pyproject=file.name == PROJECT_FILE)

    def _diagnose(self, file: Path, text: str) -> list[Diagnostic]:
        """What is wrong in a settings file that has this text."""
        config = parse_configuration(text, in_pyproject=file.name == PROJECT_FILE)
        return config.with_selection(self._select, self._ignore).apply(check_configuration(config, text))


def _selectors(given: Iterable[str]) -> tuple[str, ...]:
    """The selectors in the values of an option. Raises `InputError` for one that selects no rule."""
    selectors = [word.strip() for value in given for word in value.split(",") if word.strip()]
    for selector in selectors:
        if not selected_rules(selector):
            near = closest(selector, [ALL, *(word for rule in all_rules() for word in (rule.code, rule.name))])
            hint = f"Did you mean {near}?" if near else "merrow rules lists them all."
            raise InputError(f"{selector} selects no rule. {hint}")
    return tuple(selectors)
