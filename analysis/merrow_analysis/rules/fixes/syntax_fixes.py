"""Repairs of statements that can't be read: each is tried on the grammar before it is offered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.graph.flow import Flowchart
from merrow_analysis.rules.fixes.arrow_fixes import arrows_meant
from merrow_analysis.rules.fixes.id_fixes import ReservedIds
from merrow_analysis.rules.fixes.meant_fixes import label_fixes
from merrow_analysis.rules.fixes.quote_fixes import quotes_meant, straight_quotes
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.meant import read_over_lines
from merrow_analysis.syntax.parser import Diagram, parse_diagram
from merrow_analysis.syntax.tree import Block, Broken, Chain, Statement, SyntaxProblem
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines

_ARROW = re.compile(r"\s*(?:[xo<]?--|[xo<]?==|[xo<]?-\.|~~~|:::|;|$)")
_CLOSERS = {'"': ('"', '" }'), "|": ("|",), "@{": (" }",)}
_LONGEST_BRACKETED = 2_000
"""Characters of a line in which words are put in brackets."""
_NO_ARROW = ("syntax-error", "unclosed-bracket", "bracket-in-label")
"""What is said of a statement whose arrow isn't one: ``A->B`` opens a bracket."""
_MEANT = (
    "syntax-error",
    "unclosed-bracket",
    "unclosed-quote",
    "bracket-in-label",
    "reserved-word",
    "comment-after-statement",
)
"""What may be wrong with a line that makes sense as it looks."""
_KEYWORDS = ("flowchart", "graph")
_DIRECTIONS = frozenset(("TD", "TB", "LR", "RL", "BT"))
_ARROW_ALONE = re.compile(r"(?:[xo<]?(?:--|==|-?\.+-?|-)[-=.xo>]*|~~~+)(?:\|[^|]*\|)?\s*")
_BEGUN_ARROW = re.compile(
    r"(?<=[ \t\])}])(?:[xo<]?(?:--|==|-\.)[ \t](?P<words>[^-=|>]*)"
    r"|(?:[xo<]?(?:--|==|-?\.+-?|-)[-=.xo>]*|~~~+)[ \t]*(?P<bars>\|[^|]*\|?)?[ \t]*)$"
)
"""An arrow at the end of a line: its text has no end, or nothing follows."""
_WHOLE_ARROW = re.compile(r"\s(?:--\s[^-|>]+\s-->|[xo<]?(?:--+[->xo]|==+[=>xo]|-\.+-[>xo]?)(?:\|[^|]*\|)?)(?=\s)")
_AND_AT_END = re.compile(r"[ \t]+&[ \t]*(?P<comment>(?:%%|//|#).*)?$")
_WORDS = re.compile(r"(?!\d)[\w'.,?!]+(?:-\w+)*(?: +[\w'.,?!]+(?:-\w+)*)+")
_WORD = re.compile(r"[^\W_]+")
_UNQUOTED = re.compile(r"[\w ]+")
_APART = (" ", "\t", "]", ")", "}")
"""What may be before an arrow that is missing; elsewhere a word is only half typed."""
_PLAIN_ID = re.compile(r"[\w-]+")
_BEFORE_VALUE = re.compile(r"[:,\[{][ \t]*$")
_CLICK = re.compile(r"\s*click\b")
_STATEMENTS = ("subgraph", "direction", "classDef", "linkStyle", "style", "class", "click")
_FIRST_WORD = re.compile(r"(\s*)([A-Za-z]+)(?=\s+\S)")
_DIRECTION = re.compile(r"(\s*direction\s+)(tb|td|bt|rl|lr)\s*", re.IGNORECASE)
_HEADER = re.compile(r"\s*(?:flowchart|graph)\b")
_CLASSED = re.compile(r"\s*([\w-]+(?:,[\w-]+)*)[ \t]+([\w-]+)[ \t]*;?")
"""A statement that gives nodes a class, without its first word."""
_LINE = re.compile(r"[^\r\n]*")
_GAP = re.compile(r"(?<=\S)(?:[ \t]{2,}(?=\S)|[ \t]+(?=end\b))")
_MOST_GAPS = 8


