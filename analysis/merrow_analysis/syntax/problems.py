"""From the place where the grammar gives up to a sentence at the place where the mistake is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from merrow_analysis.syntax.characters import WHITE_CHARACTERS
from merrow_analysis.syntax.lexer import Delimiter, Lexeme, Lexer, first_word
from merrow_analysis.syntax.meant import Meant, OverLines, read_over_lines
from merrow_analysis.syntax.slips import quotes_missing, slip
from merrow_analysis.syntax.tree import Flaw

_CLOSERS = {
    "[": "]",
    "[[": "]]",
    "[(": ")]",
    "[/": "/] or \\]",
    "[\\": "\\] or /]",
    "(": ")",
    "((": "))",
    "(((": ")))",
    "([": "])",
    "(-": "-)",
    "{": "}",
    "{{": "}}",
    ">": "]",
    "|": "|",
    '"': '"',
    '"`': '`"',
    "@{": "}",
}
_SLANTED = ("[/", "[\\")

_FORMS = {
    "classDef": "classDef name fill:#eee",
    "class": "class A,B name",
    "style": "style A fill:#eee",
    "linkStyle": "linkStyle 0 stroke:#888",
    "subgraph": "subgraph name [Title]",
    "click": 'click A "https://example.org"',
}
"""Statements that begin with a word of Mermaid's own, as they look when they are finished."""


@dataclass(slots=True)
class StatementFailure:
    """Where a statement failed, in offsets of the reduced text; ``resume_after`` is on the last line that belongs to it."""

    flaw: Flaw
    message: str
    start: int
    end: int
    reported: int
    resume_after: int
    kind: Literal["syntax", "lexical"]
    closed: bool = True
    """False where what is looked for to read on was not found in the whole rest of the text."""
    looked: int = 0
    """Up to where the text was looked at besides."""


def explain(lexer: Lexer, first: int, begin: int, lexeme: Lexeme | None, lexical_at: int | None) -> StatementFailure:
    """Say what is wrong with the statement that begins at ``begin``, in a block of lines from ``first`` on.

    ``lexeme`` is the token that does not fit; None with ``lexical_at`` where no token can be read.
    """
    at = lexeme.start if lexeme is not None else lexical_at if lexical_at is not None else len(lexer.text)
    kind: Literal["syntax", "lexical"] = "lexical" if lexeme is None else "syntax"
    over = OverLines(None, 0)
    if lexer.long_strings or lexer.long_texts or any(opened.text in _CLOSERS for opened in lexer.open):
        over = read_over_lines(lexer.text, lexer.text.rfind("\n", 0, begin) + 1)
    failure = None if over.meant is None else _in_long_label(lexer, begin, over.meant, at, over.looked, kind)
    failure = failure or _explain(lexer, first, begin, lexeme, at, kind)
    failure.looked = over.looked
    return failure


def _in_long_label(
    lexer: Lexer, begin: int, meant: Meant, at: int, end: int, kind: Literal["syntax", "lexical"]
) -> StatementFailure | None:
    """What is wrong in a statement with a label of several lines that ends at ``end``; None where the mistake is elsewhere."""
    line_start = lexer.text.rfind("\n", 0, begin) + 1
    texts = [piece for piece in meant.pieces if piece.kind in ("label", "edge label", "title")]
    here = next((piece for piece in texts if piece.span[0] <= at - line_start < piece.span[1]), None)
    if here is None:
        long = (piece for piece in texts if "\n" in lexer.text[slice(*(line_start + place for place in piece.span))])
        here = next(long, None)
    if here is None or at >= end:
        return None
    start, stop = (line_start + place for place in here.span)
    mark = at if start <= at < stop else start
    what = {"label": "label", "title": "title"}.get(here.kind, "text")
    quotes = quotes_missing(lexer.text[start : max(mark, start + 1)], lexer.text[mark : mark + 1], what)
    if quotes is None:
        return None
    shown, after = _visible(lexer.text, mark, mark + 1, begin)
    return StatementFailure(*quotes, shown, after, at, end - 1, kind)


