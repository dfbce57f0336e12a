"""Reads the statements of one block with the lexer and the grammar, and says what is wrong with one that can't be read.

Loaded only when a text has a line of a form that is not known yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from lark import Token, UnexpectedToken

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.syntax.grammar import parse_tokens, statement_grammar
from merrow_analysis.syntax.lexer import Lexeme, Lexer, LexicalError
from merrow_analysis.syntax.problems import StatementFailure, explain
from merrow_analysis.syntax.reduction import Reduction
from merrow_analysis.syntax.tree import Broken, Chain, EmptyStatement, Metadata, Statement, SyntaxProblem
from merrow_analysis.text import Span


class Owner(Protocol):
    """The reading of a file, as a block's reader sees it."""

    lines: list[str]

    @property
    def reduction(self) -> Reduction: ...

    @property
    def lexer(self) -> Lexer: ...

    def line_of(self, offset: int) -> int: ...

    def spend(self, characters: int) -> None: ...


class _MisplacedTokenError(Exception):
    """A token of the diagram's first line does not fit."""

    def __init__(self, token: Lexeme) -> None:
        super().__init__()
        self.token = token


class _FrontMatterError(Exception):
    """Front matter stands where Mermaid no longer reads it."""

    def __init__(self, token: Lexeme) -> None:
        super().__init__()
        self.token = token


