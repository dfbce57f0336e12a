"""Comments that suppress rules.

``%% merrow: ignore[MW402] reason`` on its own line applies to the next statement, ``%% merrow: ignore-file[MW4,
some-name]`` anywhere to the whole file. Without brackets every rule is meant. The brackets contain codes, beginnings of codes,
or names. A comment that suppresses nothing, names no rule, or can't be read is itself reported.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from merrow_analysis.diagnostics import Applicability, Diagnostic, Fix, Tag
from merrow_analysis.rules.drawn.suppression_rules import MALFORMED, UNKNOWN_RULE, UNUSED
from merrow_analysis.rules.registry import Flags, Rule, all_rules, find_rule, is_refused
from merrow_analysis.rules.reporting import report
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.tree import Block, Comment, Statement
from merrow_analysis.text import Position, Range, Span, TextEdit

_MARK = re.compile(r"\s*merrow\b[ \t]*:[ \t]*", re.IGNORECASE)
_FORM = re.compile(r"(ignore-file|ignore)(?![\w-])[ \t]*(?:\[([^\]\r\n]*)\])?", re.IGNORECASE)
_CODE = re.compile(r"[^\s,]+")
_WORDS = re.compile(r"[^\s,()\[\]:]+")


@dataclass(slots=True, eq=False)
class _Code:
    """One rule, or group of rules, named in a comment; ``rules`` are their codes, None for every rule."""

    text: str
    span: Span
    rules: frozenset[str] | None
    used: bool = False
    near: str | None = None
    """The rule that an unknown word probably means."""

    @property
    def names_refused_only(self) -> bool:
        """Whether it names only rules about what Mermaid itself refuses, which stay errors regardless of comments."""
        return bool(self.rules) and all(map(is_refused, self.rules or ()))


@dataclass(slots=True, eq=False)
class _Suppression:
    """A comment: ``first`` to ``last`` are the lines it applies to, unless it is for the whole file."""

    block: Block
    comment: Comment
    codes: list[_Code]
    whole_file: bool
    first: int = 0
    last: int = -1
    above_front: bool = False
    """Whether front matter follows, which takes effect once there is no comment above it."""

    def silences(self, code: str) -> bool:
        if is_refused(code):
            return False
        is_named = False
        for named in self.codes:
            if named.rules is None or code in named.rules:
                named.used = True
                is_named = True
        return is_named


@dataclass(frozen=True, slots=True, eq=False)
class _Malformed:
    """A comment that can't be read, with the place and the reason; ``lines`` are those of the next statement."""

    block: Block
    comment: Comment
    span: Span
    message: str
    lines: tuple[int, int] | None


@dataclass(slots=True, eq=False)
class _Target:
    """Lines ``first`` to ``last``, and the comments that apply to them; each code is looked up in them once."""

    first: int = 0
    last: int = -1
    comments: list[_Suppression] = field(default_factory=list)
    _known: dict[str, bool] = field(default_factory=dict)

    def silences(self, code: str) -> bool:
        known = self._known.get(code)
        if known is None:
            # Every comment is checked, so each one that suppresses something counts as used.
            answers = [comment.silences(code) for comment in self.comments]
            known = self._known[code] = any(answers)
        return known


