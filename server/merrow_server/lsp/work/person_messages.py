"""Questions of runs to people as messages, for clients that have no forms: plain text with an end, and a few buttons."""

from __future__ import annotations

from typing import Any

from merrow_server.rendering.snippet import plain, visible

Json = dict[str, Any]

_MOST_CHOICES = 4
_LONGEST_CHOICE = 60
_LONGEST_QUESTION = 600
_LONGEST_SHOWN = 400
"""Characters of each value that a question is about."""
_MOST_SHOWN = 4
_LONGEST_PROBLEM = 300


def choices(schema: Json) -> dict[str, Json]:
    """The buttons for a question, each with what the form comes to by it; none where it can't be answered by one of up to four,
    or they could be confused.
    """
    from merrow_analysis.people.forms import UnanswerableError, read_form

    try:
        form = read_form(schema)
    except UnanswerableError:
        return {}
    options = form.options
    if form.sole is None or not 1 <= len(options) <= _MOST_CHOICES:
        return {}
    name = form.sole.name
    buttons = {" ".join(visible(label).split()): {name: value} for label, value in options}
    is_clear = len(buttons) == len(options) and all(0 < len(title) <= _LONGEST_CHOICE for title in buttons)
    return buttons if is_clear else {}


def as_message(question: Json) -> str:
    """A question with what it is about, as `merrow_server.jobs.people.find` has it."""
    lines = [f"{_cut(question['visit'], _LONGEST_CHOICE)} of run {question['run']} asks a person:"]
    shown = question["shown"]
    lines += [
        f"{_cut(' '.join(section['title'].split()), _LONGEST_CHOICE)}: {_cut(section['text'], _LONGEST_SHOWN)}"
        for section in shown[:_MOST_SHOWN]
    ]
    if len(shown) > _MOST_SHOWN:
        lines.append(f"... ({len(shown) - _MOST_SHOWN} more values; all of them: merrow answer {question['run']})")
    lines += [f"Not accepted: {_cut(problem, _LONGEST_PROBLEM)}" for problem in question["problems"][:1]]
    lines.append(_cut(question["question"], _LONGEST_QUESTION))
    return "\n".join(lines)


def _cut(text: str, longest: int) -> str:
    shown = plain(str(text))
    return shown if len(shown) <= longest else f"{shown[:longest]}... ({len(shown) - longest:,} more characters)"
