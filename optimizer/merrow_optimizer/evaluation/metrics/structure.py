r"""Answers in LaTeX: what kind each is, and whether two are equal as far as text, numbers and structure decide it.

Kinds come first: a pair is not a set, and an equation not a number. What only algebra can decide is left to a function that the
caller passes in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from merrow_optimizer.evaluation.metrics.amounts import Amount, amount_of, equal

Decide = Callable[[str, str], "bool | None"]
"""Whether two expressions are equal; None: undecided."""

_MOST_PARTS = 20
_LONGEST_REPEATING = 200
_DEEPEST = 5
_WORDS = re.compile(r"\\(?:text|textbf|textit|textrm|mbox|mathrm|mathbf|mathit)\s*\{([^{}]*)\}")
_UNIT = re.compile(
    r"(?<=[0-9}])\s*(?:\\[a-z]*space\s*)?\\(?:text|mbox|mathrm|textrm)\s*\{\s*[A-Za-z. ]*\s*\}(?:\^\{?[23]\}?)?$"
)
_PLAIN_UNIT = re.compile(r"^([-+]?[0-9][0-9.,/]*)\s+[a-z]{2,}(?:\s+[a-z]+)*$")
_SPACES = re.compile(r"(?<!\\)\\[!,;: ]|\\q?quad|~|\\displaystyle|\\limits")
_DEGREES = re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\degree")
_IN_DEGREES = re.compile(rf"([0-9]+)\s*(?:{_DEGREES.pattern})")
_TRIGONOMETRIC = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)(?![a-z])")
_REPEATING = re.compile(r"([-+]?)([0-9]*)\.([0-9]*)\\overline\{?([0-9]+)\}?")
_FRACTION = re.compile(r"(-?)\\frac(?:\{(-?[0-9]+)\}|([0-9]))\s*(?:\{([0-9]+)\}|([0-9]))")
_IN_BASE = re.compile(r"([0-9A-Za-z]+)_\{?([0-9]+)\}?")
_ASSIGNED = re.compile(r"[A-Za-z](?:\([A-Za-z]\)|_\{?\w+\}?)?\s*(?:=|\\in(?![a-z]))\s*([^=<>]+)")
_RELATION = re.compile(r"=|<|>|\\(?:le|ge|leq|geq|ne|neq|lt|gt|in|equiv|approx)(?![a-z])")
_PLUS_MINUS = re.compile(r"\\pm(?![a-z])")
_CLOSING = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class AnswerShape:
    """What an answer is made of. ``brackets`` are those of an ordered answer (a pair, an interval); ``parts`` are texts."""

    kind: str
    parts: tuple[str, ...]
    brackets: str = ""


def normal(text: str) -> str:
    """An answer in one spelling: without delimiters, spacing commands, sizes of brackets, degrees, units of a number."""
    text = text.strip().strip("$").strip()
    for opening, closing in (("\\(", "\\)"), ("\\[", "\\]")):
        if text.startswith(opening) and text.endswith(closing):
            text = text[2:-2].strip()
    text = text.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").replace("\\cfrac", "\\frac")
    text = re.sub(r"\\(?:left|right|[bB]igg?[lr]?)(?=[\s()\[\]|.\\])", "", text)
    text = text.replace("{,}", ",").replace(",\\!", ",").replace("\\$", "").replace("$", "").replace("\u2212", "-")
    text = _SPACES.sub(" ", text)
    if _TRIGONOMETRIC.search(text):
        text = _IN_DEGREES.sub(r"(\\frac{\1\\pi}{180})", text)
    text = _DEGREES.sub("", text)
    text = " ".join(text.split()).rstrip(".").strip()
    text = _UNIT.sub("", text)
    plain = _PLAIN_UNIT.match(text)
    text = (plain[1] if plain else text).strip()
    return text[1:-1].strip() if text.startswith("{") and text.find("}") == len(text) - 1 else text


def number_of(text: str) -> Amount | None:
    r"""The number that a normal text is, also as ``\frac{1}{2}`` or ``0.\overline{3}``; None where it is something else."""
    text = text.replace(" ", "")
    repeating = _REPEATING.fullmatch(text)
    if repeating is not None and len(text) <= _LONGEST_REPEATING:
        sign, whole, once, again = repeating.groups()
        periods = int(whole + once + again) - int(whole + once or "0")
        return amount_of(f"{sign}{periods}/{10 ** len(once) * (10 ** len(again) - 1)}")
    match = _FRACTION.fullmatch(text)
    if match is not None:
        above, below = match[2] or match[3], match[4] or match[5]
        sign = "-" if (match[1] == "-") != above.startswith("-") else ""
        text = f"{sign}{above.lstrip('-')}/{below}"
    return amount_of(text)


def shape_of(text: str) -> AnswerShape:
    """What a normal text is."""
    if text[:1] in _CLOSING and text[-1:] in (")", "]") and _closes_at_end(text):
        parts = _split(text[1:-1])
        if len(parts) > 1:
            return AnswerShape("ordered", tuple(parts), text[0] + text[-1])
    if text.startswith("\\{") and text.endswith("\\}") and "\\}" not in text[2:-2]:
        return AnswerShape("set", tuple(_split(text[2:-2])))
    if _IN_BASE.fullmatch(text):
        return AnswerShape("in a base", (text,))
    if re.fullmatch(r"[0-9]+(?::[0-9]+)+", text.replace(" ", "")):
        return AnswerShape("ratio", (text.replace(" ", ""),))
    bare = _WORDS.sub("", text)
    if _WORDS.search(text) and not re.search(r"[0-9A-Za-z]", bare):
        return AnswerShape("words", (_folded(text),))
    if number_of(text) is not None:
        return AnswerShape("number", (text,))
    if _RELATION.search(text):
        return AnswerShape("relation", (text,))
    parts = _split(text)
    if len(parts) > 1:
        return AnswerShape("set", tuple(parts))
    if len(_PLUS_MINUS.findall(text)) == 1:
        return AnswerShape("set", (_PLUS_MINUS.sub("+", text), _PLUS_MINUS.sub("-", text)))
    return AnswerShape("expression", (text,))


def compare(gold: str, answer: str, decide: Decide | None = None, depth: int = 0) -> bool | None:
    """Whether two answers are equal; None where only algebra can tell and ``decide`` is not given or can't."""
    gold, answer = normal(gold), normal(answer)
    if gold.replace(" ", "") == answer.replace(" ", ""):
        return True
    expected, other = shape_of(gold), shape_of(answer)
    if "words" in (expected.kind, other.kind):
        return _folded(gold) == _folded(answer)
    if "relation" in (expected.kind, other.kind) and expected.kind != other.kind:
        values = [match[1] for text in (gold, answer) if (match := _ASSIGNED.fullmatch(text))]
        if len(values) != 1 or depth >= _DEEPEST:
            return False
        rest = answer if expected.kind == "relation" else gold
        return compare(values[0], rest, decide, depth + 1)
    if expected.kind == other.kind == "number":
        amounts = number_of(gold), number_of(answer)
        return amounts[0] is not None and amounts[1] is not None and equal(amounts[0], amounts[1])
    structured = {"ordered", "set", "ratio", "in a base"}
    if expected.kind != other.kind and (expected.kind in structured or other.kind in structured):
        return False
    if expected.kind in ("ratio", "in a base"):
        return _in_one_spelling(gold) == _in_one_spelling(answer)
    if expected.kind in ("ordered", "set"):
        return _compare_parts(expected, other, decide, depth)
    return None if decide is None else decide(gold, answer)


