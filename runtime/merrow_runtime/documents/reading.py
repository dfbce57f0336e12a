"""Reads the documents of files: rows of JSON Lines and CSV, passages of Markdown and texts. Bounded, and never outside of the
workspace.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from merrow_analysis.definitions.stores import StoreSettings
from merrow_runtime.documents.passages import passages
from merrow_runtime.documents.words import storable
from merrow_runtime.errors import InputError
from merrow_runtime.program.workflow_files import decode, reason_of

LARGEST = 200_000_000
"""Bytes of a file of documents."""
MOST_FILES = 20_000
MOST_ROWS = 1_000_000
LONGEST_TEXT = 200_000
"""Characters of one document."""
_LARGEST_OF_FOLDER = 10_000_000
"""Bytes of a file in a folder of documents."""
_ROWS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
_MARKDOWN = (".md", ".markdown")
_TEXTS = (*_MARKDOWN, ".txt", ".text", ".rst")
_SOURCE, _PLACE = "source", "place"
_LONGEST_SHOWN = 500
"""Characters of a source or a place."""


class FileDocument(NamedTuple):
    """A document of a file: what is searched, what is shown, and where it comes from."""

    searched: str
    text: str
    source: str
    place: str


class DocumentFile(NamedTuple):
    """A file with documents: its path as the store names it, and where it is."""

    name: str
    path: Path


def files_of(store: StoreSettings, folder: Path, root: Path) -> list[DocumentFile]:
    """The files of a store that is not kept, in order; ``folder`` is the workflow's, and all must be inside ``root``.

    Raises `InputError`.
    """
    named = store.file if store.file is not None else store.folder or "."
    what = f"Store {store.name}"
    try:
        path = (folder / named).resolve()
        inside = path.is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        raise InputError(f"{what}: there is no such path as {named}.") from None
    if not inside:
        raise InputError(f"{what}: {named} lies outside the workspace {root}; move it inside to use it.")
    if store.file is not None:
        if path.is_dir():
            raise InputError(f"{what}: {named} is a folder; write `folder: {named}`.")
        if not path.is_file():
            raise InputError(f"{what}: there is no file {named}.")
        return [DocumentFile(named, path)]
    if not path.is_dir():
        raise InputError(f"{what}: there is no folder {named}.")
    found = list(_texts_in(path, root.resolve(), what))
    if not found:
        raise InputError(f"{what}: the folder {named} has no files that end in {', '.join(_TEXTS)}.")
    return found


def _texts_in(folder: Path, root: Path, what: str) -> Iterator[DocumentFile]:
    """The texts in a folder and the folders in it, by name. What is hidden, and links that lead elsewhere, are left out."""
    count = 0
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        try:
            entries = sorted(current.iterdir(), key=lambda entry: entry.name)
        except OSError as problem:
            raise InputError(f"{what}: {current} can't be read: {reason_of(problem)}.") from None
        folders: list[Path] = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                if not entry.is_symlink():
                    folders.append(entry)
            elif entry.suffix.lower() in _TEXTS and entry.is_file() and entry.resolve().is_relative_to(root):
                count += 1
                if count > MOST_FILES:
                    raise InputError(f"{what}: {folder} has more than {MOST_FILES:,} files.")
                if storable(entry.name) != entry.name:
                    raise InputError(f"{what}: the name of the file {storable(entry.name)} is not UTF-8; rename it.")
                yield DocumentFile(entry.relative_to(folder).as_posix(), entry)
        waiting += reversed(folders)


def read_bytes(file: DocumentFile, store: StoreSettings) -> bytes:
    """The bytes of a file of documents. Raises `InputError`."""
    limit = LARGEST if store.file is not None else _LARGEST_OF_FOLDER
    try:
        with file.path.open("rb") as opened:
            data = opened.read(limit + 1)
    except OSError as problem:
        raise InputError(f"Store {store.name}: {file.name} can't be read: {reason_of(problem)}.") from None
    if len(data) > limit:
        raise InputError(f"Store {store.name}: {file.name} is too large; at most {limit // 1_000_000} MB are read.")
    return data


def can_be_appended(file: DocumentFile, store: StoreSettings) -> bool:
    """Whether what is written behind the end of a file's last line changes nothing of the documents before it."""
    return store.file is not None and _ROWS.get(file.path.suffix.lower()) == "jsonl"


