"""The files of an extraction: a library, a report, cases and start workflows, in place of those of an earlier extraction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merrow_optimizer.extraction.extraction_report import CASES, START
from merrow_optimizer.optimization.rounds import put
from merrow_runtime.program.workflow_files import reason_of
from merrow_server.errors import InputError
from merrow_server.extractions.extraction_html import as_html

MARK = "# Operators drawn from solved cases by merrow extract."
_MARKS = ("%% Case ", "%% A shape of workflow that ")
_HEAD = 4_096


def report_files(library: Path) -> tuple[Path, Path]:
    """Where the report beside a library is, as JSON and as a page."""
    return library.with_name(f"{library.stem}.report.json"), library.with_name(f"{library.stem}.report.html")


def check_place(library: Path) -> None:
    """Raise `InputError` where the files can't be written, or would replace something that no extraction wrote."""
    if library.suffix not in (".yaml", ".yml"):
        raise InputError(f"The library {library} must be a YAML file: name one such as operators.yaml with -o.")
    if not library.absolute().parent.is_dir():
        raise InputError(f"{library} can't be written: its folder does not exist.")
    try:
        is_other = library.exists() and (not library.is_file() or not _head(library).startswith(MARK))
    except OSError as problem:
        raise InputError(f"{library} can't be read: {reason_of(problem)}.") from None
    if is_other:
        raise InputError(f"{library} is there already, and no extraction wrote it; name another file with -o.")
    for name in (CASES, START):
        folder = library.with_name(name)
        if folder.is_symlink():
            raise InputError(f"{folder} is a link to another place; name a library in another folder with -o.")
        if folder.exists() and (not folder.is_dir() or any(not _is_ours(file) for file in folder.iterdir())):
            raise InputError(f"{folder} has files that no extraction wrote; name a library in another folder with -o.")


def _head(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(_HEAD).decode("utf-8", "replace")


def _is_ours(file: Path) -> bool:
    try:
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() and file.suffix == ".mmd" else ""
    except OSError:
        return False
    return any(line.startswith(_MARKS) for line in text.split("\n"))


def write_files(library: Path, text: str, files: Mapping[str, str], report: Mapping[str, Any]) -> None:
    """Write all files of an extraction; those of an earlier one go. Raises `InputError`, `UsageFailure`."""
    check_place(library)
    try:
        for name in (CASES, START):
            folder = library.with_name(name)
            folder.mkdir(exist_ok=True)
            for old in folder.iterdir():
                if f"{name}/{old.name}" not in files:
                    old.unlink()
    except OSError as problem:
        raise InputError(f"The files beside {library} can't be written: {reason_of(problem)}.") from None
    for path, content in sorted(files.items()):
        put(library.with_name(path.split("/")[0]) / path.split("/")[1], content)
    as_json, page = report_files(library)
    put(as_json, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    put(page, as_html(report))
    put(library, f"{MARK}\n{text}")
