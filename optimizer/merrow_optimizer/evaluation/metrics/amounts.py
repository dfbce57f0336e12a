"""Numbers as people and models write them, read exactly, and the decision whether two are equal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

RELATIVE = Fraction(1, 1_000_000)
"""How far two numbers may differ, as a part of the larger one, where one of them is written as a decimal."""

_LONGEST = 1000
"""Characters of a number; arithmetic with longer ones would take long, and no answer needs them."""
_THOUSANDS = r"(?:,|\{,\}|,?\\[,!]|['’\u00a0\u2009\u202f])"
"""What separates thousands: a comma, also as LaTeX writes it, an apostrophe, a space at which no line is broken."""
_PATTERN = (
    r"(?P<sign>[-+\u2212]?)(?:(?<=[-+\u2212])[$€£¥])?"
    rf"(?P<digits>[0-9]{{1,3}}(?:{_THOUSANDS}[0-9]{{3}}){{1,300}}(?![0-9])|[0-9]+|(?=\.[0-9]))(?P<point>\.[0-9]+)?"
    r"(?:[eE](?P<exponent>[-+]?[0-9]{1,3})(?![0-9A-Za-z])"
    r"| ?(?:[×x*·]|\\times|\\cdot) ?10(?:\^|\*\*)\{?(?P<power>[-+\u2212]?[0-9]{1,3})(?![0-9])\}?)?"
    r"(?:/(?P<below>[0-9]+)(?![0-9/]|[.,][0-9]))?(?P<percent> ?\\?%)?"
)
# A number doesn't begin inside another one, and after a word or a number `-` is not its sign: 5-3, x-3. The power of a unit is
# none: 45 cm^2.
_NUMBER = re.compile(rf"(?<![0-9.])(?<![A-Za-z}}]\^)(?<![A-Za-z}}]\^\{{)(?:(?<![\w)])|(?![-+\u2212])){_PATTERN}")
_WHOLE = re.compile(_PATTERN)
_AROUND = " \t\n$€£¥*_`'\""


@dataclass(frozen=True, slots=True)
class Amount:
    """A number as it is written: its exact value, and whether as a decimal or a percentage."""

    value: Fraction
    is_decimal: bool
    is_percentage: bool
    text: str


def amount_of(text: str) -> Amount | None:
    """The number that a text is, but for space, emphasis and a currency sign around it; None where it is more or less."""
    text = text.strip(_AROUND).rstrip(".").strip(_AROUND)
    sign = text[:1] if text[:1] in "-+\u2212" else ""
    text = sign + text[len(sign) :].lstrip(_AROUND)
    if not text or len(text) > _LONGEST:
        return None
    match = _WHOLE.fullmatch(text)
    return None if match is None else _amount(match)


def last_amount(text: str) -> Amount | None:
    """The last number in a text, None where it has none."""
    last = None
    for match in _NUMBER.finditer(text):
        last = match
    return None if last is None else _amount(last)


def equal(gold: Amount, answer: Amount, tolerance: Fraction | None = None) -> bool:
    """Whether two numbers are equal: exactly; within ``tolerance``, if given, as an absolute difference; or within `RELATIVE`
    where one of them is a decimal. Where just one is a percentage, 50% is both 50 and 0.5.
    """
    values = [answer.value]
    if gold.is_percentage != answer.is_percentage:
        values.append(answer.value * 100 if answer.is_percentage else answer.value / 100)
    may_round = tolerance is None and (gold.is_decimal or answer.is_decimal)
    for value in values:
        difference = abs(gold.value - value)
        bound = RELATIVE * max(abs(gold.value), abs(value)) if may_round else (tolerance or Fraction(0))
        if difference <= bound:
            return True
    return False


def _amount(match: re.Match[str]) -> Amount | None:
    parts = match.groupdict()
    if len(match[0]) > _LONGEST or (parts["below"] and not parts["below"].strip("0")):
        return None
    digits = re.sub("[^0-9]", "", parts["digits"]) or "0"
    value = Fraction(f"{digits}{parts['point'] or ''}")
    power = (parts["exponent"] or parts["power"] or "").replace("\u2212", "-")
    if power:
        value *= Fraction(10) ** int(power)
    if parts["below"]:
        value /= int(parts["below"])
    if parts["sign"] in ("-", "\u2212"):
        value = -value
    is_percentage = parts["percent"] is not None
    if is_percentage:
        value /= 100
    return Amount(value, parts["point"] is not None or power != "", is_percentage, match[0].strip())