def documents_of(file: DocumentFile, data: bytes, store: StoreSettings, first: int = 1) -> Iterator[FileDocument]:
    """The documents of a file, in their order; ``first`` is the number of the line with which ``data`` begins. Raises
    `InputError`.
    """
    text = decode(data, f"Store {store.name}: {file.name}").text
    suffix = file.path.suffix.lower()
    kind = _ROWS.get(suffix) if store.file is not None else None
    if kind is None:
        if store.file is not None and suffix not in _TEXTS:
            raise InputError(
                f"Store {store.name}: {file.name} must end in {', '.join((*_ROWS, *_TEXTS))}, so that it is known how to read it."
            )
        for passage in passages(text, markdown=suffix in _MARKDOWN):
            yield FileDocument(passage.text, passage.text, file.name, passage.place)
        return
    rows = (
        _json_rows(text, file, store, first)
        if kind == "jsonl"
        else _csv_rows(text, "\t" if kind == "tsv" else ",", file, store)
    )
    for count, (line, row) in enumerate(rows, 1):
        if count > MOST_ROWS:
            raise too_many_rows(file, store)
        yield _document(row, line, file, store)


def too_many_rows(file: DocumentFile, store: StoreSettings) -> InputError:
    """The failure of a file that has more rows than are read."""
    return InputError(f"Store {store.name}: {file.name} has more than {MOST_ROWS:,} rows.")


def _json_rows(
    text: str, file: DocumentFile, store: StoreSettings, first: int
) -> Iterator[tuple[int, Mapping[str, object]]]:
    for number, line in enumerate(text.split("\n"), first):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(f"Store {store.name}: line {number} of {file.name} is not JSON.") from None
        if not isinstance(row, dict):
            raise InputError(
                f'Store {store.name}: line {number} of {file.name} is not an object such as {{"text": "..."}}.'
            )
        yield number, row


def _csv_rows(
    text: str, delimiter: str, file: DocumentFile, store: StoreSettings
) -> Iterator[tuple[int, Mapping[str, object]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: Sequence[str] | None = None
    end = 0
    try:
        for cells in reader:
            line, end = end + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                continue
            if len(cells) > len(header):
                raise InputError(
                    f"Store {store.name}: line {line} of {file.name} has {len(cells)} cells, more than its header names."
                )
            yield line, dict(zip(header, cells, strict=False))
    except csv.Error as problem:
        raise InputError(f"Store {store.name}: line {end + 1} of {file.name} is not CSV: {problem}.") from None


def _document(row: Mapping[str, object], line: int, file: DocumentFile, store: StoreSettings) -> FileDocument:
    where = f"line {line} of {file.name}"
    missing = next((name for name in store.match if name not in row), None)
    if missing is not None:
        known = ", ".join(list(row)[:10])
        raise InputError(
            f"Store {store.name}: {where} has no field `{missing}`; say with `match` which field is searched ({known})."
        )
    shown = [name for name in store.shown if name != _SOURCE and name in row]
    only = shown[0] if len(shown) == 1 else None
    text = _text(row[only]) if only else "\n".join(f"{name}: {_text(row[name])}" for name in shown)
    searched = "\n".join(_text(row[name]) for name in store.match)
    if max(len(text), len(searched)) > LONGEST_TEXT:
        raise InputError(f"Store {store.name}: {where} has more than {LONGEST_TEXT:,} characters; split it.")
    source = _text(row.get(_SOURCE)) or file.name
    place = _text(row.get(_PLACE)) or f"line {line}"
    return FileDocument(searched, text, source[:_LONGEST_SHOWN], place[:_LONGEST_SHOWN])


def _text(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return storable(text)
