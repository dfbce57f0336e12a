"""Files in and out: what a path on the command line means, reading text, writing it back whole."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from merrow_analysis.cases import ENDING
from merrow_analysis.text import LARGEST_TEXT
from merrow_runtime.program.workflow_files import (
    DIAGRAM_SUFFIXES,
    MARKDOWN_SUFFIXES,
    SourceText,
    Target,
    block_target,
    decode,
    missing,
    read_path,
    reason_of,
)
from merrow_server.errors import InputError
from merrow_server.ignore import Ignore

ALWAYS_SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__"})
VIRTUAL_ENVIRONMENT = "pyvenv.cfg"
"""The file that marks a folder as a Python environment, whatever the folder is called."""
STDIN_NAME = "<stdin>"
WORKFLOW_ENDINGS = DIAGRAM_SUFFIXES + MARKDOWN_SUFFIXES
CHECKED_ENDINGS = (*WORKFLOW_ENDINGS, ENDING)
"""Of all files that `merrow check` has findings about."""
_BOM = "\ufeff"

__all__ = [
    "DIAGRAM_SUFFIXES",
    "MARKDOWN_SUFFIXES",
    "ResolvedTargets",
    "SourceText",
    "Target",
    "decode",
    "discover",
    "no_workflows",
    "read",
    "read_path",
    "write",
    "write_stdout",
]


@dataclass(slots=True)
class ResolvedTargets:
    """What the paths of a command line stand for: the targets, and a sentence for each path that stands for nothing."""

    targets: list[Target] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def discover(
    paths: Iterable[str], stdin_name: str | None = None, endings: tuple[str, ...] = WORKFLOW_ENDINGS
) -> ResolvedTargets:
    """Turn the paths of a command line into targets, in their order, each file once.

    A folder means the files with one of the ``endings`` below it, sorted, without what ``.gitignore`` files exclude and
    without virtual environments; a file or folder that is named outright is taken whatever it is. ``-`` is standard
    input, shown as ``stdin_name``.
    """
    resolved = ResolvedTargets()
    seen: set[tuple[str, int | None]] = set()
    for name in paths:
        if name == "-":
            resolved.targets.append(Target(stdin_name or STDIN_NAME, None))
            continue
        try:
            targets = _targets(name, resolved.problems, endings)
        except InputError as problem:
            resolved.problems.append(str(problem))
            continue
        for target in targets:
            key = (os.path.realpath(target.path or ""), target.block)
            if key not in seen:
                seen.add(key)
                resolved.targets.append(target)
    return resolved


def no_workflows(folder: str) -> str:
    """The sentence for a folder in which nothing can be checked."""
    return (
        f"There is no workflow in {folder}: it has no *.mmd or *.mermaid file and no Markdown with a mermaid block."
        " Begin one with: merrow new flow.mmd"
    )


def _targets(name: str, problems: list[str], endings: tuple[str, ...]) -> list[Target]:
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        block = block_target(name)
        if block is not None:
            return [block]
        raise InputError(missing(path)) from None
    except (OSError, ValueError) as problem:
        raise InputError(f"{name} can't be read: {reason_of(problem)}.") from None
    if stat.S_ISDIR(mode):
        before = len(problems)
        targets = _walk(name, problems, endings)
        if not targets and len(problems) == before:
            raise InputError(no_workflows(name))
        return targets
    return [Target(name, path)]


def _walk(folder: str, problems: list[str], endings: tuple[str, ...]) -> list[Target]:
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
            problems.append(f"{current} can't be listed: {reason_of(problem)}.")
            continue
        if current != folder and any(entry.name == VIRTUAL_ENVIRONMENT for entry in ordered):
            continue
        for entry in ordered:
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder:
                if entry.name not in ALWAYS_SKIPPED and not ignore.excludes(entry.path, is_folder=True):
                    pending.append((os.path.normpath(entry.path), ignore.inside(entry.path)))
            elif (
                entry.name.lower().endswith(endings)
                and not entry.is_dir()
                and not ignore.excludes(entry.path, is_folder=False)
            ):
                pending.append((os.path.normpath(entry.path), None))
    return targets


def read(target: Target) -> SourceText:
    """The text of ``target``. Raises `InputError` where it is not a regular file of UTF-8 text that may be read, or too large."""
    if target.path is not None:
        return read_path(target.path, target.name, LARGEST_TEXT)
    data = sys.stdin.buffer.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise InputError(f"{target.name} is too large: at most {LARGEST_TEXT // 1_000_000} MB are read.")
    return decode(data, target.name)


def write(path: Path, source: SourceText) -> None:
    """Replace the file at ``path`` in one step, keeping its mode; a link stays a link. Raises `InputError`."""
    final = Path(os.path.realpath(path))
    try:
        mode = stat.S_IMODE(final.stat().st_mode)
    except OSError as problem:
        raise InputError(f"{path} can't be written: {reason_of(problem)}.") from None
    _replace(path, final, _encoded(source), mode)


def write_bytes(path: Path, data: bytes | Iterable[bytes], *, through_links: bool = True) -> None:
    """Write the file at ``path`` in one step, also of ``data`` that come part after part, whether it is there or not; one that
    is keeps its mode. Raises `InputError`.

    What the user has named is written where a link leads, and a device or a pipe, such as ``/dev/null``, takes what is written.
    What Merrow has named is not (``through_links``): the file takes the place of the link, which somebody else may have laid
    there.
    """
    if through_links and _takes_what_comes(path):
        try:
            with path.open("wb") as stream:
                stream.writelines([data] if isinstance(data, bytes) else data)
        except OSError as problem:
            raise InputError(f"{path} can't be written: {reason_of(problem)}.") from None
        return
    final = Path(os.path.realpath(path) if through_links else os.path.abspath(path))  # noqa: PTH100 (links stay)
    try:
        mode = stat.S_IMODE(final.lstat().st_mode)
        if stat.S_ISLNK(final.lstat().st_mode):
            raise FileNotFoundError
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    except OSError as problem:
        raise InputError(f"{path} can't be written: {reason_of(problem)}.") from None
    _replace(path, final, data, mode)


def _takes_what_comes(path: Path) -> bool:
    """Whether there is a device or a pipe, in whose place no file may be put."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISFIFO(mode)


