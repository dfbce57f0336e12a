"""Reads a cases file: its cases, and every mistake with its place. Never raises, whatever the text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from merrow_analysis.cases.schema import (
    CASE_METRICS,
    CASES,
    DEFAULT_METRIC,
    EXPECTATION_KEYS,
    JUDGE_AT_LEAST,
    NOT,
)
from merrow_analysis.definitions.validation import Path, fragment_at, shown, violations, wanted
from merrow_analysis.definitions.yaml.yaml_text import YamlResult, read_bounded_yaml
from merrow_analysis.suggest import closest
from merrow_analysis.text import Position, Range, Span, split_lines

_MOST_PARTS = 100_000
"""Parts of one value; aliases can make a value far larger than its text."""
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class CasesProblem:
    """A mistake: a sentence, its place, and where a word is misspelled the one that was probably meant."""

    message: str
    span: Span
    near: str | None = None


@dataclass(frozen=True, slots=True)
class GivenInput:
    """What a case gives to an input: a value, or the path of a text file. ``name`` is as it is written, at ``name_span``."""

    name: str
    value: Any
    file: str | None
    name_span: Span
    span: Span


@dataclass(frozen=True, slots=True)
class Expectation:
    """What an output must be: ``value`` is what follows the metric's name; with a ``field`` what that field of it must be. Where
    no metric is named (``by_type``), the type of the field decides which one it is.
    """

    metric: str
    negated: bool
    value: Any
    options: Mapping[str, Any]
    at_least: float
    output: str | None
    span: Span
    output_span: Span | None = None
    field: str | None = None
    field_span: Span | None = None
    by_type: bool = False

    @property
    def name(self) -> str:
        """The metric, or the field, as the file names it."""
        named = f"{NOT}{self.metric}" if self.negated else self.metric
        if self.field is None:
            return named
        return self.field if self.by_type else f"{self.field} {named}"


@dataclass(frozen=True, slots=True)
class Case:
    """One case. ``span`` is where its id is written; ``limit_spans`` has the places of ``max_cost`` and ``max_seconds``."""

    id: str
    span: Span
    inputs: tuple[GivenInput, ...] = ()
    expect: tuple[Expectation, ...] = ()
    repeat: int = 1
    min_pass: int = 1
    tags: tuple[str, ...] = ()
    xfail: str | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    limit_spans: Mapping[str, Span] = field(default_factory=dict)
    answers: Mapping[str, Any] = field(default_factory=dict)
    """What people answer, by the nodes that ask."""


@dataclass(frozen=True, slots=True)
class CasesFile:
    """A cases file as read: the cases that can be understood, and what is wrong."""

    text: str
    cases: tuple[Case, ...]
    problems: tuple[CasesProblem, ...]
    _starts: list[int] = field(repr=False)

    def range(self, span: Span) -> Range:
        """A span as a range; of one over several lines only its first."""
        start, end = span
        end = max(start, end)
        line = bisect_right(self._starts, start) - 1
        last = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        content = self.text[start : min(end, last)].rstrip("\r\n")
        return Range(
            Position(line, start - self._starts[line]), Position(line, start - self._starts[line] + len(content))
        )


def read_cases(text: str) -> CasesFile:
    """Read the text of a cases file."""
    starts = [0]
    for line in split_lines(text):
        starts.append(starts[-1] + len(line))
    result = read_bounded_yaml(text)
    if result.error is not None:
        place = result.error.offset
        problem = CasesProblem(f"This is not valid YAML: {result.error.message}", (place, min(place + 1, len(text))))
        return CasesFile(text, (), (problem,), starts)
    reader = _CasesReader(text, result)
    return CasesFile(text, tuple(reader.cases()), tuple(reader.problems), starts)


class _CasesReader:
    def __init__(self, text: str, result: YamlResult) -> None:
        self._text = text
        self._result = result
        self.problems: list[CasesProblem] = []
        self._bad: set[Path] = set()

    def cases(self) -> list[Case]:
        value = self._result.value
        if not isinstance(value, dict) or "cases" not in value:
            first = len(self._text) - len(self._text.lstrip())
            what = "The file has no cases" if value is None else "A cases file must be a mapping with `cases:`"
            if isinstance(value, dict):
                what = "`cases:` is missing"
                self._check_form(value, without_cases=True)
            self.problems.append(
                CasesProblem(f"{what}; list them below `cases:`, each with an `id:`.", (first, first + 1))
            )
            return []
        self._check_form(value)
        listed = value["cases"]
        defaults = value.get("defaults") if ("defaults",) not in self._bad else None
        cases: list[Case] = []
        seen: set[str] = set()
        for number, raw in enumerate(listed if isinstance(listed, list) else []):
            path: Path = ("cases", number)
            if not isinstance(raw, dict) or "id" not in raw or (*path, "id") in self._bad:
                continue
            case = self._case(path, raw, defaults if isinstance(defaults, dict) else {})
            if case.id in seen:
                self.problems.append(
                    CasesProblem(f"There is another case `{_short(case.id)}` above; give each its own id.", case.span)
                )
                continue
            seen.add(case.id)
            cases.append(case)
        self.problems.sort(key=lambda problem: problem.span)
        return cases

    def _check_form(self, value: dict[str, Any], *, without_cases: bool = False) -> None:
        """Findings about keys that mean nothing, and values of the wrong kind."""
        for wrong in violations(CASES, value):
            path = wrong.path
            if without_cases and wrong.kind == "wrong" and not path:
                continue
            self._bad.add(path)
            if wrong.kind == "unknown":
                self._unknown(path, wrong.known)
            else:
                self._wrong(path, value)

    def _unknown(self, path: Path, known: tuple[str, ...]) -> None:
        key = str(path[-1])
        near = closest(key, known)
        listed = ", ".join(f"`{name}`" for name in known if name not in EXPECTATION_KEYS or name in CASE_METRICS)
        hint = f"did you mean `{near}`?" if near else f"the keys here are {listed}."
        self.problems.append(CasesProblem(f"The key `{_short(key)}` means nothing here; {hint}", self._key(path), near))

    def _wrong(self, path: Path, value: Any) -> None:
        fragment: Mapping[str, Any] = CASES
        for step in path:
            value = value[step]
            fragment = fragment_at(fragment, step)
        if path[:1] == ("cases",) and len(path) == 2:
            self.problems.append(CasesProblem("A case must be a mapping with an `id:`.", self._value(path)))
            return
        what = f"`{path[-1]}`" if path and isinstance(path[-1], str) else "This"
        words = fragment.get("enum")
        near = closest(value, words) if words and isinstance(value, str) else None
        text = f"{what} must be {wanted(fragment)}, not {shown(value)}"
        self.problems.append(
            CasesProblem(f"{text}; did you mean `{near}`?" if near else f"{text}.", self._value(path), near)
        )

    def _case(self, path: Path, raw: dict[str, Any], defaults: dict[str, Any]) -> Case:
        def value_of(key: str, otherwise: Any) -> Any:
            if key in raw and (*path, key) not in self._bad:
                return raw[key]
            return defaults[key] if key in defaults and ("defaults", key) not in self._bad else otherwise

        def place(key: str) -> Span:
            return self._value((*path, key)) if key in raw else self._value(("defaults", key))

        repeat = int(value_of("repeat", 1))
        min_pass = int(value_of("min_pass", repeat))
        if min_pass > repeat:
            self.problems.append(
                CasesProblem(
                    f"`min_pass` is {min_pass}, but the case is repeated {repeat} times at most.", place("min_pass")
                )
            )
        tags = value_of("tags", [])
        xfail = value_of("xfail", False)
        limits = {key: place(key) for key in ("max_cost", "max_seconds") if value_of(key, None) is not None}
        metric = defaults.get("metric")
        default_metric = metric if isinstance(metric, str) and metric in CASE_METRICS else DEFAULT_METRIC
        name = " ".join(str(raw["id"]).split())
        return Case(
            name,
            self._value((*path, "id")),
            tuple(self._inputs(path, raw, defaults)),
            tuple(self._expect((*path, "expect"), raw.get("expect"), default_metric)),
            repeat,
            min_pass,
            tuple(dict.fromkeys(tag for tag in ([tags] if isinstance(tags, str) else tags) if isinstance(tag, str))),
            (xfail if isinstance(xfail, str) else "known to fail") if xfail else None,
            value_of("max_cost", None),
            value_of("max_seconds", None),
            limits,
            self._answers(path, raw, defaults),
        )

    def _answers(self, path: Path, raw: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
        """What people answer in a case, and what the defaults say of others."""
        answers: dict[str, Any] = {}
        for around, given in ((("defaults",), defaults.get("answers")), (path, raw.get("answers"))):
            if isinstance(given, dict) and (*around, "answers") not in self._bad:
                answers.update({name: self._plain((*around, "answers", name), given[name]) for name in given})
        return answers

    def _inputs(self, path: Path, raw: dict[str, Any], defaults: dict[str, Any]) -> Iterator[GivenInput]:
        """The inputs of a case: its own, then those of the defaults that it does not give."""
        given: set[str] = set()
        for around, inputs in ((path, raw.get("inputs")), (("defaults",), defaults.get("inputs"))):
            if not isinstance(inputs, dict) or (*around, "inputs") in self._bad:
                continue
            names = list(inputs)
            for name in names:
                if name.casefold() in given:
                    continue
                place: Path = (*around, "inputs", name)
                value = inputs[name]
                is_file = isinstance(value, dict) and value.keys() == {"file"} and isinstance(value["file"], str)
                kept = None if is_file else self._plain(place, value)
                yield GivenInput(name, kept, value["file"] if is_file else None, self._key(place), self._value(place))
            given.update(name.casefold() for name in names)

    def _expect(self, path: Path, written: Any, default_metric: str) -> Iterator[Expectation]:
        if written is None or path in self._bad:
            return
        each = enumerate(written) if isinstance(written, list) else [(-1, written)]
        for number, entry in each:
            place = path if number < 0 else (*path, number)
            if place in self._bad:
                continue
            if isinstance(entry, dict):
                yield from self._of_mapping(place, entry)
            elif isinstance(entry, str | int | float):
                yield Expectation(default_metric, False, entry, {}, _at_least(default_metric), None, self._value(place))

    def _of_mapping(self, path: Path, raw: dict[str, Any]) -> Iterator[Expectation]:
        """What a mapping expects: by one metric, or of fields of the output."""
        fields = [key for key in raw if key not in EXPECTATION_KEYS]
        if not fields or any(key not in (*fields, "output") for key in raw):
            for key in fields:
                self._unknown((*path, key), tuple(EXPECTATION_KEYS))
            expectation = self._expectation(path, {key: raw[key] for key in raw if key not in fields})
            if expectation is not None and not fields:
                yield expectation
            return
        if (*path, "output") in self._bad:
            return
        output = raw.get("output")
        output_span = self._value((*path, "output")) if "output" in raw else None
        for name in fields:
            place, value = (*path, name), raw[name]
            if place in self._bad:
                continue
            if isinstance(value, dict) and any(key.removeprefix(NOT) in CASE_METRICS for key in value):
                of_field = self._expectation(place, value)
            else:
                span = (self._key(place)[0], self._value(place)[1])
                of_field = Expectation("exact", False, self._plain(place, value), {}, 1.0, None, span, by_type=True)
            if of_field is not None:
                yield replace(
                    of_field,
                    field=name,
                    field_span=self._key(place),
                    output=output or of_field.output,
                    output_span=output_span or of_field.output_span,
                )

    def _expectation(self, path: Path, raw: dict[str, Any]) -> Expectation | None:
        if any((*path, key) in self._bad for key in raw):
            return None
        names = [key for key in raw if key.removeprefix(NOT) in CASE_METRICS]
        if len(names) != 1:
            what = "names no metric" if not names else f"names {len(names)} metrics: {', '.join(names)}"
            hint = "name one, such as `contains:`" if not names else "write each as an item of its own below `expect:`"
            self.problems.append(CasesProblem(f"The expectation {what}; {hint}.", self._value(path)))
            return None
        name = names[0]
        metric = name.removeprefix(NOT)
        allowed = CASE_METRICS[metric].options
        options = {key: raw[key] for key in raw if key not in (name, "at_least", "output")}
        for key in options:
            if key not in allowed:
                has = (
                    f"its options are {', '.join(f'`{option}`' for option in allowed)}"
                    if allowed
                    else "it has no options"
                )
                self.problems.append(
                    CasesProblem(f"The metric {metric} has no option `{key}`; {has}.", self._key((*path, key)))
                )
        place = (*path, name)
        return Expectation(
            metric,
            name != metric,
            self._plain(place, raw[name]),
            {key: self._plain((*path, key), value) for key, value in options.items() if key in allowed},
            float(raw.get("at_least", _at_least(metric))),
            raw.get("output"),
            (self._key(place)[0], self._value(place)[1]),
            self._value((*path, "output")) if "output" in raw else None,
        )

    def _plain(self, path: Path, value: Any) -> Any:
        """A value of its own, without what aliases share; None, with a finding, for one that is too large."""
        left = _MOST_PARTS

        def copied(raw: Any, depth: int) -> Any:
            nonlocal left
            left -= 1
            if left < 0 or depth > _DEEPEST:
                raise OverflowError
            if isinstance(raw, dict):
                return {key: copied(part, depth + 1) for key, part in raw.items()}
            return [copied(part, depth + 1) for part in raw] if isinstance(raw, list) else raw

        try:
            return copied(value, 0)
        except OverflowError:
            self.problems.append(CasesProblem("This value is too large; move it to a file.", self._value(path)))
            return None

    def _key(self, path: Path) -> Span:
        places = self._result.places(path)
        return (0, 1) if places is None else places[0]

    def _value(self, path: Path) -> Span:
        places = self._result.places(path)
        if places is None:
            return (0, 1)
        return places[1] if places[1][1] > places[1][0] else places[0]


def _at_least(metric: str) -> float:
    return JUDGE_AT_LEAST if metric == "judge" else 1.0


def _short(word: str) -> str:
    return word if len(word) <= 60 else f"{word[:59]}…"