def fixes_for(
    problem: SyntaxProblem, block: Block, diagram: Diagram, flow: Flowchart, reserved: ReservedIds
) -> Iterator[Fix]:
    """The repairs of a broken statement that make it readable; none where no simple edit does."""
    line_number, line, column = _line_of(block, problem.span[0])
    if problem.flaw == "misplaced-front-matter":
        yield from front_matter_moves(block.line + line_number, diagram)
        return
    yield from straight_quotes(block.line + line_number, line, reads)
    if problem.kind == "not-a-diagram":
        yield from _no_header(block.line + line_number, line, diagram)
        return
    if problem.flaw in _MEANT and reserved.is_below_header(block.line + line_number):
        following = reserved.lines_from(block.line + line_number + 1)
        meant = [*reserved.fixes(block.line + line_number), *_labels_meant(block, line_number, line, following)]
        meant = meant or _continued(block.line + line_number, line, following)
        yield from meant
        if meant:
            return
    maker = _MAKERS.get(problem.flaw)
    below = reserved.lines_from(block.line + line_number + 1)
    made = [] if maker is None else maker(below, block.line + line_number, line, column)
    if not made and block.line_count > 1:
        made = _unfinished_arrow(below, block.line, block.text.partition("\n")[0].rstrip("\r"), 0)
    yield from made or quotes_meant(block.line + line_number, line, column, reads)
    if problem.flaw in _NO_ARROW:
        yield from arrows_meant(block.line + line_number, line, flow.chart.nodes, reads)
    if problem.flaw == "syntax-error":
        statement = _statement_meant(block.line + line_number, line, flow)
        if statement is not None:
            yield statement
            return
    if problem.flaw in ("syntax-error", "reserved-word", "bracket-in-label"):
        yield from _parted(block.line + line_number, line)
    if problem.flaw == "syntax-error":
        classed = _CLASSED.fullmatch(line)
        if classed is not None and classed[2] in flow.class_defs:
            at = Position(block.line + line_number, classed.start(1))
            yield Fix("Write class before it", (TextEdit(Range(at, at), "class "),), Applicability.UNSAFE)
            return
        yield from _led_on(block.line + line_number, line, column, flow)
        yield from _bracketed(block.line + line_number, line)


def _labels_meant(block: Block, line_number: int, line: str, following: Sequence[str]) -> list[Fix]:
    """The repair of a line's labels; of a statement of several lines that of all where only labels go on over the line breaks, or
    of its first line, from which Mermaid may read on since something in it has no end. ``following`` are the lines after the
    block, in which such a label may end.
    """
    lines = [part.rstrip("\r\n") for part in split_lines(block.text)][: block.line_count]
    text = "\n".join((*lines, *following))
    over = read_over_lines(text, 0)
    tries = [(block.line, text[: over.looked])] if over.meant is not None else []
    if block.line_count > 1:
        tries.append((block.line, "\n".join(lines)))
    tries += [(block.line + line_number, line), (block.line, lines[0])]
    return next((made for made in (list(label_fixes(*lines)) for lines in dict.fromkeys(tries)) if made), [])


def _continued(line_number: int, line: str, following: Sequence[str]) -> list[Fix]:
    """Lead a line that ends with ``&`` on into the next one, as other languages do; a comment goes above it."""
    end = _AND_AT_END.search(line) if len(line) <= _LONGEST_BRACKETED else None
    if end is None or not reads(line[: end.start()]):
        return []
    indent = len(line) - len(line.lstrip())
    words = (end["comment"] or "").lstrip("%/#").strip()
    moved = TextEdit(
        Range(Position(line_number, indent), Position(line_number, indent)), f"%% {words}\n{line[:indent]}"
    )
    comment = (moved,) if words else ()
    count = next((count for count, other in enumerate(following, 1) if other.strip()), 0)
    after = following[count - 1] if count else ""
    begin = Position(line_number, end.start())
    if count and reads(after) and reads(f"{line[: end.start()]} & {after.strip()}"):
        to = Position(line_number + count, len(after) - len(after.lstrip()))
        joined = TextEdit(Range(begin, to), " & ")
        return [Fix("Join the next line", (*comment, joined), Applicability.UNSAFE)]
    gone = TextEdit(Range(begin, Position(line_number, len(line))), "")
    return [Fix("Remove the & at the end", (*comment, gone), Applicability.UNSAFE)]


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


