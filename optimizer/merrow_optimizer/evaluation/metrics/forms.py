"""Metrics on the form of an output: a pattern that it has, a JSON Schema that it meets. Both are checked in a `MetricWorker`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merrow_analysis.bounded.patterns import PatternError, check_pattern
from merrow_analysis.bounded.schema_forms import problem_of_schema
from merrow_optimizer.evaluation.data.problems import DataError
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric, golds_of, right, text_of, wrong
from merrow_optimizer.evaluation.metrics.worker import MetricWorker
from merrow_optimizer.evaluation.scores import InvalidItemError, Score
from merrow_runtime.operators.formats.fences import fences

_LONGEST = 1_000_000
_TOO_LONG = "the output is longer than a million characters"


class Regex(BaseMetric):
    """The output has a text that the pattern matches (Python's `re`): the option ``pattern``, else the gold of each item."""

    name = "regex"

    def __init__(self, pattern: str | None = None) -> None:
        super().__init__({} if pattern is None else {"pattern": pattern})
        if pattern is not None and (why := _bad_pattern(pattern)):
            raise DataError.of(f"The pattern is wrong: {why}.", field="pattern")
        self._pattern = pattern
        self.needs_gold = pattern is None
        self._worker = MetricWorker("patterns")

    def fault(self, item: Item) -> str | None:
        if self._pattern is not None:
            return None
        golds = golds_of(item.gold)
        whys = [_bad_pattern(gold) for gold in golds]
        why = next((why for why in whys if why), None)
        return f"the gold pattern is wrong: {why}" if why else None if golds else "there is no gold pattern"

    async def score(self, item: Item, output: Any) -> Score:
        text = text_of(output)
        if len(text) > _LONGEST:
            return wrong(text, _TOO_LONG)
        for pattern in golds_of(item.gold) if self._pattern is None else [self._pattern]:
            answer = await self._worker.ask({"pattern": pattern, "text": text})
            if "failed" in answer:
                raise InvalidItemError(answer["failed"])
            if answer["found"] is not None:
                return right(answer["found"], f"matches {pattern}")
        return wrong(text, "doesn't match the pattern")

    async def close(self) -> None:
        await self._worker.close()


def _bad_pattern(pattern: object) -> str | None:
    if not isinstance(pattern, str):
        return "it must be a text"
    try:
        check_pattern(pattern)
    except PatternError as error:
        return str(error)
    return None


class Schema(BaseMetric):
    """The output is JSON, alone or in one fence, that meets a schema.

    The schema is the option ``schema``, an object or a file, else the gold of each item.
    """

    name = "json-schema"

    def __init__(self, schema: Mapping[str, Any] | str | Path | None = None) -> None:
        form = _schema_in(Path(schema)) if isinstance(schema, str | Path) else schema
        super().__init__({} if form is None else {"schema": form})
        if form is not None and (why := _bad_schema(form)):
            raise DataError.of(f"The schema is wrong: {why}.", field="schema")
        self._schema = form
        self.needs_gold = form is None
        self._worker = MetricWorker("schemas")

    def fault(self, item: Item) -> str | None:
        if self._schema is not None:
            return None
        why = _bad_schema(item.gold)
        return f"the gold schema is wrong: {why}" if why else None

    async def score(self, item: Item, output: Any) -> Score:
        text = text_of(output)
        if len(text) > _LONGEST:
            return wrong(text, _TOO_LONG)
        if isinstance(output, str):
            try:
                value = json.loads(_without_fence(text), parse_constant=_refuse)
                json.dumps(value)
            except RecursionError:
                return wrong(text, "the JSON is nested too deeply")
            except ValueError as error:
                return wrong(text, f"not JSON: {error}")
        else:
            value = output
        answer = await self._worker.ask({"schema": item.gold if self._schema is None else self._schema, "value": value})
        if "failed" in answer:
            raise InvalidItemError(answer["failed"])
        if answer["error"] is None:
            return right(text, "meets the schema")
        return wrong(text, f"{answer['place']}: {answer['error']}")

    async def close(self) -> None:
        await self._worker.close()


def _without_fence(text: str) -> str:
    blocks = fences(text)
    return blocks[0].text if len(blocks) == 1 else text


def _refuse(name: str) -> object:
    raise ValueError(f"JSON has no {name}")


def _schema_in(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise DataError.of(f"The schema can't be read: {error.strerror or error}.", file, field="schema") from None
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise DataError.of(f"The schema isn't JSON: {error}.", file, line, "schema") from None


def _bad_schema(schema: object) -> str | None:
    if not isinstance(schema, dict):
        return "it must be an object"
    problem = problem_of_schema(schema)
    if problem is not None:
        return f"{problem.place}: {problem.message}"
    try:
        references = list(_references(schema))
    except RecursionError:
        return "it is nested too deeply"
    outside = next((each for each in references if not each.startswith("#")), None)
    return f"it refers to {outside[:100]!r}, and nothing is fetched; write `#/...`" if outside else None


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [each for key, each in value.items() if key in ("$ref", "$dynamicRef") and isinstance(each, str)]
        return [*own, *(reference for each in value.values() for reference in _references(each))]
    return [reference for each in value for reference in _references(each)] if isinstance(value, list) else []