def _explain(
    lexer: Lexer, first: int, begin: int, lexeme: Lexeme | None, at: int, kind: Literal["syntax", "lexical"]
) -> StatementFailure:
    text = lexer.text
    end = lexeme.end if lexeme is not None else min(at + 1, len(text))
    unfinished = _unfinished(lexer, first, begin, lexeme, at)
    if unfinished is not None:
        message, start, stop = unfinished
        return StatementFailure("syntax-error", message, start, stop, at, stop - 1, kind)
    cause = _never_closed(lexer, lexeme, at)
    if cause is not None:
        start, stop = cause.start, cause.start + len(cause.text)
        closer = _CLOSERS.get(cause.text, "")
        if cause.text.startswith('"'):
            message = f"This quote is never closed: add {closer} at the end of the text."
            return StatementFailure("unclosed-quote", message, start, stop, at, stop, kind)
        if cause.text in _SLANTED and "]" in text[stop : _line_end(text, stop)]:
            message = (
                f"{cause.text} opens a slanted box: write a label that begins with {cause.text[1]} in double quotes."
            )
            return StatementFailure("bracket-in-label", message, start, stop, at, stop, kind)
        message = f"This {cause.text} is never closed: add {closer} at the end of the text."
        return StatementFailure("unclosed-bracket", message, start, stop, at, stop, kind)
    line_start = text.rfind("\n", 0, begin) + 1
    comment = text.find("%%", begin, max(end, begin))
    if comment > line_start and "\n" not in text[begin:comment]:
        line_end = _line_end(text, comment)
        message = "A comment needs a line of its own: Mermaid reads what follows %% here as part of the statement."
        return StatementFailure("comment-after-statement", message, comment, line_end, at, line_end, kind)
    told = slip(text, at, any(opened.mode.endswith("edge_text") for opened in lexer.open))
    flaw, message = _describe(lexer, begin, lexeme, at) if told is None else (told.flaw, told.message)
    resume = max(at, begin)
    closed = True
    if lexer.modes and lexer.modes[-1] in ("shape_data", "shape_data_string"):
        close = text.find("}", at)
        closed = close != -1
        if closed:
            resume = close
    elif lexer.modes and lexer.modes[-1].startswith("callback"):
        # A callback's name and arguments run on to the next parenthesis, however far away.
        resume = begin
    start, stop = _visible(text, at, end, begin) if told is None else (told.start, told.end)
    return StatementFailure(flaw, message, start, stop, at, resume, kind, closed)


_ARROW_AT_END = re.compile(r"(?:[xo<]?(?:--+[-xo>]|==+[=xo>]|-?\.+-[xo>]?)|~~~+)(?:\|[^|\n]*\|)?$")
_HALF_ARROW = re.compile(r"[-=.<>ox ]*")
_CLICK = re.compile(r"\bclick\s+$", re.ASCII)


def _unfinished(lexer: Lexer, first: int, begin: int, lexeme: Lexeme | None, at: int) -> tuple[str, int, int] | None:
    """What is half typed at the end of a line, so that Mermaid reads on into lines that have nothing to do with it.

    A sentence and the place of what is unfinished; None where the mistake is another one.
    """
    text = lexer.text
    label = next((opened for opened in lexer.open if opened.mode.endswith("edge_text")), None)
    ran_on = next((opened for opened, end in lexer.long_arrows if _takes_a_node(text, opened, end)), None)
    if ran_on is not None and ran_on.start >= begin:
        return _without_end(text, ran_on)
    if label is not None:
        line_end = _line_end(text, label.start)
        mark = label.text.strip()
        if at >= line_end:
            return _without_end(text, label)
        if _HALF_ARROW.fullmatch(text, at, line_end):
            stop = at + len(text[at:line_end].rstrip())
            return f"This arrow is unfinished: write {_finished(mark)} and the node it leads to.", at, stop
        return None
    if any(opened.text in _CLOSERS for opened in lexer.open) or lexer.long_strings:
        return None
    before = text[begin:at].rstrip()
    arrow = _ARROW_AT_END.search(before)
    if arrow is not None and begin + arrow.start() > begin:
        start, stop = begin + arrow.start(), begin + arrow.end()
        if lexeme is not None and lexeme.type in ("NEWLINE", "EOF", "OVER", "SEMI"):
            return "This arrow leads nowhere: write a node after it, or remove it.", start, stop
        if "\n" in text[stop:at] and first_word(text, at) is not None:
            shown = _shown(text, at, lexeme)
            why = f"This arrow continues onto the next line, where {shown} is not a node"
            return f"{why}: write a node after it, or remove it.", start, stop
    click = _CLICK.search(text, max(begin - 200, first), begin)
    if click is not None and "\n" in click[0]:
        message = f"This line is unfinished: write `{_FORMS['click']}`."
        return message, click.start(), click.start() + len("click")
    rest = text[at : _line_end(text, at)].strip()
    if rest and at > begin and _HALF_ARROW.fullmatch(rest) and rest[0] in "-=<":
        return "This arrow is unfinished: write --> and the node it leads to.", at, at + len(rest)
    return None