def apply(
    blocks: Sequence[Block], diagnostics: Iterable[Diagnostic], *, report_unused: bool = True
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """The remaining diagnostics, and diagnostics about the comments themselves.

    With ``report_unused`` false, if not every rule was run, unused comments are reported only for findings that no comment
    can suppress. What Mermaid itself refuses is never suppressed.
    """
    suppressions = _find(blocks)
    if not suppressions.comments and not suppressions.malformed:
        return list(diagnostics), []
    diagnostics = list(diagnostics)
    kept = suppressions.unsilenced(diagnostics)
    places = _Places(diagnostics)
    suppressions.extra += [_malformed(comment, places) for comment in suppressions.malformed]
    suppressions.extra += [
        _unknown(suppression, index, places)
        for suppression in suppressions.comments
        for index, code in enumerate(suppression.codes)
        if code.rules is not None and not code.rules
    ]
    extra = suppressions.unsilenced(suppressions.extra)
    extra += suppressions.unused() if report_unused else suppressions.in_vain()
    return kept, extra


@dataclass(slots=True)
class _Found:
    """``single`` are the statements that comments apply to, sorted by their last line."""

    whole_file: _Target = field(default_factory=_Target)
    single: list[_Target] = field(default_factory=list)
    comments: list[_Suppression] = field(default_factory=list)
    malformed: list[_Malformed] = field(default_factory=list)
    extra: list[Diagnostic] = field(default_factory=list)
    rules: dict[str, frozenset[str]] = field(default_factory=dict)
    """The codes of the rules that each word in brackets names."""

    def unsilenced(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        return [diagnostic for diagnostic in diagnostics if not self._silences(diagnostic)]

    def _silences(self, diagnostic: Diagnostic) -> bool:
        code, line = diagnostic.code, diagnostic.range.start.line
        if self.whole_file.silences(code):
            return True
        suppressed = False
        index = bisect_left(self.single, line, key=_last)
        end = self.single[index].last if index < len(self.single) else -1
        while index < len(self.single) and self.single[index].last == end:
            target = self.single[index]
            suppressed = (target.first <= line and target.silences(code)) or suppressed
            index += 1
        return suppressed

    def in_vain(self) -> list[Diagnostic]:
        """Findings about codes that no comment can suppress."""
        return [
            _in_vain(suppression, index, "", all(other.names_refused_only for other in suppression.codes))
            for suppression in self.comments
            for index, code in enumerate(suppression.codes)
            if code.names_refused_only
        ]

    def unused(self) -> list[Diagnostic]:
        """Findings about codes that suppress nothing: those for the whole file first."""
        ordered = sorted(self.comments, key=lambda suppression: not suppression.whole_file)
        return [diagnostic for suppression in ordered for diagnostic in _unused(suppression)]


class _Places:
    """Where findings are that a comment could speak of."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self._lines: dict[str, list[int]] = {}
        for diagnostic in diagnostics:
            self._lines.setdefault(diagnostic.code, []).append(diagnostic.range.start.line)
        for lines in self._lines.values():
            lines.sort()

    def any(self, codes: Iterable[str], first: int, last: float) -> bool:
        """Whether one with one of these codes is on the lines ``first`` to ``last``."""
        by_code = (self._lines.get(code, []) for code in codes)
        return any(at < len(lines) and lines[at] <= last for lines in by_code for at in (bisect_left(lines, first),))


def _last(target: _Target) -> int:
    return target.last


def _find(blocks: Sequence[Block]) -> _Found:
    suppressions = _Found()
    targets: dict[tuple[int, int], _Target] = {}
    for block, comment, following in reversed(_comments(blocks)):
        lines = None
        if following is not None:
            place = following[0].range(following[1].span)
            lines = place.start.line, place.end.line
        suppression = _read(block, comment, suppressions, lines)
        if suppression is None:
            continue
        suppression.above_front = following is not None and following[0].text.lstrip().startswith("---")
        suppressions.comments.append(suppression)
        if suppression.whole_file:
            suppressions.whole_file.comments.append(suppression)
        elif lines is not None:
            suppression.first, suppression.last = lines
            targets.setdefault(lines, _Target(*lines)).comments.append(suppression)
    suppressions.single = sorted(targets.values(), key=_last)
    return suppressions


def _comments(blocks: Sequence[Block]) -> list[tuple[Block, Comment, tuple[Block, Statement] | None]]:
    """The comments that suppress rules, last ones first, each with the statement that follows it."""
    comments: list[tuple[Block, Comment, tuple[Block, Statement] | None]] = []
    following: tuple[Block, Statement] | None = None
    # Backwards, so that the statement that follows a comment is known when the comment is met.
    for block in reversed(blocks):
        for statement in reversed(block.statements):
            # Runs over every statement at each keystroke, so the cheapest test comes first.
            if statement.__class__ is not Comment:
                following = block, statement
            elif _is_suppression(statement):
                comments.append((block, statement, following))
    return comments


def has_suppression(block: Block) -> bool:
    """Whether a block holds a comment that silences rules, or tries to."""
    # Nearly all blocks are asked about.
    return "%%" in block.text and any(
        statement.__class__ is Comment and _is_suppression(statement) for statement in block.statements
    )


def _is_suppression(comment: Comment) -> bool:
    return not comment.directive and _MARK.match(comment.text) is not None


def _read(block: Block, comment: Comment, suppressions: _Found, lines: tuple[int, int] | None) -> _Suppression | None:
    """What a comment suppresses; None if it can't be read, which is reported."""
    start, end = comment.span
    text = block.text[start:end]
    offset = text.index("%%") + 2 if "%%" in text else 0
    mark = _MARK.match(text, offset)
    if mark is None:
        return None
    form = _FORM.match(text, mark.end())
    if form is None or text[form.end() : form.end() + 1] == "[":
        message = (
            "This comment is not understood; write `%% merrow: ignore[MW402] reason` above a statement, or"
            " `%% merrow: ignore-file[MW402] reason`."
        )
        suppressions.malformed.append(_Malformed(block, comment, (start, end), message, lines))
        return None
    codes = _codes(form, start, suppressions)
    if not codes:
        message = "The brackets are empty; name a rule in them, or leave them out to silence every rule."
        span = (start + form.start(2) - 1, start + form.end(2) + 1)
        suppressions.malformed.append(_Malformed(block, comment, span, message, lines))
        return None
    return _Suppression(block, comment, codes, form[1].lower() == "ignore-file")


def _codes(form: re.Match[str], start: int, suppressions: _Found) -> list[_Code]:
    if form[2] is None:
        return [_Code("", (start + form.start(1), start + form.end(1)), None)]
    codes: list[_Code] = []
    for word in _CODE.finditer(form[2]):
        at = start + form.start(2)
        span = (at + word.start(), at + word.end())
        rules = suppressions.rules.get(word[0])
        if rules is None:
            rules = suppressions.rules[word[0]] = frozenset(rule.code for rule in _selected(word[0]))
        near = None
        if not rules:
            near = closest(word[0], [name for rule in all_rules() for name in (rule.code, rule.name)])
        codes.append(_Code(word[0], span, rules, near=near))
    return codes


def _selected(selector: str) -> list[Rule]:
    upper = selector.upper()
    if upper.startswith("MW"):
        return [rule for rule in all_rules() if rule.code.startswith(upper)]
    rule = find_rule(selector.lower())
    return [] if rule is None else [rule]


def _meant(word: str) -> frozenset[str]:
    """The codes of the rules that a word names and a comment may silence."""
    return frozenset(rule.code for rule in _selected(word) if Flags.REFUSED not in rule.flags)


def _malformed(comment: _Malformed, places: _Places) -> Diagnostic:
    """A comment that can't be read."""
    return _diagnostic(MALFORMED, comment.block, comment.span, comment.message, _understood(comment, places))


def _understood(malformed: _Malformed, places: _Places) -> Iterator[Fix]:
    """Rewrite the comment in the valid form if that suppresses a finding; or remove it."""
    start, end = malformed.comment.span
    text = malformed.block.text[start:end]
    mark = _MARK.match(text, text.index("%%") + 2 if "%%" in text else 0)
    words = [] if mark is None else _WORDS.findall(text, mark.end())
    kind = closest(words[0].lower(), ("ignore", "ignore-file")) if words else None
    if mark is not None and kind is not None:
        first, last = (0, inf) if kind == "ignore-file" else (malformed.lines or (0, -1))
        codes = {word: _meant(word) for word in words[1:]}
        names = [word for word in words[1:] if places.any(codes[word], first, last)]
        if names:
            written = f"{kind}[{', '.join(names)}]"
            reason = " ".join(word for word in words[1:] if not codes[word])
            edit = TextEdit(malformed.block.range((start + mark.end(), end)), f"{written} {reason}".rstrip())
            yield Fix(f"Write {written}", (edit,), Applicability.UNSAFE)
    whole = TextEdit(_whole_line(malformed.block, malformed.comment), "")
    yield Fix("Remove the comment", (whole,), Applicability.UNSAFE)


def _diagnostic(
    rule: Rule, block: Block, span: Span, message: str, fixes: Iterable[Fix] = (), tags: tuple[Tag, ...] = ()
) -> Diagnostic:
    return report(rule, block.range(span), message, fixes=fixes, tags=tags)


def _unknown(suppression: _Suppression, index: int, places: _Places) -> Diagnostic:
    """A word that names no rule."""
    code = suppression.codes[index]
    block, near = suppression.block, code.near
    hint = f"did you mean `{near}`?" if near else "`merrow rules` lists them all."
    fixes: tuple[Fix, ...] = ()
    if near is not None:
        first, last = (0, inf) if suppression.whole_file else (suppression.first, suppression.last)
        if places.any(_meant(near), first, last):
            fixes = (Fix(f"Write {near}", (TextEdit(block.range(code.span), near),), Applicability.UNSAFE),)
        else:
            fixes = (_removal(suppression, index, len(suppression.codes) == 1, Applicability.UNSAFE),)
    return _diagnostic(UNKNOWN_RULE, block, code.span, f"There is no rule `{code.text}`; {hint}", fixes)


def _unused(suppression: _Suppression) -> Iterator[Diagnostic]:
    """A finding for each code of a comment that suppresses nothing."""
    codes = suppression.codes
    idle = [not code.used and (code.rules is None or bool(code.rules)) for code in codes]
    where = "in this file" if suppression.whole_file else "in the next statement"
    # The codes to remove together with this one: a comment in which nothing is left is removed entirely.
    whole = all(idle)
    for index, code in enumerate(codes):
        if not idle[index]:
            continue
        what = f"`{code.text}`" if code.text else "No rule"
        message = f"{what} {'is not broken' if code.text else 'is broken'} {where}; remove it from this comment."
        yield _in_vain(suppression, index, message, whole)


def _in_vain(suppression: _Suppression, index: int, message: str, whole: bool) -> Diagnostic:
    """A finding about a code that suppresses nothing."""
    code = suppression.codes[index]
    if code.names_refused_only:
        message = f"`{code.text}` can't be ignored, since Mermaid refuses such a file; remove it from this comment."
    removal = _removal(suppression, index, whole, Applicability.SAFE)
    return _diagnostic(UNUSED, suppression.block, code.span, message, (removal,), (Tag.UNNECESSARY,))


def _removal(suppression: _Suppression, index: int, whole: bool, applicability: Applicability) -> Fix:
    """Remove a code from its comment, or with ``whole`` the comment."""
    block = suppression.block
    if whole and suppression.above_front:
        return Fix("Empty the comment", (TextEdit(block.range(suppression.comment.span), "%%"),), applicability)
    if whole:
        return Fix("Remove the comment", (TextEdit(_whole_line(block, suppression.comment), ""),), applicability)
    edit = TextEdit(_with_comma(block, suppression.codes, index), "")
    return Fix(f"Remove {suppression.codes[index].text}", (edit,), applicability)


def _with_comma(block: Block, codes: list[_Code], index: int) -> Range:
    """A code with the separator to its neighbour."""
    if index + 1 < len(codes):
        return block.range((codes[index].span[0], codes[index + 1].span[0]))
    return block.range((codes[index - 1].span[1], codes[index].span[1]))


def _whole_line(block: Block, comment: Comment) -> Range:
    line = block.range(comment.span).start.line
    return Range(Position(line, 0), Position(line + 1, 0))
