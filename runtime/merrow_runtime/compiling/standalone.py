"""A program in one file with all of Merrow that it needs: a zip archive that Python runs."""

from __future__ import annotations

import io
import zipapp
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from merrow_runtime.errors import UsageFailure

PROGRAM: Final = "__main__.py"
"""The program's own text in the archive: what Python runs."""
_MERROW = ("merrow_analysis", "merrow_runtime")
_REVISING = "merrow_optimizer"
_LIBRARIES = ("json_repair", "lark", "platformdirs")
"""The packages beside the standard library that a run needs which asks no endpoint. All are pure Python."""
_LEFT_OUT = ("__pycache__", "py.typed", "ide", "pages", "compiling")
"""What no program needs of these packages: for type checkers, for editors, explanations of rules, the compiler."""
_MOST = 10_000_000
_WHEN = (1980, 1, 1, 0, 0, 0)
"""The date of each file: the same program is the same archive."""


def standalone(program: str) -> bytes:
    """The archive of a program: its text as `PROGRAM`, and the packages that it imports.

    With ``--replay`` it needs nothing but Python; for real endpoints ``openai[aiohttp]`` must be installed.
    """
    packages = [*_MERROW, *([_REVISING] if f"from {_REVISING}" in program else []), *_LIBRARIES]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in ((PROGRAM, program.encode()), *_files(packages)):
            info = zipfile.ZipInfo(name, _WHEN)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, content)
    packed.seek(0)
    runnable = io.BytesIO()
    zipapp.create_archive(packed, runnable, "/usr/bin/env python3")
    return runnable.getvalue()


def is_archive(data: bytes) -> bool:
    """Whether the content of a file is an archive, and no text."""
    return zipfile.is_zipfile(io.BytesIO(data))


def program_in(archive: bytes) -> str | None:
    """The text of the program in an archive; None where there is none. Raises `UsageFailure` where it is too large."""
    files = _members(archive, only=PROGRAM)
    text = None if files is None else files.get(PROGRAM)
    return None if text is None else text.decode("utf-8", "replace")


def same_files(first: bytes, second: bytes) -> bool:
    """Whether two archives have the same files, however they are packed."""
    return _members(first) == _members(second)


def _members(archive: bytes, only: str | None = None) -> Mapping[str, bytes] | None:
    members: dict[str, bytes] = {}
    left = 10 * _MOST
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as packed:
            for info in packed.infolist():
                if only is not None and info.filename != only:
                    continue
                with packed.open(info) as file:
                    content = file.read(min(_MOST, left) + 1)
                left -= len(content)
                if len(content) > _MOST or left < 0:
                    raise UsageFailure(f"{info.filename} in the archive is too large.")
                members[info.filename] = content
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error):
        return None
    return members


def _files(packages: list[str]) -> Iterator[tuple[str, bytes]]:
    for package in packages:
        yield from _inside(package, files(package))
        yield from _licences(package)


def _licences(package: str) -> Iterator[tuple[str, bytes]]:
    """The licence that goes with each copy of a package."""
    name = "merrow" if package.startswith("merrow_") else package
    try:
        shipped = distribution(name).files or ()
    except PackageNotFoundError:
        return
    for file in sorted(shipped, key=str):
        if file.name.upper().startswith(("LICENCE", "LICENSE", "COPYING")):
            yield f"licences/{package}/{file.name}", file.read_binary()


def _inside(path: str, folder: Traversable) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name in _LEFT_OUT or entry.name.endswith(".pyc"):
            continue
        inner = f"{path}/{entry.name}"
        if entry.is_dir():
            yield from _inside(inner, entry)
        else:
            yield inner, entry.read_bytes()
