r"""What the source of a Beamer deck has: sections, frames with their titles, displayed equations. Linear in the text.

Only what LaTeX would typeset counts: no comments, nothing that is listed verbatim or skipped, nothing behind the end of the
document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*")
_UNSEEN = re.compile(
    r"\\begin\{(verbatim\*?|lstlisting|comment|minted|semiverbatim)\}(.*?)(?:\\end\{\1\}|\Z)|\\iffalse\b.*?(?:\\fi\b|\Z)",
    re.DOTALL,
)
_MARK = "\ue000"
"""Stands around the number of lines of a listing that is cut out."""
_STEPS = re.compile(rf"{_MARK}(\d+){_MARK}|\\item(?![A-Za-z])")
_END = re.compile(r"\\end\s*\{document\}|\\endinput\b|\\stop\b")
_INPUT = re.compile(r"\\(?:input|include)\s*\{([^{}]{1,200})\}")
_SECTION = re.compile(r"\\section\*?\s*(?:<[^<>]{0,40}>)?\s*(?:\[[^\[\]]{0,300}\])?\s*\{")
_FRAME = re.compile(r"\\begin\s*\{frame\}|\\frame\s*(?:<[^<>]{0,40}>|\[[^\[\]]{0,200}\])*\s*\{")
_FRAME_END = re.compile(r"\\end\s*\{frame\}")
_OPTIONS = re.compile(r"\s*((?:<[^<>]{0,40}>\s*|\[[^\[\]]{0,200}\]\s*)*)")
_TITLE = re.compile(r"\\(?:frametitle|framesubtitle)\s*(?:<[^<>]{0,40}>)?\s*(?:\[[^\[\]]{0,300}\])?\s*\{")
_HIDDEN = re.compile(r"<\s*(?:presentation\s*:\s*|beamer\s*:\s*)?0\s*>|<\s*(?:handout|article|trans)\s*>")
_NAMED = r"(?:equation|align|gather|multline|eqnarray|displaymath|flalign)\*?"
_UNSHOWN = re.compile(
    r"\\(?:note|[hv]?phantom)\s*(?:<[^<>]{0,40}>|\[[^\[\]]{0,200}\])*\s*\{|\\invisible\s*\{"
    r"|\\(?:only|uncover|visible|onslide)\s*<\s*0\s*>\s*\{"
)
_DISPLAYED = re.compile(rf"\\\\|\\[\[\]]|\$\$|\\begin ?\{{({_NAMED})\}}|\\end ?\{{({_NAMED})\}}")
_RELATION = re.compile(r"[=<>]|\\(?:leq?|geq?|approx|propto|gets|leftarrow|triangleq|sim)\b")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_LONGEST_FRAME = 20_000
_LONGEST_TITLE = 500
_NOT_READ = re.compile(r"\\(?:begin|end) ?\{[^{}]{0,40}\}|\\[A-Za-z]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_COMMANDS = re.compile(r"\\[A-Za-z]+\*?|[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class BeamerFrame:
    """A frame that is shown: its title, how many words it has beside it, how many displayed equations that say something, and how
    many ``steps``: lines of listings, and entries of lists.
    """

    title: str
    words: int
    equations: int
    steps: int


@dataclass(frozen=True, slots=True)
class BeamerSection:
    """A section by its title, with the frames in it."""

    title: str
    frames: tuple[BeamerFrame, ...]


def sections_of(main: str, others: Mapping[str, str]) -> list[BeamerSection]:
    r"""The sections of a document, in their order. ``others`` are further files that it may ``\input``, by path."""
    text = _document(main, others)
    starts = list(_SECTION.finditer(text))
    sections: list[BeamerSection] = []
    for number, start in enumerate(starts):
        title, after = _group(text, start.end() - 1)
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        sections.append(BeamerSection(title, tuple(_frames(text[after:end]))))
    return sections


def same_words(text: str) -> str:
    """A text by its letters and digits alone, in lower case and without commands."""
    return _COMMANDS.sub("", text).lower()


def visible_source(text: str) -> str:
    """A file's text without comments and without what is listed verbatim or skipped; a listing leaves the number of its lines."""
    return _UNSEEN.sub(_listed, _COMMENT.sub(r"\1", text.replace(_MARK, " ")))


def _listed(match: re.Match[str]) -> str:
    if match[1] is None or match[1] == "comment":
        return " "
    return f" {_MARK}{sum(bool(line.strip()) for line in match[2].splitlines())}{_MARK} "


def _document(main: str, others: Mapping[str, str]) -> str:
    def inserted(match: re.Match[str]) -> str:
        name = match[1].strip()
        return visible_source(others.get(name, others.get(f"{name}.tex", "")))

    text = " ".join(_INPUT.sub(inserted, visible_source(main)).split())
    begin = text.find("\\begin{document}")
    text = text[begin:] if begin != -1 else ""
    end = _END.search(text)
    return text[: end.start()] if end else text


def _frames(text: str) -> Iterator[BeamerFrame]:
    at = 0
    while (start := _FRAME.search(text, at)) is not None:
        if start[0].endswith("frame}"):
            closing = _FRAME_END.search(text, start.end())
            body_end, at = (closing.start(), closing.end()) if closing else (len(text), len(text))
            options = _OPTIONS.match(text, start.end())
            given, place = (options[1], options.end()) if options else ("", start.end())
            title, body_start = _group(text, place) if text[place : place + 1] == "{" else ("", place)
        else:
            given, title, body_start = start[0], "", start.end()
            _, at = _group(text, start.end() - 1, _LONGEST_FRAME)
            body_end = at - 1
        if _HIDDEN.search(given):
            continue
        body = _shown(text[body_start:body_end])
        own = [_group(body, each.end() - 1)[0] for each in _TITLE.finditer(body)]
        words = max(0, _words(body) - sum(map(_words, own)))
        steps = sum(int(step[1] or 1) for step in _STEPS.finditer(body))
        yield BeamerFrame(" ".join([title, *own]), words, _equations(body), steps)


def _shown(body: str) -> str:
    """A frame's text without notes, and without what is on none of its slides."""
    parts: list[str] = []
    at = 0
    while (start := _UNSHOWN.search(body, at)) is not None:
        parts.append(body[at : start.start()])
        _, at = _group(body, start.end() - 1, _LONGEST_FRAME)
    return " ".join([*parts, body[at:]])


def _words(text: str) -> int:
    """How many words a reader sees, without commands and names of environments."""
    return len(_WORD.findall(_NOT_READ.sub(" ", text)))


def _equations(body: str) -> int:
    """How many displayed equations say something."""
    count = 0
    closing, start = "", 0
    for token in _DISPLAYED.finditer(body):
        opened = {"\\[": "\\]", "$$": "$$"}.get(token[0]) or (f"end {token[1]}" if token[1] else "")
        closes = f"end {token[2]}" if token[2] else token[0]
        if closing and closes == closing:
            inside = body[start : token.start()]
            count += bool(same_words(inside)) and _RELATION.search(inside) is not None
            closing = ""
        elif not closing and opened:
            closing, start = opened, token.end()
    return count


def _group(text: str, start: int, longest: int = _LONGEST_TITLE) -> tuple[str, int]:
    """What is in the braces that open at ``start``, and the place behind them. Not closed soon: all that is there."""
    end = min(len(text), start + longest)
    depth = 0
    for match in _BRACE.finditer(text, start, end):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return text[start + 1 : match.start()], match.end()
    return text[start + 1 : end], end
