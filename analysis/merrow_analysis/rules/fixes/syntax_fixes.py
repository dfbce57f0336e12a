"""Repairs of statements that can't be read: each is tried on the grammar before it is offered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.graph.flow import Flowchart
from merrow_analysis.rules.fixes.arrow_fixes import arrows_meant
from merrow_analysis.rules.fixes.quote_fixes import quotes_meant, straight_quotes
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.parser import Diagram, parse_diagram
from merrow_analysis.syntax.tree import Block, Broken, Chain, Statement, SyntaxProblem
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines

_ARROW = re.compile(r"\s*(?:[xo<]?--|[xo<]?==|[xo<]?-\.|~~~|:::|;|$)")
_CLOSERS = {
    "[": "]",
    "(": ")",
    "{": "}",
    "[[": "]]",
    "((": "))",
    "([": "])",
    "[(": ")]",
    "{{": "}}",
    '"': '"',
    "|": "|",
    "@{": " }",
}
_AFTER_NODE = re.compile(r"\s*(?:[xo<]?--|[xo<]?==|[xo<]?-\.|~~~|:::|@\{|&|;|$)")
_LONGEST_QUOTED = 2_000
"""Characters of a line in which labels are put in quotes."""
_MOST_READ = 40
"""Lines that are read for that."""
_MOST_ENDS = 6
_NO_ARROW = ("syntax-error", "unclosed-bracket", "bracket-in-label")
"""What is said of a statement whose arrow isn't one: ``A->B`` opens a bracket."""
_KEYWORDS = ("flowchart", "graph")
_DIRECTIONS = frozenset(("TD", "TB", "LR", "RL", "BT"))
_ARROW_ALONE = re.compile(r"(?:[xo<]?(?:--|==|-?\.+-?|-)[-=.xo>]*|~~~+)(?:\|[^|]*\|)?\s*")
_WHOLE_ARROW = re.compile(r"\s(?:--\s[^-|>]+\s-->|[xo<]?(?:--+[->xo]|==+[=>xo]|-\.+-[>xo]?)(?:\|[^|]*\|)?)(?=\s)")
_WORDS = re.compile(r"(?!\d)[\w'.,?!]+(?:-\w+)*(?: +[\w'.,?!]+(?:-\w+)*)+")
_WORD = re.compile(r"[^\W_]+")
_UNQUOTED = re.compile(r"[\w ]+")
_END = re.compile(r"end\b")
_APART = (" ", "\t", "]", ")", "}")
"""What may be before an arrow that is missing; elsewhere a word is only half typed."""
_PLAIN_ID = re.compile(r"[\w-]+")
_HEADER = re.compile(r"\s*(?:flowchart|graph)\b")
_LINE = re.compile(r"[^\r\n]*")


def fixes_for(problem: SyntaxProblem, block: Block, diagram: Diagram, flow: Flowchart) -> Iterator[Fix]:
    """The repairs of a broken statement that make it readable; none where no simple edit does."""
    line_number, line, column = _line_of(block, problem.span[0])
    if problem.flaw == "misplaced-front-matter":
        yield from front_matter_moves(block.line + line_number, diagram)
        return
    yield from straight_quotes(block.line + line_number, line, reads)
    maker = _MAKERS.get(problem.flaw)
    made = [] if maker is None else maker(problem, block.line + line_number, line, column)
    yield from made or quotes_meant(block.line + line_number, line, column, reads)
    if problem.flaw in _NO_ARROW:
        yield from arrows_meant(block.line + line_number, line, flow.chart.nodes, reads)
    if problem.flaw == "syntax-error":
        yield from _led_on(block.line + line_number, line, column, flow)
        yield from _bracketed(block.line + line_number, line)


def _line_of(block: Block, offset: int) -> tuple[int, str, int]:
    """The line of a block that holds an offset: its number, its text without line ending, and the column."""
    position = block.position(offset)
    number = position.line - block.line
    # A block may hold thousands of statements, so only this line is looked at.
    line = _LINE.match(block.text, offset - position.column)
    return number, "" if line is None else line[0], position.column


