"""Files in answers: fenced blocks that say a file's name, as models write them.

The name is in the line that opens the fence (`` ```html index.html ``, `` ```python file="src/app.py" ``), or alone on the line
above it, as a heading, bold, in backticks or after ``File:``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from merrow_runtime.operators.formats.fences import fences, framed

_GIVEN = re.compile(r"(?:file|filename|path|title|name)\s*[=:]\s*(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE)
_LANGUAGE_AND_NAME = re.compile(r"\w[\w+#-]*:(\S+)")
_ABOVE = re.compile(r"(?:#{1,6}\s+)?(?:file(?:\s*name)?\s*[:=]\s*)?(.*?)\s*:?", re.IGNORECASE)
_LOOKS_LIKE_FILE = re.compile(
    r"[\w.@+-]+(?:/[\w.@+-]+)*\.[\w+-]*[A-Za-z][\w+-]*|(?:[\w.@+-]+/)+[\w.@+-]+|Dockerfile|Makefile"
)
_FORBIDDEN = frozenset('<>:"|?*\\`')
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The Unicode categories of what nobody sees in a name: what drives terminals, turns texts around, or can't be written at all."""
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that an answer holds. ``path`` is relative and leads to no place above; its parts are joined by ``/``."""

    path: str
    text: str
    language: str = ""


def files_in(texts: Iterable[str]) -> list[NamedFile]:
    """The files in some texts, in their order. Blocks without a name are passed over.

    Raises ValueError, with a sentence, where a name leads outside or occurs twice, and where a fence is not closed.
    """
    files: dict[str, NamedFile] = {}
    for text in texts:
        for block in fences(text):
            name = _name(block.info, block.above)
            if name is None:
                continue
            path = _checked(name)
            if not block.closed:
                raise ValueError(f"The file `{path}` is cut off: its fenced block is not closed.")
            if path.casefold() in files:
                raise ValueError(f"The file `{path}` is given twice; one of its results must leave it out.")
            word = block.language.partition(":")[0]
            is_path = "." in word or "/" in word
            files[path.casefold()] = NamedFile(path, block.text, "" if is_path else word)
    check_folders(file.path for file in files.values())
    return list(files.values())


def check_folders(paths: Iterable[str]) -> None:
    """Raises ValueError, with a sentence, where one of the paths is also the folder of another one."""
    files = {path.casefold(): path for path in paths}
    for folded, path in files.items():
        at = folded.find("/")
        while at != -1:
            above = files.get(folded[:at])
            if above is not None:
                raise ValueError(f"`{above}` is a file and also the folder of `{path}`.")
            at = folded.find("/", at + 1)


def is_reserved(name: str) -> bool:
    """Whether a name is one of Windows' devices, with whatever ending."""
    return _RESERVED.fullmatch(name) is not None


def text_of_files(files: Iterable[NamedFile]) -> str:
    """The files as one text, from which `files_in` reads them again."""
    return "\n\n".join(framed(file.text, f'{file.language or "text"} file="{file.path}"') for file in files)


def _name(info: str, above: str) -> str | None:
    """The file's name that the opening line of a block, or the line above it, says; None where neither does."""
    given = _GIVEN.search(info)
    if given is not None:
        return given[1].strip("\"'")
    words = info.split()
    with_language = _LANGUAGE_AND_NAME.fullmatch(words[0]) if words else None
    if with_language is not None:
        return with_language[1]
    for word in words[:2]:
        if _LOOKS_LIKE_FILE.fullmatch(word) or "/" in word or "\\" in word:
            return word
    match = _ABOVE.fullmatch(above.strip().strip("*_").strip())
    name = "" if match is None else match[1].strip().strip("*`_").strip()
    return name if _LOOKS_LIKE_FILE.fullmatch(name) else None


def _checked(name: str) -> str:
    """The name as a relative path. Raises ValueError where it is none that stays inside."""
    shown = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    parts = [part for part in name.split("/") if part not in ("", ".")]
    wrong = (
        not parts or name.startswith(("/", "~")) or ".." in parts or any(map(_forbidden, name)) or len(name) > _LONGEST
    )
    if wrong or any(is_reserved(part) or part.endswith((" ", ".")) for part in parts):
        harmless = "".join("?" if _forbidden(character) else character for character in shown)
        raise ValueError(f"The file name `{harmless}` leads outside, or no system takes it.")
    return "/".join(parts)


def _forbidden(character: str) -> bool:
    return character in _FORBIDDEN or unicodedata.category(character) in _UNSEEN