def _takes_a_node(text: str, label: Delimiter, end: int) -> bool:
    """Whether the text on an arrow ends with an id alone in its line: then that line draws an arrow of its own."""
    last = text[label.start : end].rpartition("\n")[2].strip()
    return bool(last) and len(last.split()) == 1


def _without_end(text: str, label: Delimiter) -> tuple[str, int, int]:
    """What is said of an arrow that has a beginning, and perhaps a text, but no end on its line."""
    mark = label.text.strip()
    start = text.index(mark, label.start)
    has_text = text[label.start + len(label.text.rstrip()) : _line_end(text, label.start)].strip()
    shown = _finished(mark)
    if has_text:
        return f"The text on this arrow never ends: write {shown} after it.", start, start + len(mark)
    return f"This arrow is unfinished: write {shown} and the node it leads to.", start, start + len(mark)


def _finished(mark: str) -> str:
    """The arrow that ends the text after the beginning of one."""
    return "==>" if "=" in mark else ".->" if "." in mark else "-->"


def _never_closed(lexer: Lexer, lexeme: Lexeme | None, at: int) -> Delimiter | None:
    """The bracket or quote that was never closed, where that is why the token at ``at`` does not fit."""
    text = lexer.text
    if lexer.long_strings:
        return lexer.long_strings[0]
    if lexer.long_texts:
        return lexer.long_texts[0]
    for delimiter in lexer.open:
        if delimiter.start >= at and lexeme is not None:
            break
        if delimiter.text not in _CLOSERS:
            continue
        runs_on = (
            lexeme is None
            or lexeme.type == "OVER"
            or "\n" in text[delimiter.start : at + 1]
            or _swallows_a_node(text, delimiter, at)
        )
        if runs_on and (lexeme is not None or delimiter.text != "@{"):
            return _quote_inside(lexer, delimiter) or delimiter
    return None


_OPENERS, _CLOSED = frozenset("[({"), frozenset("])}")
_NEXT_NODE = re.compile(r"(?:--+>|==+>|-\.+->|---+)(?:\|[^|\n]*\|)?[ \t]*\w[\w.-]*$")


def _swallows_a_node(text: str, bracket: Delimiter, at: int) -> bool:
    """Whether the label that a bracket opens goes on over an arrow and the id of the next node, and is one bracket short on its
    line: then it was to end before the arrow.
    """
    # Only what is next to it: the pattern would go through a long label again for each dash.
    inside = text[max(bracket.start + len(bracket.text), at - 200) : at]
    if text[at : at + 1] not in _OPENERS or '"' in inside or _NEXT_NODE.search(inside) is None:
        return False
    line = text[bracket.start : _line_end(text, at)]
    return sum(char in _OPENERS for char in line) > sum(char in _CLOSED for char in line)


def _quote_inside(lexer: Lexer, bracket: Delimiter) -> Delimiter | None:
    """The quote that hides the end of a bracket: open, and on the line of the bracket."""
    if bracket.text == "@{":
        line_end = _line_end(lexer.text, bracket.start)
        if lexer.text.count('"', bracket.start, line_end) % 2:
            return Delimiter('"', lexer.text.rindex('"', bracket.start, line_end), "shape_data_string")
        return None
    inside = (opened for opened in lexer.open if opened.start > bracket.start and opened.text.startswith('"'))
    quote = next(inside, None)
    return None if quote is None or "\n" in lexer.text[bracket.start : quote.start] else quote