def reads(line: str) -> bool:
    """Whether a line by itself is Mermaid."""
    diagram = parse_diagram(f"flowchart TD\n{line}\n")
    return all(_is_read(statement) for block in diagram.blocks for statement in block.statements)


def _is_read(statement: Statement) -> bool:
    if isinstance(statement, Chain):
        written = [vertex.metadata for group in statement.groups for vertex in group if vertex.metadata is not None]
        return all(parse_metadata(metadata.body).error is None for metadata in written)
    return not isinstance(statement, Broken)


def _comment(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    statement = line[:column].rstrip()
    indent = line[: len(line) - len(line.lstrip())]
    comment = line[column:].rstrip()
    whole = Range(Position(line_number, 0), Position(line_number, len(line)))
    if not reads(statement):
        return []
    if comment == "%%":  # alone in its line it would be a node
        return [Fix("Remove the empty comment", (TextEdit(whole, statement),))]
    return [Fix("Move the comment to a line of its own", (TextEdit(whole, f"{indent}{comment}\n{statement}"),))]


def _unclosed(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    openers = ("@{", "[[", "((", "([", "[(", "{{")
    opener = next((text for text in openers if line.startswith(text, column)), line[column : column + 1])
    closer = _CLOSERS.get(opener)
    if closer is None:
        return []
    rest = line[column + len(opener) :]
    quoted = rest.lstrip().startswith('"') and opener != '"'
    after = column + len(opener)
    if quoted:
        close = line.find('"', line.index('"', after) + 1)
        after = close + 1 if close != -1 else after
    found = _ARROW.search(line, after)
    places = [found.start() if found else len(line.rstrip()), len(line.rstrip())]
    if opener == '"':
        # The bracket that should follow the quote stands there already.
        brackets = [line.rfind(mark) for mark in ("])", ")]", "]]", "))", "}}", "]", ")", "}")]
        places = [place for place in brackets if place > column] + places
    elif opener == "|":
        places += [place for place in range(len(line.rstrip()) - 1, column, -1) if line[place].isspace()]
    closers = [closer]
    if opener == '"':
        # Neither the quote nor the bracket around it is closed.
        before = next((text for text in reversed(_CLOSERS) if line.endswith(text, 0, column) and text != opener), "")
        closers += [closer + _CLOSERS[before]] if before else []
        closers += ['" }'] if "@{" in line[:column] else []
    elif line.count('"', column) % 2:
        closers.append(f'"{closer}')
    for mark in closers:
        for place in places:
            if place > column and reads(line[:place] + mark + line[place:]):
                at = Position(line_number, place)
                return [Fix(f"Add {mark.strip()}", (TextEdit(Range(at, at), mark),), Applicability.UNSAFE)]
    return []


def _unfinished_arrow(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    """Take away an arrow that nothing follows on its line."""
    if not _ARROW_ALONE.fullmatch(line, column):
        return []
    kept = line[:column].rstrip()
    if not kept or not reads(kept):
        return []
    place = Range(Position(line_number, len(kept)), Position(line_number, len(line.rstrip())))
    return [Fix("Remove the unfinished arrow", (TextEdit(place, ""),), Applicability.UNSAFE)]


def _led_on(line_number: int, line: str, column: int, flow: Flowchart) -> Iterator[Fix]:
    """Lead an arrow at the end of a line to a node, or draw one between two nodes."""
    end = len(line.rstrip())
    if _ARROW_ALONE.fullmatch(line, column):
        source = _ends(line[:column])
        later = (
            name for name, node in flow.chart.nodes.items() if flow.here(node.mentions[0].block).line > line_number
        )
        targets = [*(["RETURN"] if "RETURN" in flow.chart.nodes else ()), *islice(later, 1)]
        for name in dict.fromkeys(targets):
            if source is not None and name != source[1] and reads(f"{line[:end]} {name}"):
                at = Position(line_number, end)
                yield Fix(f"Lead it to {name}", (TextEdit(Range(at, at), f" {name}"),), Applicability.UNSAFE)
        return
    if not line[:column].endswith(_APART):
        return
    before, after = _ends(line[:column]), _ends(line[column:])
    if before is not None and after is not None and reads(f"{line[:column]}--> {line[column:]}"):
        at = Position(line_number, column)
        title = f"Write {before[1]} --> {after[0]}"
        yield Fix(title, (TextEdit(Range(at, at), "--> "),), Applicability.UNSAFE)


def _bracketed(line_number: int, line: str) -> Iterator[Fix]:
    """Put words between arrows into brackets, behind an id that is made of them: ``A --> Read the mail``."""
    # The diagram's own first words are no text of a node.
    if len(line) > _LONGEST_QUOTED or _HEADER.match(line):
        return
    arrows = list(_WHOLE_ARROW.finditer(line))
    starts, ends = [0, *(arrow.end() for arrow in arrows)], [*(arrow.start() for arrow in arrows), len(line)]
    edits: list[TextEdit] = []
    written = ""
    done = 0
    for start, end in zip(starts, ends, strict=True):
        words = line[start:end].strip()
        if arrows and _WORDS.fullmatch(words):
            begin = line.index(words, start)
            label = words if _UNQUOTED.fullmatch(words) else f'"{words}"'
            node = f"{'_'.join(_WORD.findall(words))}[{label}]"
            place = Range(Position(line_number, begin), Position(line_number, begin + len(words)))
            edits.append(TextEdit(place, node))
            written += line[done:begin] + node
            done = begin + len(words)
    if edits and reads(written + line[done:]):
        title = f"Write {edits[0].new_text}" if len(edits) == 1 else "Put the words into brackets"
        yield Fix(title, tuple(edits), Applicability.UNSAFE)


def _ends(text: str) -> tuple[str, str] | None:
    """The first and the last node of a chain; None for anything else."""
    statements = [one for block in parse_diagram(f"flowchart TD\n{text}\n").blocks for one in block.statements]
    chains = [one for one in statements if isinstance(one, Chain)]
    if len(chains) != 1 or any(isinstance(one, Broken) for one in statements):
        return None
    ends = chains[0].groups[0][0].name.text, chains[0].groups[-1][-1].name.text
    return ends if all(map(_PLAIN_ID.fullmatch, ends)) else None


def front_matter_moves(line: int, diagram: Diagram) -> Iterator[Fix]:
    """Close a front matter that begins at a line above the diagram, or move it to the top of the file."""
    lines = [one for block in diagram.blocks for one in split_lines(block.text)]
    begin = next((number for number in range(line + 1, len(lines)) if _HEADER.match(lines[number])), None)
    closing = next((number for number in range(line + 1, len(lines)) if lines[number].strip() == "---"), None)
    edits: tuple[TextEdit, ...] = ()
    if line == 0 and closing is None and begin is not None:
        at = Position(begin, 0)
        title, edits = "Close the front matter with ---", (TextEdit(Range(at, at), "---\n"),)
    elif closing is not None:
        margin = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
        moved = "".join(f"{one.rstrip().removeprefix(margin)}\n" for one in lines[line : closing + 1])
        gone = TextEdit(Range(Position(line, 0), Position(closing + 1, 0)), "" if line else moved)
        title = "Move the front matter to the top"
        edits = (gone,) if line == 0 else (TextEdit(Range(Position(0, 0), Position(0, 0)), moved), gone)
    if not edits:
        return
    after = parse_diagram(apply_edits("".join(lines), edits))
    front = after.front_matter
    if after.is_flowchart and front is not None and read_front_matter(front[0].body, front[0].indent).error is None:
        yield Fix(title, edits, Applicability.UNSAFE)


def _reserved(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    if not _END.match(line, column):
        return []
    repaired = f"{line[:column]}End{line[column + 3 :]}"
    if not reads(repaired):
        return []
    place = Range(Position(line_number, column), Position(line_number, column + 3))
    return [Fix("Write End", (TextEdit(place, "End"),), Applicability.UNSAFE)]


def _quote_label(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    """Quotes around the label, and around others behind it that need them, each to the bracket after which its node can end."""
    spans = _labels_to_quote(line, column, [_MOST_READ]) if len(line) <= _LONGEST_QUOTED else []
    if not spans:
        return []
    edits = tuple(
        TextEdit(Range(Position(line_number, start), Position(line_number, end)), f'"{line[start:end]}"')
        for start, end in spans
    )
    # An arrow in quotes may have been one.
    clear = not any(_ARROW_ALONE.search(line, start, end) for start, end in spans)
    title = "Put the label in quotes" if len(spans) == 1 else "Put the labels in quotes"
    return [Fix(title, edits, Applicability.SAFE if clear else Applicability.UNSAFE)]


def _labels_to_quote(line: str, column: int, left: list[int]) -> list[tuple[int, int]]:
    """The labels from a column on that make a line readable once they are in quotes; ``left`` is how many lines may be read."""
    for start in range(column, -1, -1):
        opener = next(
            (text for text in _CLOSERS if len(text) == 2 and line.startswith(text, start)), line[start : start + 1]
        )
        closer = _CLOSERS.get(opener)
        if closer is None or opener == '"' or (start and line[start - 1] in "[({|"):
            continue
        inside = start + len(opener)
        for end in _ends_of_label(line, inside, closer):
            if left[0] == 0 or '"' in line[inside:end]:
                break
            left[0] -= 1
            written = f'{line[:inside]}"{line[inside:end]}"{line[end:]}'
            next_flaw = _flaw(written)
            if next_flaw is None:
                return [(inside, end)]
            if next_flaw > end + 2:
                others = _labels_to_quote(written, next_flaw, left)
                if others and others[0][0] > end + 2:
                    return [(inside, end), *((begin - 2, last - 2) for begin, last in others)]
    return []


def _ends_of_label(line: str, inside: int, closer: str) -> list[int]:
    """Where a label may end: first where its node may, then at the last bracket."""
    places = [match.start() for match in re.finditer(re.escape(closer), line[inside + 1 :])]
    found = [inside + 1 + place for place in places]
    ends = [end for end in found if closer == "|" or _AFTER_NODE.match(line, end + len(closer))]
    return list(dict.fromkeys([*ends[:_MOST_ENDS], *found[-1:]]))


def _flaw(line: str) -> int | None:
    """The column of a bracket in a label, or -1 for anything else that can't be read; None for a line that is Mermaid."""
    if reads(line):
        return None
    for block in parse_diagram(f"flowchart TD\n{line}\n").blocks:
        for statement in block.statements:
            if isinstance(statement, Broken):
                problem = statement.problem
                return block.position(problem.span[0]).column if problem.flaw == "bracket-in-label" else -1
    return -1


def _no_header(problem: SyntaxProblem, line_number: int, line: str, _column: int) -> list[Fix]:
    if problem.kind != "not-a-diagram":
        return []
    at = Position(line_number, 0)
    word, _, direction = line.strip().partition(" ")
    keyword = closest(word, _KEYWORDS) or next((known for known in _KEYWORDS if word and known.startswith(word)), None)
    if keyword is not None:
        header = f"{keyword} {direction.strip().upper() if direction.strip().upper() in _DIRECTIONS else 'TD'}"
        whole = Range(at, Position(line_number, len(line)))
        return [Fix(f"Write {header}", (TextEdit(whole, header),), Applicability.UNSAFE)]
    if not reads(line):
        return []
    return [Fix("Begin with flowchart TD", (TextEdit(Range(at, at), "flowchart TD\n"),), Applicability.UNSAFE)]


_MAKERS = {
    "syntax-error": _unfinished_arrow,
    "unclosed-bracket": _unclosed,
    "unclosed-quote": _unclosed,
    "comment-after-statement": _comment,
    "reserved-word": _reserved,
    "bracket-in-label": _quote_label,
    "not-a-diagram": _no_header,
}
