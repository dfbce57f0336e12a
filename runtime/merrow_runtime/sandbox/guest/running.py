"""Generated code as a module: running it and telling what went wrong, without a path or a frame of ours."""

from __future__ import annotations

import sys
from types import CodeType, ModuleType

TYPE_CHECKING = False  # what is imported here, each process of the sandbox would take time for
if TYPE_CHECKING:
    from typing import Any

#: Longer texts of errors are cut in the middle: characters.
MAX_TRACEBACK, MAX_MESSAGE = 8000, 2000


_sources: dict[str, str] = {}


def cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    half = length // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def module(name: str, file: str, code: str) -> tuple[ModuleType, CodeType]:
    """A module for the code, known to `sys.modules` (dataclasses and typing look there), and its compiled form.

    Raises:
        SyntaxError, ValueError: as `compile` does.
    """
    made = ModuleType(name)
    made.__file__ = file
    sys.modules[name] = made
    _sources[file] = code
    return made, compile(code, file, "exec", dont_inherit=True)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - the code's own class may do anything here
        return ""


def sentence(error: BaseException) -> str:
    """`ValueError: the text`, as the last line of a traceback."""
    name = type(error).__name__
    try:
        # Imported here and below, since most code raises nothing and its process should start fast. The import fails, too, where
        # the code has used up all descriptors.
        import traceback

        text = "".join(traceback.format_exception_only(type(error), error)).strip()
    except BaseException:  # noqa: BLE001
        text = f"{name}: {_message(error)}"
    if isinstance(error, SyntaxError):
        text = f"{name}: {error.msg} ({error.filename}, line {error.lineno})"
    return cut(text, MAX_MESSAGE)


def trace(error: BaseException, files: tuple[str, ...]) -> str:
    """The traceback from the first frame in one of some files on; frames of this machinery are left out."""
    place = error.__traceback__
    while place is not None and place.tb_frame.f_code.co_filename not in files:
        place = place.tb_next
    try:
        import linecache
        import traceback

        for file, code in _sources.items():
            linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        shown = traceback.TracebackException(type(error), error, place, capture_locals=False)
        for part in (shown, shown.__cause__, shown.__context__):
            if part is not None:
                part.stack = traceback.StackSummary.from_list(
                    [f for f in part.stack if "merrow_runtime" not in f.filename]
                )
        text = "".join(shown.format())
    except BaseException:  # noqa: BLE001
        text = sentence(error)
    return cut(text, MAX_TRACEBACK)


def outcome(error: BaseException) -> str:
    return "memory" if isinstance(error, MemoryError) else "error"


def report(error: BaseException, files: tuple[str, ...]) -> dict[str, Any]:
    """An error as it travels to the host."""
    return {"outcome": outcome(error), "error": sentence(error), "traceback": trace(error, files)}
