"""What a run gave, written as files."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from merrow_runtime.operators.formats.answer_files import check_folders, files_in, is_reserved
from merrow_runtime.program.workflow_files import reason_of
from merrow_runtime.values import Value, as_text
from merrow_server.errors import InputError
from merrow_server.files import create

_NOT_IN_NAMES = re.compile(r"[^\w.@+-]+")
_LONGEST_NAME = 100


def check_folder(folder: Path) -> None:
    """Raises `InputError` unless a folder is empty, or not there yet and can be made: nothing is written over."""
    try:
        filled = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        above = next(parent for parent in folder.absolute().parents if parent.exists())
    except OSError as problem:
        raise InputError(f"{folder} can't be used: {reason_of(problem)}.") from None
    if filled:
        raise InputError(f"{folder} is not an empty folder; name a new one, since nothing is written over.")
    if not above.is_dir():
        raise InputError(f"{folder} can't be made: {above} is not a folder.")


def write_outputs(folder: Path, outputs: Mapping[str, Value]) -> list[Path]:
    """Write the files that the outputs hold in fenced blocks with names; an output without any is a file of its own, by its id,
    in which other letters stand where a name of a file can't have those of the id.

    Returns what was written. Raises `InputError`; where a name leads outside, occurs twice or is also that of a folder, nothing
    is written.
    """
    check_folder(folder)
    texts: dict[str, str] = {}
    taken: set[str] = set()
    try:
        named = {name: files_in([value]) if isinstance(value, str) else [] for name, value in outputs.items()}
    except ValueError as problem:
        raise InputError(f"The outputs can't be written. {problem}") from None
    for name, files in named.items():
        value = outputs[name]
        ending, content = (".md", as_text(value)) if isinstance(value, str) else (".json", json.dumps(value, indent=2))
        given = [(file.path, file.text) for file in files] or [(file_name(name, ending, taken), content)]
        for path, text in given:
            if path.casefold() in taken:
                raise InputError(f"The outputs can't be written. The file `{path}` is given twice.")
            taken.add(path.casefold())
            texts[path] = text if text.endswith("\n") else f"{text}\n"
    try:
        check_folders(texts)
    except ValueError as problem:
        raise InputError(f"The outputs can't be written. {problem}") from None
    written: list[Path] = []
    for path, text in texts.items():
        place = folder / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(f"{place.parent} can't be made: {reason_of(problem)}.") from None
        create(place, text)
        written.append(place)
    return written


def file_name(id_: str, ending: str, taken: Collection[str]) -> str:
    """A name for the file of an output: an id may have slashes and dots that lead anywhere, or be one that no system takes."""
    stem = _NOT_IN_NAMES.sub("_", id_)[:_LONGEST_NAME].lstrip(".") or "output"
    stem = f"{stem}_" if is_reserved(f"{stem}{ending}") else stem
    name, number = f"{stem}{ending}", 1
    while name.casefold() in taken:
        number += 1
        name = f"{stem}_{number}{ending}"
    return name
