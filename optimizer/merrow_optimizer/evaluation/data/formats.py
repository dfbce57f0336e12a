"""Files of records: JSON Lines, a JSON array, CSV. A record is an object with the line at which it begins."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

from merrow_optimizer.evaluation.data.csv_marks import REPORT, unmarked
from merrow_optimizer.evaluation.data.names import shipped_names
from merrow_optimizer.evaluation.data.problems import Collector, DataError
from merrow_runtime.provenance import listed

TOO_DEEP = "The record can't be read: it is nested too deeply."
_SPACE = " \t\r\n"
_LONGEST_CELL = min(sys.maxsize, 2**31 - 1)
_MOST_NAMED = 8
_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class DataRecord:
    """The fields of a record, and its first line in the file, from 1. ``is_csv`` tells that each value is a text."""

    fields: dict[str, Any]
    line: int
    is_csv: bool = False


def kind_of(value: object) -> str:
    """What a JSON value is, for a sentence."""
    return _KINDS.get(type(value), "something else")


def read_records(problems: Collector) -> Iterator[DataRecord]:
    """All records of a file, in its order, one after another. What can't be read is added to ``problems``. Raises `DataError`
    where it is no text at all: then nothing else of it counts.
    """
    before = len(problems.found)
    suffix = problems.file.suffix.lower()
    has_any = False
    try:
        with problems.file.open("rb") as file:
            for record in _of(file, suffix, problems):
                has_any = True
                yield record
    except UnicodeDecodeError:
        raise DataError.of(
            "The file isn't UTF-8 text here; save it as UTF-8.", problems.file, _broken_line(problems)
        ) from None
    except OSError as error:
        known = "" if problems.file.suffix else f" The sets that come with Merrow are {listed(shipped_names())}."
        problems.add(f"The file can't be read: {error.strerror or error}.{known}")
    if not has_any and len(problems.found) == before:
        problems.add("The file has no records.")


def _of(file: BinaryIO, suffix: str, problems: Collector) -> Iterator[DataRecord]:
    """The records of an open file, by how it is called."""
    match suffix:
        case ".csv":
            yield from _of_csv(io.TextIOWrapper(file, "utf-8-sig", newline=""), problems)
        case ".json":
            yield from _of_array(file.read().decode("utf-8-sig"), problems)
        case ".jsonl" | ".ndjson":
            yield from _of_lines(io.TextIOWrapper(file, "utf-8-sig", newline="\n"), problems)
        case _:
            file.read().decode("utf-8-sig")
            problems.add(
                f"Files named *{suffix} can't be read as data; use .jsonl (an object a line), .json (an array) or .csv."
                if suffix
                else "The file's name has no suffix; call it .jsonl (an object a line), .json (an array) or .csv."
            )


def _broken_line(problems: Collector) -> int | None:
    """The first line of a file that is not UTF-8; no character goes over the end of a line."""
    with suppress(OSError), problems.file.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


def _of_lines(lines: Iterable[str], problems: Collector) -> Iterator[DataRecord]:
    for number, ended in enumerate(lines, 1):
        line = ended.removesuffix("\n")
        if not line.strip(_SPACE):
            continue
        value = _decoded(line, number, problems)
        if value is not _NOTHING:
            yield from _record(value, number, problems)


def _of_array(text: str, problems: Collector) -> Iterator[DataRecord]:
    place = _skip(text, 0)
    if place == len(text):
        return
    if text[place] != "[":
        problems.add(
            "The file must be a JSON array of objects: `[{...}, {...}]`; name a file with an object a line .jsonl.",
            text.count("\n", 0, place) + 1,
        )
        return
    line, counted = 1, 0
    place = _skip(text, place + 1)
    is_first = True
    while True:
        line, counted = line + text.count("\n", counted, place), place
        if is_first and text[place : place + 1] == "]":
            break
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            problems.add(_why(error), _line_of(error, line))
            return
        yield from _record(value, line, problems) if _is_sound(value, text[place:end], line, problems) else ()
        place, is_first = _skip(text, end), False
        mark = text[place : place + 1]
        if mark == "]":
            break
        if mark != ",":
            problems.add("The array isn't valid JSON: a comma or `]` is missing here.", 1 + text.count("\n", 0, place))
            return
        place = _skip(text, place + 1)
    place = _skip(text, place + 1)
    if place < len(text):
        problems.add("Nothing may follow the array.", 1 + text.count("\n", 0, place))


def _of_csv(lines: Iterable[str], problems: Collector) -> Iterator[DataRecord]:
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        rows = csv.reader(lines, strict=True)
        header: list[str] | None = None
        is_report = False
        begin = 1
        for row in rows:
            line, begin = begin, rows.line_num + 1
            if not row:
                continue
            if header is None:
                header = _header(row, line, problems)
                if header is None:
                    return
                is_report = set(REPORT) <= set(header)
            elif len(row) != len(header):
                problems.add(
                    f"The row has {len(row)} cell{'' if len(row) == 1 else 's'}, the header has {len(header)}.", line
                )
            else:
                texts = map(unmarked, row) if is_report else row
                yield DataRecord(dict(zip(header, texts, strict=True)), line, is_csv=True)
    except csv.Error as error:
        problems.add(f"The row isn't valid CSV: {error}.", begin)
    finally:
        csv.field_size_limit(limit)


def _header(row: list[str], line: int, problems: Collector) -> list[str] | None:
    names = [name.strip() for name in row]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        what = ", ".join(f"`{name}`" if name else "an empty name" for name in twice[:_MOST_NAMED])
        more = len(twice) - _MOST_NAMED
        what += f" and {more:,} more" if more > 0 else ""
        problems.add(f"The header has {what} more than once; give each column a name of its own.", line)
        return None
    return names


_NOTHING = object()


def _refuse(name: str) -> object:
    raise ValueError(f"JSON has no {name}; write null or a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:30]} is too large for a number")
    return number


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python's own words name a setting of Python
        raise ValueError(f"{text[:30]}… has {len(text):,} digits; write it as text") from None


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, parse_int=_whole)


def _decoded(text: str, line: int, problems: Collector) -> Any:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        problems.add(_why(error), line)
        return _NOTHING
    return value if _is_sound(value, text, line, problems) else _NOTHING


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return TOO_DEEP
    if isinstance(error, json.JSONDecodeError):
        return f"This isn't valid JSON: {error.msg} (column {error.colno})."
    return f"This isn't valid JSON: {str(error).rstrip('.')}."


def _line_of(error: Exception, line: int) -> int:
    return error.lineno if isinstance(error, json.JSONDecodeError) else line


def _is_sound(value: object, text: str, line: int, problems: Collector) -> bool:
    """Whether every text of a value is Unicode; JSON can write halves of surrogate pairs, which nothing can store."""
    if "\\ud" not in text and "\\uD" not in text:
        return True
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        problems.add("A text has half of a surrogate pair (`\\ud8..` alone), which is not Unicode; remove it.", line)
        return False
    return True


def _record(value: object, line: int, problems: Collector) -> Iterator[DataRecord]:
    if isinstance(value, dict):
        yield DataRecord(value, line)
    else:
        problems.add(f"A record must be an object with fields; this is {kind_of(value)}.", line)


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place
