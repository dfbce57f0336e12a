"""Comments that silence rules.

``%% merrow: ignore[MW402] reason`` on a line of its own speaks of the next statement, ``%% merrow: ignore-file[MW4,
some-name]`` anywhere of the whole file. Without brackets every rule is meant. In the brackets stand codes, beginnings
of codes, or names. A comment that silences nothing, names no rule, or can't be read is reported itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from merrow_analysis.diagnostics import Applicability, Diagnostic, Fix, Severity, Tag
from merrow_analysis.rules.registry import Rule, all_rules, find_rule, register
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.tree import Block, Comment, Span
from merrow_analysis.text import Position, Range, TextEdit

MALFORMED = register(
    "MW510",
    "malformed-suppression",
    "A comment that begins with `merrow:` can't be read.",
    Severity.WARNING,
)
UNKNOWN_RULE = register(
    "MW511",
    "unknown-rule-in-suppression",
    "A suppression names a rule that does not exist.",
    Severity.WARNING,
    fix="sometimes",
)
UNUSED = register(
    "MW512",
    "unused-suppression",
    "A suppression silences nothing.",
    Severity.WARNING,
    fix="always",
)
_MARK = re.compile(r"\s*merrow\b[ \t]*:[ \t]*", re.IGNORECASE)
_FORM = re.compile(r"(ignore-file|ignore)(?![\w-])[ \t]*(?:\[([^\]\r\n]*)\])?", re.IGNORECASE)
_CODE = re.compile(r"[^\s,]+")


@dataclass(slots=True, eq=False)
class _Code:
    """One rule, or group of rules, named in a comment; ``rules`` are their codes, None for every rule."""

    text: str
    span: Span
    rules: frozenset[str] | None
    used: bool = False


@dataclass(slots=True, eq=False)
class _Suppression:
    """A comment: ``first`` to ``last`` are the lines it speaks of, where it is not for the whole file."""

    block: Block
    comment: Comment
    codes: list[_Code]
    whole_file: bool
    first: int = 0
    last: int = -1

    def silences(self, code: str) -> bool:
        found = False
        for named in self.codes:
            if named.rules is None or code in named.rules:
                named.used = True
                found = True
        return found


def apply(
    blocks: Sequence[Block], diagnostics: Iterable[Diagnostic], *, report_unused: bool = True
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """What is left of the diagnostics, and diagnostics about the comments themselves.

    With ``report_unused`` false, nothing is said of comments that silence nothing: where not every rule was run.
    """
    found = _find(blocks)
    if not found.comments and not found.extra:
        return list(diagnostics), []
    kept = found.unsilenced(diagnostics)
    extra = found.unsilenced(found.extra)
    if report_unused:
        extra += found.unused()
    return kept, extra


@dataclass(slots=True)
class _Found:
    whole_file: list[_Suppression] = field(default_factory=list)
    single: list[_Suppression] = field(default_factory=list)
    extra: list[Diagnostic] = field(default_factory=list)

    @property
    def comments(self) -> list[_Suppression]:
        return [*self.whole_file, *self.single]

    def unsilenced(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        ends = [suppression.last for suppression in self.single]
        kept: list[Diagnostic] = []
        for diagnostic in diagnostics:
            line = diagnostic.range.start.line
            silenced = False
            for suppression in self.whole_file:
                silenced = suppression.silences(diagnostic.code) or silenced
            # Comments above one statement end on the same line; those that end earlier or begin later don't matter.
            index = bisect_left(ends, line) if not silenced else len(ends)
            end = ends[index] if index < len(ends) else -1
            while index < len(ends) and ends[index] == end:
                suppression = self.single[index]
                if suppression.first <= line and suppression.silences(diagnostic.code):
                    silenced = True
                index += 1
            if not silenced:
                kept.append(diagnostic)
        return kept

    def unused(self) -> list[Diagnostic]:
        return [
            _unused(suppression, code)
            for suppression in self.comments
            for code in suppression.codes
            if not code.used and (code.rules is None or code.rules)
        ]


def _find(blocks: Sequence[Block]) -> _Found:
    found = _Found()
    for index, block in enumerate(blocks):
        for statement in block.statements:
            # Runs over every statement at each keystroke, so the cheapest test comes first.
            if statement.__class__ is Comment and _is_suppression(statement):
                _read(block, statement, blocks, index, found)
    found.single.sort(key=lambda suppression: suppression.last)
    return found


def has_suppression(block: Block) -> bool:
    """Whether a block holds a comment that silences rules, or tries to."""
    return any(statement.__class__ is Comment and _is_suppression(statement) for statement in block.statements)


def _is_suppression(comment: Comment) -> bool:
    return not comment.directive and _MARK.match(comment.text) is not None


def _read(block: Block, comment: Comment, blocks: Sequence[Block], index: int, found: _Found) -> None:
    start, end = comment.span
    text = block.text[start:end]
    offset = text.index("%%") + 2 if "%%" in text else 0
    mark = _MARK.match(text, offset)
    if mark is None:
        return
    form = _FORM.match(text, mark.end())
    if form is None or text[form.end() : form.end() + 1] == "[":
        message = (
            "This comment is not understood; write `%% merrow: ignore[MW402] reason` above a statement, or"
            " `%% merrow: ignore-file[MW402] reason`."
        )
        found.extra.append(_diagnostic(MALFORMED, block, (start, end), message))
        return
    codes = _codes(block, form, start, found)
    if codes is None:
        return
    suppression = _Suppression(block, comment, codes, form[1].lower() == "ignore-file")
    if suppression.whole_file:
        found.whole_file.append(suppression)
        return
    target = _next_statement(blocks, index, comment)
    if target is not None:
        suppression.first, suppression.last = target
    found.single.append(suppression)


def _codes(block: Block, form: re.Match[str], start: int, found: _Found) -> list[_Code] | None:
    if form[2] is None:
        return [_Code("", (start + form.start(1), start + form.end(1)), None)]
    codes: list[_Code] = []
    for word in _CODE.finditer(form[2]):
        at = start + form.start(2)
        span = (at + word.start(), at + word.end())
        rules = frozenset(rule.code for rule in _selected(word[0]))
        if not rules:
            found.extra.append(_unknown(block, word[0], span))
        codes.append(_Code(word[0], span, rules))
    if not codes:
        message = "The brackets are empty; name a rule in them, or leave them out to silence every rule."
        found.extra.append(_diagnostic(MALFORMED, block, (start + form.start(2) - 1, start + form.end(2) + 1), message))
        return None
    return codes


def _selected(selector: str) -> list[Rule]:
    upper = selector.upper()
    if upper.startswith("MW"):
        return [rule for rule in all_rules() if rule.code.startswith(upper)]
    rule = find_rule(selector.lower())
    return [] if rule is None else [rule]


def _next_statement(blocks: Sequence[Block], index: int, comment: Comment) -> tuple[int, int] | None:
    """The lines of the statement that follows a comment, over blank lines and other comments."""
    block = blocks[index]
    after = [s for s in block.statements if s.span[0] > comment.span[0] and not isinstance(s, Comment)]
    if after:
        place = block.range(after[0].span)
        return place.start.line, place.end.line
    for later in blocks[index + 1 :]:
        for statement in later.statements:
            if not isinstance(statement, Comment):
                place = later.range(statement.span)
                return place.start.line, place.end.line
    return None


def _diagnostic(
    rule: Rule, block: Block, span: Span, message: str, fixes: tuple[Fix, ...] = (), tags: tuple[Tag, ...] = ()
) -> Diagnostic:
    return Diagnostic(rule.code, rule.name, rule.severity, message, block.range(span), fixes=fixes, tags=tags)


def _unknown(block: Block, word: str, span: Span) -> Diagnostic:
    near = closest(word, [name for rule in all_rules() for name in (rule.code, rule.name)])
    hint = f"did you mean `{near}`?" if near else "`merrow rules` lists them all."
    fixes = () if near is None else (Fix(f"Write {near}", (TextEdit(block.range(span), near),), Applicability.UNSAFE),)
    return _diagnostic(UNKNOWN_RULE, block, span, f"There is no rule `{word}`; {hint}", fixes)


def _unused(suppression: _Suppression, code: _Code) -> Diagnostic:
    block = suppression.block
    where = "in this file" if suppression.whole_file else "in the next statement"
    what = f"`{code.text}`" if code.text else "No rule"
    message = f"{what} {'is not broken' if code.text else 'is broken'} {where}; remove it from this comment."
    others = [other for other in suppression.codes if other is not code]
    if any(other.used or (other.rules is not None and not other.rules) for other in others):
        title, edit = f"Remove {code.text}", TextEdit(_with_comma(block, code, suppression.codes), "")
    else:
        title, edit = "Remove the comment", TextEdit(_whole_line(block, suppression.comment), "")
    return _diagnostic(UNUSED, block, code.span, message, (Fix(title, (edit,)),), (Tag.UNNECESSARY,))


def _with_comma(block: Block, code: _Code, codes: list[_Code]) -> Range:
    """The code with what parts it from its neighbour."""
    index = codes.index(code)
    if index + 1 < len(codes):
        return block.range((code.span[0], codes[index + 1].span[0]))
    return block.range((codes[index - 1].span[1], code.span[1]))


def _whole_line(block: Block, comment: Comment) -> Range:
    line = block.range(comment.span).start.line
    return Range(Position(line, 0), Position(line + 1, 0))
