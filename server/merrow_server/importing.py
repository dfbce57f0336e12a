"""Workflows of Python files: programs that `merrow compile` made, and classes as they are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from merrow_runtime.compiled.mermaid import file_names, mermaid_text
from merrow_runtime.compiling.program_reader import NotReadError, is_compiled, parse, read_program
from merrow_runtime.compiling.published import read_published
from merrow_runtime.compiling.standalone import is_archive, program_in
from merrow_runtime.program.workflow_files import read_path
from merrow_server.errors import InputError

_LARGEST = 10_000_000


class Imported(NamedTuple):
    """The text of a workflow, the files that it calls by name, and notes for the user."""

    text: str
    called: Mapping[str, str]
    notes: Sequence[str] = ()


def imported(path: Path) -> Imported:
    """The workflow in a Python file, which is read and never run. Raises `InputError` that names the line."""
    text = _text_of(path)
    try:
        tree = parse(text)
        if not is_compiled(tree):
            return _published(path, text)
        functions = read_program(text)
    except NotReadError as problem:
        raise InputError(f"{path} can't be imported. {problem}") from None
    try:
        files = file_names({function.name: function.flow.name for function in functions})
        texts = {function.name: mermaid_text(function.title, function.flow, files) for function in functions}
    except (AttributeError, KeyError, TypeError, ValueError):
        # Its tables may hold anything: only what `merrow compile` writes there can be written out.
        raise InputError(f"{path} can't be imported: a table in it is not as `merrow compile` writes it.") from None
    return Imported(
        texts[functions[0].name], {files[function.name]: texts[function.name] for function in functions[1:]}
    )


def _text_of(path: Path) -> str:
    if path.suffix != ".pyz":
        return read_path(path, str(path), _LARGEST).text
    if not path.is_file():
        raise InputError(f"{path} can't be read: there is no such file.")
    if path.stat().st_size > _LARGEST:
        raise InputError(f"{path} is larger than {_LARGEST // 1_000_000} MB, which no program of `merrow compile` is.")
    data = path.read_bytes()
    text = program_in(data) if is_archive(data) else None
    if text is None:
        raise InputError(f"{path} can't be imported: there is no program of `merrow compile` in it.")
    return text


def _published(path: Path, text: str) -> Imported:
    beside = path.with_name("prompt.py")
    prompts = read_path(beside, str(beside), _LARGEST).text if beside.is_file() and beside != path else None
    written, notes = read_published(text, prompts)
    return Imported(written, {}, notes)
