"""The command line of a compiled program."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from merrow_analysis.people.answers import wanted
from merrow_analysis.people.forms import read_form
from merrow_runtime.compiled.asked import ProgramOptions, asking
from merrow_runtime.compiled.lines import missing
from merrow_runtime.compiled.result import Result
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.loop_sentences import exhausted_sentences
from merrow_runtime.options import RunOptions
from merrow_runtime.values import as_text

_LARGEST_INPUT = 50_000_000
_INTERRUPTED = 130


def run_program(function: Callable[..., Coroutine[Any, Any, Result]], about: str | None) -> int:
    """Run the workflow of a function as the command line says; the exit code. Errors are one sentence on standard error."""
    given = _parser(about).parse_args()
    try:
        ask = _ask if sys.stdin.isatty() and sys.stderr.isatty() else None
        asked = ProgramOptions(_options(given), _values(given.input), _tell, ask, given.again)
    except RunFailure as failure:
        return _complain(failure)
    return asyncio.run(_watched(function, asked, fail_on_exhausted=given.fail_on_exhausted))


async def _watched(
    function: Callable[..., Coroutine[Any, Any, Result]], asked: ProgramOptions, *, fail_on_exhausted: bool
) -> int:
    with asking(asked):
        task = asyncio.ensure_future(function(*missing(function)))
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, ValueError):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        result = await task
    except RunFailure as failure:
        return _complain(failure)
    except asyncio.CancelledError:
        return _INTERRUPTED
    for name, value in result.outputs.items():
        if len(result.outputs) > 1:
            _say(name)
        _print(as_text(value))
    for sentence in exhausted_sentences(result.loops, result.exhausted):
        _tell(sentence)
    return 1 if fail_on_exhausted and result.exhausted else 0


def _parser(about: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    add = parser.add_argument
    add("--input", action="append", default=[], metavar="NAME=VALUE", help="An input's value; NAME=@file reads a file.")
    add("--model", help="In place of the workflow's model; nodes that name their own keep it.")
    add("--base-url", metavar="URL", help="The endpoint.")
    add("--concurrency", type=int, metavar="N", help="Calls at the same time.")
    add("--budget-tokens", type=int, metavar="N", help="Stop once this many tokens are used.")
    add("--budget-seconds", type=float, metavar="S", help="Stop after this many seconds.")
    add("--record", metavar="F", help="Write all calls to this file, to replay them.")
    add("--replay", metavar="F", help="Answer all calls from this recording, and from nowhere else.")
    add("--again", action="store_true", help="Begin a new run where one with tools was stopped before its end.")
    add("--seed", type=int, default=0, help="Random seed for shuffles.")
    add("--sandbox", metavar="MEANS", help="Sandbox for generated code. Default: the strongest one available.")
    add(
        "--allow-unsafe-code",
        action="store_true",
        help="Run generated code even if nothing on this machine can isolate it.",
    )
    add(
        "--fail-on-exhausted",
        action="store_true",
        help="Exit with 1 if a Loop stopped because its turns or its budget ran out.",
    )
    return parser


def _options(given: argparse.Namespace) -> RunOptions:
    if given.record is not None and given.record == given.replay:
        raise UsageFailure("--record and --replay can't name the same file.")
    return RunOptions(
        model=given.model,
        base_url=given.base_url,
        concurrency=given.concurrency,
        budget_tokens=given.budget_tokens,
        budget_seconds=given.budget_seconds,
        record=None if given.record is None else Path(given.record),
        replay=None if given.replay is None else Path(given.replay),
        seed=given.seed,
        sandbox=given.sandbox,
        allow_unsafe=given.allow_unsafe_code,
    )


def _values(pairs: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        name = name.strip()
        if not mark or not name:
            raise UsageFailure(f"--input {pair!r} lacks its value; write --input NAME=VALUE or --input NAME=@file.")
        if name in values:
            raise UsageFailure(f"--input {name} is given twice.")
        values[name] = _value(value)
    return values


def _value(value: str) -> str:
    """What is meant by ``@file``, ``@-`` (standard input) or ``@@...``; any other text means itself."""
    if value.startswith("@@") or not value.startswith("@"):
        return value[1:] if value.startswith("@@") else value
    name = value[1:]
    try:
        if name == "-":
            data = sys.stdin.buffer.read()
        else:
            if Path(name).stat().st_size > _LARGEST_INPUT:
                raise UsageFailure(f"{name} is too large: at most {_LARGEST_INPUT // 1_000_000} MB are read.")
            data = Path(name).read_bytes()
        return data.decode("utf-8").removeprefix("\ufeff")
    except OSError as problem:
        raise UsageFailure(f"{name} can't be read: {problem.strerror or problem}.") from None
    except (UnicodeDecodeError, ValueError):
        raise UsageFailure(f"{name} is not UTF-8; save it as UTF-8.") from None


def _ask(node: str, question: Mapping[str, Any]) -> str | None:
    """Put a question to the person at the terminal; what they type, None at the end of input."""
    for section in question.get("shown", ()):
        _say(f"{section['title']}:\n{section['text']}")
    form = read_form(question["schema"])
    field = form.sole
    if field is not None and field.default:
        _say(f"The text to edit:\n{field.default}")
    _say(f"{node} asks: {question['ask']}")
    hint = wanted(field) if field is not None else "JSON with the fields " + ", ".join(one.name for one in form.fields)
    sys.stderr.write("".join(_harmless(f"({hint}) ")))
    sys.stderr.flush()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        typed = sys.stdin.readline()
    except KeyboardInterrupt:
        raise asyncio.CancelledError from None
    finally:
        signal.signal(signal.SIGINT, before)
    return typed.removesuffix("\n") if typed else None


def _complain(failure: RunFailure) -> int:
    _tell(failure.sentence)
    return 2 if isinstance(failure, UsageFailure) else 1


def _tell(sentence: str) -> None:
    _say(f"{Path(sys.argv[0]).name}: {sentence}")


def _say(text: str) -> None:
    """Write to standard error; what would drive a terminal is shown as characters."""
    sys.stderr.write("".join(_harmless(text)) + "\n")


def _print(text: str) -> None:
    """Write to standard output exactly as it is, but on a terminal harmlessly."""
    shown = "".join(_harmless(text)) if sys.stdout.isatty() else text
    sys.stdout.write(shown + "\n")
    sys.stdout.flush()


def _harmless(text: str) -> Iterator[str]:
    for character in text:
        yield character if character.isprintable() or character in "\n\t" else f"\\x{ord(character):02x}"
