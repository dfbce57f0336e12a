"""A file that holds a workflow, or several in Markdown: what its path means, and its text, read as UTF-8 or refused."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_analysis.suggest import closest
from merrow_runtime.errors import InputError

if TYPE_CHECKING:
    from merrow_analysis.markdown import DiagramFence

MARKDOWN_SUFFIXES = (".md", ".markdown")
DIAGRAM_SUFFIXES = (".mmd", ".mermaid")
_SUFFIXES = DIAGRAM_SUFFIXES + MARKDOWN_SUFFIXES
_BOM = "\ufeff"


def whole_path(name: str | os.PathLike[str]) -> str:
    """The whole path of a file, by which a journal knows it, for that serves all folders. ``#2``, for a block, may follow."""
    return os.path.abspath(name)  # noqa: PTH100 (no path where #2 follows)


@dataclass(frozen=True, slots=True)
class Target:
    """Something to work on: a file, one block of a Markdown file, or standard input.

    ``name`` is how the user knows it; ``path`` is None for standard input; ``block`` counts from 1, None means the
    whole file; ``folder`` is the folder on the command line under which the file was found.
    """

    name: str
    path: Path | None
    block: int | None = None
    folder: str | None = None

    @property
    def is_markdown(self) -> bool:
        return self.name.lower().endswith(MARKDOWN_SUFFIXES)

    @property
    def base(self) -> Path:
        """The folder that paths inside the file are relative to."""
        return (self.path or Path(self.name)).absolute().parent


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a file without its byte order mark; ``bom`` says that it had one, so that writing keeps it."""

    text: str
    bom: bool = False


def file_target(name: str) -> Target:
    """The one file, or block of a Markdown file, that a path stands for. Raises `InputError`."""
    path = Path(name)
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        block = block_target(name)
        if block is None:
            raise InputError(missing(path)) from None
        return block
    except (OSError, ValueError) as problem:
        raise InputError(f"{name} can't be read: {reason_of(problem)}.") from None
    if is_folder:
        raise InputError(one_file(path))
    return Target(name, path)


def block_target(name: str) -> Target | None:
    """``FILE.md#2`` as a target, where there is such a file."""
    file, hash_sign, number = name.rpartition("#")
    if not hash_sign or not Path(file).is_file():
        return None
    if not file.lower().endswith(MARKDOWN_SUFFIXES):
        raise InputError(f"{file} is not a Markdown file, so it has no block {number}; name it without #{number}.")
    if not (number.isascii() and number.isdecimal()) or int(number[:9]) < 1:
        raise InputError(f"{name} names no block: write the number of the block after the #, from 1 on.")
    return Target(file, Path(file), int(number[:9]))


def one_file(folder: Path) -> str:
    """The sentence for a folder where a file is wanted, with one of its workflow files."""
    with contextlib.suppress(OSError, ValueError):
        candidates = sorted(entry for entry in folder.iterdir() if entry.suffix.lower() in DIAGRAM_SUFFIXES)
        if candidates:
            return f"{folder} is a folder; name one file, such as {candidates[0]}."
    return f"{folder} is a folder; name one file."


def missing(path: Path) -> str:
    """The sentence for a path that leads nowhere, with the name that was probably meant: also the one with another ending."""
    sentence = f"There is no file or folder named {path}."
    with contextlib.suppress(OSError, ValueError):
        names = sorted(entry.name for entry in path.parent.iterdir())
        near = _with_another_ending(path, names) or closest(path.name, names)
        if near is not None:
            sentence += f" Did you mean {path.parent / near}?"
    return sentence


def _with_another_ending(path: Path, names: Sequence[str]) -> str | None:
    stem = path.stem if path.suffix.lower() in _SUFFIXES else path.name
    stems = {Path(name).stem: name for name in reversed(names) if name.lower().endswith(_SUFFIXES)}
    return stems.get(stem)


def diagrams(target: Target, text: str) -> list[DiagramFence]:
    """The mermaid blocks of a Markdown file, or the one that is meant. Raises `InputError` where that is not there."""
    from merrow_analysis.markdown import find_fences  # here, since most files are not Markdown

    fences = find_fences(text)
    if target.block is None:
        return fences
    if target.block > len(fences):
        have = {0: "no mermaid block", 1: "one mermaid block"}.get(len(fences), f"{len(fences)} mermaid blocks")
        raise InputError(f"{target.name} has {have}, so there is no block {target.block}.")
    return [fences[target.block - 1]]


def the_diagram(target: Target, text: str) -> tuple[str, DiagramFence | None]:
    """The one diagram that ``target`` stands for, and its place in Markdown.

    Raises `InputError` for a Markdown file that has none, or several of which none is named.
    """
    if not target.is_markdown:
        return text, None
    fences = diagrams(target, text)
    if not fences:
        raise InputError(f"{target.name} has no mermaid block.")
    if len(fences) > 1:
        raise InputError(f"{target.name} has {len(fences)} mermaid blocks; name one, such as {target.name}#1.")
    return fences[0].text, fences[0]


def read_path(path: Path, name: str, limit: int | None = None) -> SourceText:
    """The text of the file at ``path``, which the user knows as ``name``; ``limit`` is the most bytes it may have."""
    try:
        # Looked at before opening: to open a pipe or a device may wait forever.
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{name} is a folder, not a file.")
        if not stat.S_ISREG(status.st_mode):
            raise InputError(
                f"{name} is a device or a pipe, not a regular file; pass its text on standard input with -."
            )
        if limit is not None and status.st_size > limit:
            raise InputError(f"{name} is too large: at most {limit // 1_000_000} MB are read.")
        return decode(path.read_bytes(), name)
    except FileNotFoundError:
        what = f"{name} is a link to a file that is gone." if path.is_symlink() else f"There is no file {name}."
        raise InputError(what) from None
    except (OSError, ValueError) as problem:
        raise InputError(f"{name} can't be read: {reason_of(problem)}.") from None


def decode(data: bytes, name: str) -> SourceText:
    """``data`` as text. Raises `InputError` where it is not UTF-8 or looks binary."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name} is UTF-16, not UTF-8; save it as UTF-8.")
    nul = data.find(b"\0")
    if nul >= 0:
        raise InputError(f"{name} is a binary file: there is a NUL byte at offset {nul}.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise InputError(
            f"{name} is not UTF-8: line {line} has a byte that doesn't belong there; save it as UTF-8."
        ) from None
    return SourceText(text.removeprefix(_BOM), text.startswith(_BOM))


def reason_of(problem: OSError | ValueError) -> str:
    """What the system says, as the end of a sentence."""
    text = (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
    return text[:1].lower() + text[1:]