def _replace(path: Path, final: Path, data: bytes | Iterable[bytes], mode: int) -> None:
    import tempfile  # brings much with it that reading doesn't need

    temporary: str | None = None
    try:
        if final.is_dir() and not final.is_symlink():
            raise InputError(f"{path} can't be written: it is a folder.")
        if not final.is_symlink() and final.exists() and not os.access(final, os.W_OK):
            raise InputError(f"{path} can't be written: it is read-only.")
        handle, temporary = tempfile.mkstemp(prefix=f".{final.name[:64]}.", dir=final.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.writelines([data] if isinstance(data, bytes) else data)
        Path(temporary).chmod(mode)
        Path(temporary).replace(final)
    except OSError as problem:
        raise InputError(f"{path} can't be written: {reason_of(problem)}.") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def create(path: Path, text: str) -> None:
    """Write a file that is not there yet. Raises `InputError`, also where it is there; half a file does not stay."""
    is_made = False
    try:
        with path.open("xb") as stream:
            is_made = True
            stream.write(text.encode("utf-8", "surrogatepass"))
    except FileExistsError:
        raise InputError(f"{path} is there already and is not written over.") from None
    except OSError as problem:
        if is_made:
            path.unlink(missing_ok=True)
        raise InputError(f"{path} can't be written: {reason_of(problem)}.") from None


@contextlib.contextmanager
def created(texts: Iterable[tuple[Path, str]]) -> Iterator[list[Path]]:
    """Write files of which none is there yet; where one can't be written, or the block raises `InputError`, none stays.

    Raises `InputError`.
    """
    made: list[Path] = []
    try:
        for path, text in texts:
            create(path, text)
            made.append(path)
        yield made
    except InputError:
        for path in made:
            path.unlink(missing_ok=True)
        raise


def write_stdout(source: SourceText) -> None:
    """Write the text to standard output, byte for byte as a file would have it; made harmless where it is a terminal."""
    if sys.stdout.isatty():
        from merrow_server.rendering.terminal import emit  # the editor extension has the rest of this module without it

        emit(source.text, nl=False)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(_encoded(source))
    sys.stdout.buffer.flush()


def _encoded(source: SourceText) -> bytes:
    return ((_BOM if source.bom else "") + source.text).encode("utf-8", "surrogatepass")