class BlockReader:
    """Reads the statements of one block from the reduced text."""

    def __init__(self, owner: Owner, position: int, base: int) -> None:
        self.owner = owner
        self.statements: list[Statement] = []
        self.reach = 0
        self.reduced = owner.reduction.reduced
        self.lexer = owner.lexer
        self.position = position
        self.base = base
        self._separator: Lexeme | None = None

    def read(self, *, header: bool) -> int:
        """Read up to the end of the block; the answer is its last line."""
        _, builder = statement_grammar()
        builder.place(self.reduced, self.base)
        tokens = self.lexer.tokens(self.position, header=header)
        begin = self.position
        try:
            if header:
                begin, done = self._header(tokens)
                if done is not None:
                    return done
            while True:
                try:
                    token = self._next(tokens)
                except LexicalError as error:
                    begin = error.offset  # Not in the statement before it, which is complete.
                    raise
                begin = token.start
                self.lexer.long_strings.clear()
                self.lexer.long_texts.clear()
                if token.type in ("NEWLINE", "EOF", "OVER"):
                    return self._line(token.start)
                if token.type == "SEMI":
                    self.statements.append(EmptyStatement(self._span(token.start, token.end)))
                    continue
                done = self._statement(token, tokens)
                if done is not None:
                    return done
        except UnexpectedToken as error:
            lexeme = self._offending(error)
            return self._broken(explain(self.lexer, self.position, begin, lexeme, None), begin)
        except _MisplacedTokenError as error:
            return self._broken(explain(self.lexer, self.position, begin, error.token, None), begin)
        except LexicalError as error:
            return self._broken(explain(self.lexer, self.position, begin, None, error.offset), begin)
        except _FrontMatterError as error:
            at = error.token.start
            message = "Front matter must begin on the very first line, without a space before ---, and only once."
            return self._broken(
                StatementFailure("misplaced-front-matter", message, at, at + 3, at, at, "syntax"), begin
            )

    def _next(self, tokens: Iterator[Lexeme]) -> Lexeme:
        token = next(tokens)
        while token.type == "SPACE":
            token = next(tokens)
        return token

    def _header(self, tokens: Iterator[Lexeme]) -> tuple[int, int | None]:
        token = self._next(tokens)
        while token.type == "NEWLINE":
            token = self._next(tokens)
        begin = token.start
        if token.type != "GRAPH":
            if token.value.startswith("---"):
                raise _FrontMatterError(token)
            raise _MisplacedTokenError(token)
        after = next(tokens)
        if after.type not in ("DIR", "NODIR"):
            raise _MisplacedTokenError(after)
        self.statements.append(parse_tokens([_token(token), _token(after)], "header"))
        if after.type == "NODIR":
            return begin, self._line(after.start + after.value.index("\n"))
        separator = next(tokens)
        if separator.type == "SPACE":
            separator = next(tokens)
            if separator.type == "SEMI":
                raise _MisplacedTokenError(separator)
        if separator.type == "NEWLINE":
            return begin, self._line(separator.start)
        if separator.type != "SEMI":
            raise _MisplacedTokenError(separator)
        return begin, None

    def _statement(self, first: Lexeme, tokens: Iterator[Lexeme]) -> int | None:
        """Read one statement; the answer is the block's last line when it ends here."""
        whole = _WHOLE.get(first.type)
        if whole is not None:
            parts = [first, *(next(tokens) for _ in range(whole - 1))]
            self.statements.append(parse_tokens([_token(part) for part in parts], "statement"))
            if first.type == "END":
                newline = first.value.find("\n")
                if newline != -1:
                    return self._line(first.start + newline)
            return None
        self._separator = None
        statement = parse_tokens(self._until_separator(first, tokens), "statement")
        separator = self._separator
        if isinstance(statement, Chain) and (half := _half_metadata(statement)) is not None:
            return self._unclosed_metadata(statement, half, separator.start if separator else self.lexer_end())
        self.statements.append(statement)
        if separator is None or separator.type != "SEMI":
            return self._line(separator.start if separator else self.lexer_end())
        return None

    def _unclosed_metadata(self, chain: Chain, half: Metadata, end: int) -> int:
        """Give up a statement whose metadata swallowed the lines below it; reading goes on at the next line."""
        at = half.span[0]
        source = "".join(self.owner.lines[self.owner.line_of(self.base) :])
        first_line = source[at : source.index("\n", at)]
        if first_line.count('"') % 2:
            quote = at + first_line.rindex('"')
            message = 'This quote is never closed: add " at the end of the text.'
            problem = SyntaxProblem("unclosed-quote", message, (quote, quote + 1), None, "yaml")
        else:
            message = "This @{ is never closed: add } at the end of the text."
            problem = SyntaxProblem("unclosed-bracket", message, (at, at + 2), None, "yaml")
        self.statements.append(Broken(problem, (chain.span[0], at + 2)))
        begin_line = self.owner.line_of(self.base)
        self.reach = self._line(min(end, self.lexer_end() - 1)) - begin_line + 1
        return self.owner.line_of(self.base + at)

    def lexer_end(self) -> int:
        return len(self.lexer.text)

    def _until_separator(self, first: Lexeme, tokens: Iterator[Lexeme]) -> Iterator[Token]:
        yield _token(first)
        for lexeme in tokens:
            if lexeme.type in _SEPARATORS:
                self._separator = lexeme
                return
            yield _token(lexeme)

    def _offending(self, error: UnexpectedToken) -> Lexeme:
        token: Token = error.token
        if token.type == "$END" and self._separator is not None:
            return self._separator
        return Lexeme(token.type, str(token), token.start_pos or 0, token.end_pos or 0)

    def _line(self, offset: int) -> int:
        """The source line of a character of the reduced text."""
        return self.owner.line_of(self.reduced.source(offset))

    def _broken(self, failure: StatementFailure, begin: int) -> int:
        text = self.lexer.text
        begin_line = self.owner.line_of(self.base)
        self.owner.spend(failure.reported - begin)
        last = self._line(min(failure.resume_after, len(text) - 1))
        start, end = self._span(failure.start, failure.end)
        reported = self._reported_line(failure.reported) - begin_line
        # What was read up to the end of the text depends on all that may be added there.
        looked = max(failure.reported, failure.looked)
        looked_at_all = not failure.closed or looked >= len(text) - 1
        if self.lexer.limit < len(text) and (looked_at_all or failure.looked > self.lexer.limit):
            self.lexer.ran_out = True
        self.reach = len(self.owner.lines) if looked_at_all else self._line(looked) - begin_line + 1
        problem = SyntaxProblem(failure.flaw, failure.message, (start, end), reported, failure.kind)
        self.statements.append(Broken(problem, (self._span(begin, begin + 1)[0], end)))
        # An arrow takes in the line breaks before it, so what is wrong may lie on a later line than where reading resumes.
        marked = self._line(min(max(failure.end - 1, failure.start, begin), len(text) - 1))
        return max(last, marked, begin_line)

    def _span(self, start: int, end: int) -> Span:
        length = len(self.lexer.text)
        return (
            self.reduced.source(min(start, length - 1)) - self.base,
            max(self.reduced.source_end(min(end, length)), self.reduced.source(min(start, length - 1))) - self.base,
        )

    def _reported_line(self, offset: int) -> int:
        """The line that Mermaid names: of the first kept character of the reduced line."""
        text = self.lexer.text
        if offset >= len(text):
            return self._last_line()
        line_start = text.rfind("\n", 0, offset) + 1
        return min(self._line(line_start), self._last_line())

    def _last_line(self) -> int:
        lines = self.owner.lines
        last = len(lines) - 1
        while last > 0 and not lines[last].rstrip("\r\n"):
            last -= 1
        return max(last, 0)


_NOT_METADATA = re.compile(r"@\{|--|==|:::|^\s*(?:classDef|class|subgraph|end|style|linkStyle|click)\b", re.MULTILINE)


def _half_metadata(chain: Chain) -> Metadata | None:
    """A metadata block without its closing brace, which Mermaid reads up to a brace of later statements, and refuses."""
    for group in chain.groups:
        for vertex in group:
            metadata = vertex.metadata
            if metadata is None or "\n" not in metadata.body:
                continue
            later = metadata.body.partition("\n")[2]
            if _NOT_METADATA.search(later) and parse_metadata(metadata.body).error is not None:
                return metadata
    return None


_SEPARATORS = frozenset(("NEWLINE", "SEMI", "EOF"))
_WHOLE = {
    "END": 1,
    "ACC_TITLE": 2,
    "ACC_DESCR": 2,
    "ACC_DESCR_BLOCK": 1,
    **dict.fromkeys(("DIRECTION_TB", "DIRECTION_BT", "DIRECTION_RL", "DIRECTION_LR", "DIRECTION_TD"), 1),
}
"""Statements that need no separator after them, by their first token, with how many tokens they take."""


def _token(lexeme: Lexeme) -> Token:
    return Token(lexeme.type, lexeme.value, lexeme.start, end_pos=lexeme.end)
