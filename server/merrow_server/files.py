"""Files in and out: what a path on the command line means, reading text, writing it back whole."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from merrow_analysis.suggest import closest
from merrow_server.errors import InputError
from merrow_server.ignore import Ignore

DIAGRAM_SUFFIXES = (".mmd", ".mermaid")
MARKDOWN_SUFFIXES = (".md", ".markdown")
ALWAYS_SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__"})
STDIN_NAME = "<stdin>"
_BOM = "\ufeff"


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
class Source:
    """The text of a file without its byte order mark; ``bom`` says that it had one, so that writing keeps it."""

    text: str
    bom: bool = False


@dataclass(slots=True)
class Found:
    """What the paths of a command line stand for: the targets, and a sentence for each path that stands for nothing."""

    targets: list[Target] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def discover(paths: Iterable[str], stdin_name: str | None = None) -> Found:
    """Turn the paths of a command line into targets, in their order, each file once.

    A folder means the diagram and Markdown files below it, sorted, without what ``.gitignore`` files exclude; a file
    that is named outright is taken whatever it is called. ``-`` is standard input, shown as ``stdin_name``.
    """
    found = Found()
    seen: set[tuple[str, int | None]] = set()
    for name in paths:
        if name == "-":
            found.targets.append(Target(stdin_name or STDIN_NAME, None))
            continue
        try:
            targets = _targets(name, found.problems)
        except InputError as problem:
            found.problems.append(str(problem))
            continue
        for target in targets:
            key = (os.path.realpath(target.path or ""), target.block)
            if key not in seen:
                seen.add(key)
                found.targets.append(target)
    return found


def no_workflows(folder: str) -> str:
    """The sentence for a folder in which nothing can be checked."""
    return f"There is no workflow in {folder}: it has no *.mmd or *.mermaid file and no Markdown with a mermaid block."


def _targets(name: str, problems: list[str]) -> list[Target]:
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        block = _block(name)
        if block is not None:
            return [block]
        raise InputError(_missing(path)) from None
    except (OSError, ValueError) as problem:
        raise InputError(f"{name} can't be read: {_reason(problem)}.") from None
    if stat.S_ISDIR(mode):
        before = len(problems)
        targets = _walk(name, problems)
        if not targets and len(problems) == before:
            raise InputError(no_workflows(name))
        return targets
    return [Target(name, path)]


def _block(name: str) -> Target | None:
    """``FILE.md#2`` as a target, where there is such a file."""
    file, hash_sign, number = name.rpartition("#")
    if not hash_sign or not Path(file).is_file():
        return None
    if not file.lower().endswith(MARKDOWN_SUFFIXES):
        raise InputError(f"{file} is not a Markdown file, so it has no block {number}; name it without #{number}.")
    if not (number.isascii() and number.isdecimal()) or int(number[:9]) < 1:
        raise InputError(f"{name} names no block: write the number of the block after the #, from 1 on.")
    return Target(file, Path(file), int(number[:9]))


def _missing(path: Path) -> str:
    sentence = f"There is no file or folder named {path}."
    with contextlib.suppress(OSError, ValueError):
        near = closest(path.name, sorted(entry.name for entry in path.parent.iterdir()))
        if near is not None:
            sentence += f" Did you mean {path.parent / near}?"
    return sentence


def _walk(folder: str, problems: list[str]) -> list[Target]:
    """The files to check below ``folder``: entries sorted by name, links to folders not followed.

    A folder that can't be listed adds its sentence to ``problems``; the others are still walked.
    """
    targets: list[Target] = []
    pending: list[tuple[str, Ignore | None]] = [(folder, Ignore.for_folder(Path(folder)))]
    while pending:
        current, ignore = pending.pop()
        if ignore is None:
            targets.append(Target(current, Path(current), folder=folder))
            continue
        try:
            with os.scandir(current) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name, reverse=True)
        except OSError as problem:
            problems.append(f"{current} can't be listed: {_reason(problem)}.")
            continue
        for entry in ordered:
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder:
                if entry.name not in ALWAYS_SKIPPED and not ignore.excludes(entry.path, is_folder=True):
                    pending.append((os.path.normpath(entry.path), ignore.inside(entry.path)))
            elif (
                entry.name.lower().endswith(DIAGRAM_SUFFIXES + MARKDOWN_SUFFIXES)
                and not entry.is_dir()
                and not ignore.excludes(entry.path, is_folder=False)
            ):
                pending.append((os.path.normpath(entry.path), None))
    return targets


def read(target: Target) -> Source:
    """The text of ``target``. Raises `InputError` where it is not a regular file of UTF-8 text that may be read."""
    if target.path is None:
        return decode(sys.stdin.buffer.read(), target.name)
    return read_path(target.path, target.name)


def read_path(path: Path, name: str, limit: int | None = None) -> Source:
    """The text of the file at ``path``, which the user knows as ``name``; ``limit`` is the most bytes it may have."""
    try:
        # Looked at before opening: to open a pipe or a device may wait for ever.
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
        raise InputError(f"{name} can't be read: there is no such file, or it is a link to one that is gone.") from None
    except (OSError, ValueError) as problem:
        raise InputError(f"{name} can't be read: {_reason(problem)}.") from None


def decode(data: bytes, name: str) -> Source:
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
    return Source(text.removeprefix(_BOM), text.startswith(_BOM))


def write(path: Path, source: Source) -> None:
    """Replace the file at ``path`` in one step, keeping its mode; a link stays a link. Raises `InputError`."""
    final = Path(os.path.realpath(path))
    data = _encoded(source)
    temporary: str | None = None
    try:
        mode = stat.S_IMODE(final.stat().st_mode)
        if not os.access(final, os.W_OK):
            raise InputError(f"{path} can't be written: it is read-only.")
        handle, temporary = tempfile.mkstemp(prefix=f".{final.name[:64]}.", dir=final.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(temporary).chmod(mode)
        Path(temporary).replace(final)
    except OSError as problem:
        raise InputError(f"{path} can't be written: {_reason(problem)}.") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def write_stdout(source: Source) -> None:
    """Write the text to standard output, byte for byte as a file would have it."""
    sys.stdout.flush()
    sys.stdout.buffer.write(_encoded(source))
    sys.stdout.buffer.flush()


def _encoded(source: Source) -> bytes:
    return ((_BOM if source.bom else "") + source.text).encode("utf-8", "surrogatepass")


def _reason(problem: OSError | ValueError) -> str:
    """What the system says, as the end of a sentence."""
    text = (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
    return text[:1].lower() + text[1:]