def _describe(lexer: Lexer, begin: int, lexeme: Lexeme | None, at: int) -> tuple[Flaw, str]:
    text = lexer.text
    shown = _shown(text, at, lexeme)
    if lexeme is None:
        inside = lexer.modes[-1] if lexer.modes else "initial"
        if inside == "shape_data":
            return (
                "syntax-error",
                f"{shown} isn't allowed in a metadata block outside double quotes: put the value in quotes.",
            )
        if inside == "direction":
            return (
                "syntax-error",
                f"{shown} is not a direction: write TB, TD, BT, LR or RL after the diagram's keyword.",
            )
        if inside.endswith("edge_text"):
            return (
                "syntax-error",
                f"{shown} isn't allowed in the text on an arrow: put the text in quotes or between | and |.",
            )
        return "syntax-error", f"{shown} has no meaning here: put text in quotes, and use letters, digits and _ in ids."
    if lexeme.type == "END":
        return (
            "reserved-word",
            "The word end closes a subgraph, so it can't be a node's id: choose another id, such as End.",
        )
    opened = [d for d in lexer.open if d.text in _CLOSERS and d.start < at]
    closes = lexeme.type.endswith(("END", "STOP")) or lexeme.type in ("PE", "SQE")
    if opened and not closes and text[at : at + 1] in tuple('[](){}|"'):
        return (
            "bracket-in-label",
            f"{shown} isn't allowed in a label without quotes: write the whole label in double quotes.",
        )
    if opened or lexeme.type in ("PE", "SQE", "DIAMOND_STOP", "STADIUM_END", "SUBROUTINE_END", "CYLINDER_END"):
        last = opened[-1] if opened else None
        if last is not None:
            outer = opened[-2] if len(opened) > 1 else None
            if last.text == '"' and outer is not None and text[outer.start + len(outer.text) : last.start].strip():
                return (
                    "bracket-in-label",
                    "A double quote isn't allowed in a label without quotes:"
                    " write the whole label in double quotes, and `#quot;` for a quote in it.",
                )
            return (
                "bracket-in-label",
                f"{shown} does not close {last.text}: write {_CLOSERS[last.text]}, or put the label in quotes.",
            )
        return "bracket-in-label", f"{shown} closes nothing: remove it, or put the label in double quotes."
    if lexeme.type in ("NEWLINE", "EOF", "OVER", "SEMI"):
        wanted = next((form for word, form in _FORMS.items() if re.match(rf"{word}\b", text[begin:at])), None)
        if wanted is not None:
            return "syntax-error", f"This line is unfinished: write `{wanted}`."
        before = text[begin:at].rstrip().rpartition("\n")[2]
        if before.endswith(("&", ":::")):
            mark, what = ("&", "a node") if before.endswith("&") else (":::", "a class")
            return "syntax-error", f"{_quote(mark)} needs {what} after it: write one, or remove it."
        return "syntax-error", f"The statement ends too early after {_quote(before[-20:])}: something must follow."
    if lexeme.type in ("LINK", "START_LINK"):
        if not text[begin:at].strip():
            return "syntax-error", f"An arrow needs a node before it: write the source before {shown}."
        return "syntax-error", f"An arrow isn't allowed here: {shown} needs a node before and after it."
    if lexeme.type in ("STYLE", "CLASS", "CLASSDEF", "CLICK", "SUBGRAPH", "LINKSTYLE", "GRAPH", "INTERPOLATE"):
        word = _quote((lexeme.value.split() or text[begin:at].split() or [lexeme.value])[-1])
        return (
            "reserved-word",
            f"The word {word} has a meaning of its own here: choose another id, or put the text in quotes.",
        )
    before = text[begin:at].strip().rpartition("\n")[2]
    if not before:
        return "syntax-error", f"{shown} isn't allowed here: no statement begins so."
    return "syntax-error", f"{shown} isn't allowed here after {_quote(before[-20:])}."


def _visible(text: str, start: int, end: int, begin: int) -> tuple[int, int]:
    """A span a person can see: without white space at the ends, never empty where there is text.

    White space as in Mermaid: Python counts control characters to it that Mermaid refuses, and that are what is wrong then.
    """
    while start < end and text[start] in WHITE_CHARACTERS:
        start += 1
    while end > start and text[end - 1] in WHITE_CHARACTERS:
        end -= 1
    if start < end:
        line_end = _line_end(text, start)
        return start, min(end, line_end)
    last = start
    while last > begin and text[last - 1] in WHITE_CHARACTERS:
        last -= 1
    return max(last - 1, begin), max(last, begin)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end == -1 else end


def _shown(text: str, at: int, lexeme: Lexeme | None) -> str:
    if lexeme is None:
        return _quote(text[at : at + 1])
    return _quote(_first_line(text[lexeme.start : lexeme.end])[:30])


def _first_line(text: str) -> str:
    """What a person sees at a place: never the lines after it, on which a message must not depend."""
    return text.strip().partition("\n")[0].rstrip()


def _quote(text: str) -> str:
    return f"“{text}”" if text else "the end of the line"