def _comment(below: Sequence[str], line_number: int, line: str, column: int) -> list[Fix]:
    statement = line[:column].rstrip()
    indent = line[: len(line) - len(line.lstrip())]
    comment = line[column:].rstrip()
    if not statement:
        words = comment.lstrip("/# \t")
        place = Range(Position(line_number, column), Position(line_number, column + len(comment)))
        return (
            [Fix("Write it as a comment with %%", (TextEdit(place, f"%% {words}"),), Applicability.UNSAFE)]
            if words
            else []
        )
    whole = Range(Position(line_number, 0), Position(line_number, len(line)))
    if not any(reads("\n".join((statement, *below[:count]))) for count in range(len(below) + 1)):
        return []
    if comment == "%%":  # alone in its line it would be a node
        return [Fix("Remove the empty comment", (TextEdit(whole, statement),))]
    return [Fix("Move the comment to a line of its own", (TextEdit(whole, f"{indent}{comment}\n{statement}"),))]


def _unclosed(below: Sequence[str], line_number: int, line: str, column: int) -> list[Fix]:
    """End a metadata block, a value in it or the text on an arrow; brackets are for `meant_fixes`."""
    opener = "@{" if line.startswith("@{", column) else line[column : column + 1]
    closers = _CLOSERS.get(opener, ())
    if opener == '"' and not (_CLICK.match(line) or ("@{" in line[:column] and _BEFORE_VALUE.search(line, 0, column))):
        return []
    if opener == "@{" and line.count('"', column) % 2:
        closers = ('" }',)
    end = len(line.rstrip())
    match = _ARROW.search(line, column + len(opener))
    places = [match.start() if match else end, end]
    if opener == '"':
        places = [place for place in (line.rfind("}"),) if place > column] + places
    elif opener == "|":
        places += [place for place in range(end - 1, column, -1) if line[place].isspace()]
    for mark in closers:
        for place in places:
            if place > column and reads(line[:place] + mark + line[place:]):
                at = Position(line_number, place)
                return [Fix(f"Add {mark.strip()}", (TextEdit(Range(at, at), mark),), Applicability.UNSAFE)]
    return _unfinished_arrow(below, line_number, line, column) if opener == "|" else []


def _unfinished_arrow(_below: Sequence[str], line_number: int, line: str, _column: int) -> list[Fix]:
    """Take away an arrow that nothing follows on its line; one with a text becomes a comment, so that the text is kept."""
    arrow = _BEGUN_ARROW.search(line) if len(line) <= _LONGEST_BRACKETED else None
    kept = "" if arrow is None else line[: arrow.start()].rstrip()
    if arrow is None or not kept or not reads(kept):
        return []
    edits = [TextEdit(Range(Position(line_number, len(kept)), Position(line_number, len(line.rstrip()))), "")]
    if _WORD.search(arrow["words"] or arrow["bars"] or "") is None:
        return [Fix("Remove the unfinished arrow", tuple(edits), Applicability.UNSAFE)]
    begin = Position(line_number, len(line) - len(line.lstrip()))
    comment = TextEdit(Range(begin, begin), f"%% {arrow[0].strip()}\n{line[: begin.column]}")
    return [Fix("Move the unfinished arrow to a comment", (comment, *edits), Applicability.UNSAFE)]


def _statement_meant(line_number: int, line: str, flow: Flowchart) -> Fix | None:
    """The word that a statement begins with, or the direction, in Mermaid's own spelling."""
    direction, first = _DIRECTION.fullmatch(line), _FIRST_WORD.match(line)
    if direction is not None:
        place, word = direction.span(2), direction[2].upper()
    elif first is not None and first[2] not in flow.chart.nodes:
        near = closest(first[2], _STATEMENTS)
        if near is None or near == first[2]:
            return None
        place, word = first.span(2), near
    else:
        return None
    if not reads(line[: place[0]] + word + line[place[1] :]):
        return None
    edit = TextEdit(Range(Position(line_number, place[0]), Position(line_number, place[1])), word)
    return Fix(f"Write {word}", (edit,), Applicability.UNSAFE)


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
    if (
        before is not None
        and after is not None
        and before[1] != after[0]
        and reads(f"{line[:column]}--> {line[column:]}")
    ):
        at = Position(line_number, column)
        title = f"Write {before[1]} --> {after[0]}"
        yield Fix(title, (TextEdit(Range(at, at), "--> "),), Applicability.UNSAFE)


def _bracketed(line_number: int, line: str) -> Iterator[Fix]:
    """Put words between arrows into brackets, behind an id that is made of them: ``A --> Read the mail``."""
    # The diagram's own first words are no text of a node.
    if len(line) > _LONGEST_BRACKETED or _HEADER.match(line):
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
    statements = [
        statement for block in parse_diagram(f"flowchart TD\n{text}\n").blocks for statement in block.statements
    ]
    chains = [statement for statement in statements if isinstance(statement, Chain)]
    if len(chains) != 1 or any(isinstance(statement, Broken) for statement in statements):
        return None
    ends = chains[0].groups[0][0].name.text, chains[0].groups[-1][-1].name.text
    return ends if all(map(_PLAIN_ID.fullmatch, ends)) else None