def _compare_parts(gold: AnswerShape, answer: AnswerShape, decide: Decide | None, depth: int) -> bool | None:
    if len(gold.parts) != len(answer.parts) or gold.brackets != answer.brackets:
        return False
    if len(gold.parts) > _MOST_PARTS or depth >= _DEEPEST:
        return gold.parts == answer.parts
    if gold.kind == "ordered":
        in_order = [
            compare(part, other, decide, depth + 1) for part, other in zip(gold.parts, answer.parts, strict=True)
        ]
        return False if False in in_order else None if None in in_order else True
    left = list(answer.parts)
    undecided = False
    for part in gold.parts:
        verdicts = [compare(part, other, decide, depth + 1) for other in left]
        if True in verdicts:
            left.pop(verdicts.index(True))
        elif None in verdicts:
            undecided = True
        else:
            return False
    return None if undecided else True


def _split(text: str) -> list[str]:
    """The parts between commas outside all brackets. A comma between groups of digits (10,000) divides nothing."""
    if number_of(text) is not None:
        return [text]
    parts, depth, start = [], 0, 0
    for place, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    parts = [part for each in parts for part in re.split(r"\\text\s*\{\s*(?:and|or)\s*\}|\s(?:and|or)\s", each)]
    return [part.strip() for part in parts if part.strip()]


def _closes_at_end(text: str) -> bool:
    """Whether the first bracket is closed by the last one."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if depth == 0:
            return place == len(text) - 1
    return False


def _folded(text: str) -> str:
    plain = _WORDS.sub(r"\1", text)
    return " ".join(re.sub(r"[^\w]+", " ", plain).split()).casefold()


def _in_one_spelling(text: str) -> str:
    return re.sub(r"[\s{}]", "", text).casefold()
