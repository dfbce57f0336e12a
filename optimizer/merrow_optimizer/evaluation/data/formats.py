"""Files of records: JSON Lines, a JSON array, CSV. A record is an object with the line at which it begins."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from merrow_optimizer.evaluation.data.csv_marks import REPORT, unmarked
from merrow_optimizer.evaluation.data.names import shipped_names
from merrow_optimizer.evaluation.data.problems import Collector

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


def read_records(problems: Collector) -> list[DataRecord]:
    """All records of a file, in its order. What can't be read is added to ``problems``."""
    text = _text(problems)
    if text is None:
        return []
    before = len(problems.found)
    match problems.file.suffix.lower():
        case ".csv":
            records = list(_of_csv(text, problems))
        case ".json":
            records = list(_of_array(text, problems))
        case ".jsonl" | ".ndjson":
            records = list(_of_lines(text, problems))
        case suffix:
            problems.add(
                f"Files named *{suffix} can't be read as data; use .jsonl (an object a line), .json (an array) or .csv."
                if suffix
                else "The file's name has no suffix; call it .jsonl (an object a line), .json (an array) or .csv."
            )
            records = []
    if not records and len(problems.found) == before:
        problems.add("The file has no records.")
    return records


def _text(problems: Collector) -> str | None:
    try:
        data = problems.file.read_bytes()
    except OSError as error:
        known = "" if problems.file.suffix else f" The sets that come with Merrow are {' and '.join(shipped_names())}."
        problems.add(f"The file can't be read: {error.strerror or error}.{known}")
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problems.add("The file isn't UTF-8 text here; save it as UTF-8.", data.count(b"\n", 0, error.start) + 1)
        return None


def _of_lines(text: str, problems: Collector) -> Iterator[DataRecord]:
    for number, ended in enumerate(io.StringIO(text, newline="\n"), 1):
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


def _of_csv(text: str, problems: Collector) -> Iterator[DataRecord]:
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
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
        return "The record can't be read: it is nested too deeply."
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