def front_matter_moves(line: int, diagram: Diagram) -> Iterator[Fix]:
    """Close a front matter that begins at a line above the diagram, or move it to the top of the file."""
    lines = [text for block in diagram.blocks for text in split_lines(block.text)]
    begin = next((number for number in range(line + 1, len(lines)) if _HEADER.match(lines[number])), None)
    closing = next((number for number in range(line + 1, len(lines)) if lines[number].strip() == "---"), None)
    edits: tuple[TextEdit, ...] = ()
    if line == 0 and closing is None and begin is not None:
        at = Position(begin, 0)
        title, edits = "Close the front matter with ---", (TextEdit(Range(at, at), "---\n"),)
    elif closing is not None:
        margin = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
        moved = "".join(f"{text.rstrip().removeprefix(margin)}\n" for text in lines[line : closing + 1])
        gone = TextEdit(Range(Position(line, 0), Position(closing + 1, 0)), "" if line else moved)
        title = "Move the front matter to the top"
        edits = (gone,) if line == 0 else (TextEdit(Range(Position(0, 0), Position(0, 0)), moved), gone)
    if not edits:
        return
    after = parse_diagram(apply_edits("".join(lines), edits))
    front = after.front_matter
    if after.is_flowchart and front is not None and read_front_matter(front[0].body, front[0].indent).error is None:
        yield Fix(title, edits, Applicability.UNSAFE)


def _no_header(line_number: int, line: str, diagram: Diagram) -> Iterator[Fix]:
    """Write the first line of a diagram, or move it to where it belongs."""
    at = Position(line_number, 0)
    word, _, direction = line.strip(" \t;").partition(" ")
    keyword = closest(word, _KEYWORDS) or next((known for known in _KEYWORDS if word and known.startswith(word)), None)
    if keyword is not None:
        header = f"{keyword} {direction.strip().upper() if direction.strip().upper() in _DIRECTIONS else 'TD'}"
        whole = Range(at, Position(line_number, len(line)))
        yield Fix(f"Write {header}", (TextEdit(whole, header),), Applicability.UNSAFE)
        return
    lines = [part for block in diagram.blocks for part in split_lines(block.text)]
    below = next((n for n in range(line_number + 1, len(lines)) if _HEADER.match(lines[n])), None)
    if line.strip(" \t;").upper() in _DIRECTIONS:
        header = f"flowchart {line.strip(' ;').strip().upper()}"
        edit = TextEdit(Range(at, Position(line_number, len(line))), header)
        yield Fix(f"Write {header}", (edit,), Applicability.UNSAFE)
        return
    if not line.strip() or not (reads(line) or below is not None):
        return
    if below is None:
        yield Fix("Begin with flowchart TD", (TextEdit(Range(at, at), "flowchart TD\n"),), Applicability.UNSAFE)
        return
    header = lines[below].strip()
    moved = TextEdit(Range(at, at), f"{header}\n"), TextEdit(Range(Position(below, 0), Position(below + 1, 0)), "")
    if parse_diagram(apply_edits("".join(lines), moved)).is_flowchart:
        yield Fix(f"Begin with {header}", moved, Applicability.UNSAFE)


def _parted(line_number: int, line: str) -> Iterator[Fix]:
    """Begin a new line where another statement begins: ``A --> B    B --> C``."""
    if len(line) > _LONGEST_BRACKETED or _HEADER.match(line):
        return
    indent = line[: len(line) - len(line.lstrip())]
    for gap in islice(_GAP.finditer(line), _MOST_GAPS):
        before, after = line[: gap.start()], line[gap.end() :]
        if reads(before) and reads(after) and before.strip() and not _PLAIN_ID.fullmatch(after.rstrip()):
            place = Range(Position(line_number, gap.start()), Position(line_number, gap.end()))
            edit = TextEdit(place, f"\n{indent}")
            first = _PLAIN_ID.match(after)
            title = "Begin a new line here" if first is None else f"Begin a new line with {first[0]}"
            yield Fix(title, (edit,), Applicability.UNSAFE)
            return


_MAKERS = {
    "syntax-error": _unfinished_arrow,
    "unclosed-bracket": _unclosed,
    "unclosed-quote": _unclosed,
    "comment-after-statement": _comment,
}
