"""Drawings broken as people break them, and what a repair kept: ``python -m tests.broken_drawings [FILE]`` prints the table.

Each kind of break is one that is found in public flowcharts. A broken drawing comes with the drawing that was meant.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from merrow_analysis.syntax.structure import parse_record
from merrow_optimizer.repair.search import repair

DRAWINGS = Path(__file__).resolve().parents[2] / "shared" / "field" / "drawings.jsonl"
RESERVED = ("end", "graph", "class", "style", "subgraph", "flowchart", "classDef", "linkStyle")
_LABELLED = re.compile(r'(?P<before>^ *(?P<id>\w+))(?P<open>[\[({/>\\]+)"(?P<label>[^"]*)"(?P<close>[\])}/\\]+)$')
_ARROW_LABEL = re.compile(r'(?<!<)(?P<arrow>-->|-\.->|==>)\|"(?P<label>[^"]*)"\|')
_TITLE = re.compile(r'(?P<before>^ *subgraph )(?P<id>\w+)\["(?P<label>[^"]*)"\]$')
_EDGE = re.compile(r"(?P<indent> *)(?P<source>\w+) (?P<arrow>\S+) (?P<target>\w+)$")


class Broken(NamedTuple):
    """A drawing that Mermaid refuses, and the one that its author meant: the same but for what is broken."""

    text: str
    meant: str


class Kept(NamedTuple):
    """What was found of a repaired drawing. ``lost`` says in words what is not as it was meant, and is empty where all is."""

    is_legal: bool
    lost: str
    commented: int
    text: str


Break = Callable[[str, Random], Broken | None]


def _lines(text: str, pattern: re.Pattern[str]) -> list[tuple[int, re.Match[str]]]:
    return [(number, found) for number, line in enumerate(text.splitlines()) if (found := pattern.search(line))]


def _replaced(text: str, number: int, found: re.Match[str], new: str) -> str:
    lines = text.splitlines()
    lines[number] = lines[number][: found.start()] + new + lines[number][found.end() :]
    return "\n".join(lines) + "\n"


def _drawn_inline(text: str, random: Random) -> str:
    """The same drawing with the labels of an arrow's ends where the arrow is, and some things in another notation."""
    places = _lines(text, _EDGE)
    if not places or random.random() < 0.4:
        return text
    text = _in_another_style(text, random)
    places = _lines(text, _EDGE)
    number, edge = random.choice(places)
    lines = text.splitlines()
    for end in ("source", "target"):
        name = edge[end]
        own = [n for n, found in _lines("\n".join(lines), _LABELLED) if found["id"] == name]
        if len(own) == 1 and edge["source"] != edge["target"] and lines[own[0]].startswith("    N"):
            declared = lines[own[0]].strip()
            lines[number] = re.sub(rf"\b{name}\b(?![\[({{|\"])", lambda _, text=declared: text, lines[number], count=1)
            lines[own[0]] = "%% moved"
    return "\n".join(line for line in lines if line != "%% moved") + "\n"


def _in_another_style(text: str, random: Random) -> str:
    """The same drawing with some labels without quotes, and some texts within their arrows."""

    def bare(found: re.Match[str]) -> str:
        return found[1] + found[2] + found[3] if random.random() < 0.4 else found[0]

    def within(found: re.Match[str]) -> str:
        begin = _BEGINS[found["arrow"]]
        return f"{begin} {found['label']} {found['arrow']}" if random.random() < 0.4 else found[0]

    text = re.sub(r'([\[({|])"([^\W_][^"\W]*(?: \w+)*)"([\])}|])', bare, text)
    return re.sub(r"(?<!<)(?P<arrow>-->|-\.->|==>)\|(?P<label>[^|\"]*)\|", within, text)


_BEGINS = {"-->": "--", "-.->": "-.", "==>": "=="}


def _quoted_word(label: str, random: Random) -> str:
    words = label.split(" ")
    words += ["now"] * (len(words) == 1)
    at = random.randrange(len(words))
    return " ".join([*words[:at], f'"{words[at]}"', *words[at + 1 :]])


def _with_words(*forms: str) -> Callable[[str, Random], str]:
    """What makes another label of one: its words among others."""

    def made(label: str, random: Random) -> str:
        words = label.split(" ")
        at = random.randrange(len(words) + 1)
        before, after = " ".join(words[:at]) or "Read", " ".join(words[at:]) or "it"
        return random.choice(forms).format(before, after)

    return made


_NODE = re.compile(r'(?<![\w"])(?P<id>\w+)(?P<open>[\[({]+/?)"(?P<label>[^"]*)"(?P<close>/?[\])}]+)')
_DIAMOND = re.compile(r'(?<![\w"])(?P<id>\w+)(?P<open>\{)"(?P<label>[^"]*)"(?P<close>\})(?!\})')
_RECT = re.compile(r'(?<![\w"])(?P<id>\w+)(?P<open>\[)"(?P<label>[^"]*)"(?P<close>\])')


def _label_break(
    pattern: re.Pattern[str], changed: Callable[[str, Random], str | None], *, quoted: bool = False
) -> Break:
    """A break of the label of one node."""

    def broken(text: str, random: Random) -> Broken | None:
        text = _drawn_inline(text, random)
        places = [
            (n, one)
            for n, line in enumerate(text.splitlines())
            if "subgraph" not in line
            for one in pattern.finditer(line)
        ]
        if not places:
            return None
        number, found = random.choice(places)
        label = changed(found["label"], random)
        if label is None:
            return None
        mark = '"' if quoted else ""
        head = found["id"] + found["open"]
        meant = re.sub(r'\\?"', "#quot;", label) or " "
        return Broken(
            _replaced(text, number, found, f"{head}{mark}{label}{mark}{found['close']}"),
            _replaced(text, number, found, f'{head}"{meant}"{found["close"]}'),
        )

    return broken


def _edge_break(form: str, changed: Callable[[str, Random], str | None]) -> Break:
    """A break of the text on one arrow; ``form`` has its begin, its text, and the arrow."""

    def broken(text: str, random: Random) -> Broken | None:
        text = _drawn_inline(text, random)
        places = _lines(text, _ARROW_LABEL)
        if not places:
            return None
        number, found = random.choice(places)
        label = changed(found["label"], random)
        meant = re.sub(r'\\?"', "#quot;", label or "") or " "
        begin = _BEGINS[found["arrow"]]
        return Broken(
            _replaced(text, number, found, form.format(begin=begin, text=label, arrow=found["arrow"])),
            _replaced(text, number, found, f'{found["arrow"]}|"{meant}"|'),
        )

    return broken


def _title_break(form: str, changed: Callable[[str, Random], str | None]) -> Break:
    """A break of the title of one box, of which nothing else may name the id where ``form`` leaves that out."""

    def broken(text: str, random: Random) -> Broken | None:
        places = _lines(text, _TITLE)
        if "{id}" not in form:
            places = [(n, one) for n, one in places if len(re.findall(rf"\b{one['id']}\b", text)) == 1]
        if not places:
            return None
        number, found = random.choice(places)
        label = changed(found["label"], random) or ""
        meant = re.sub(r'\\?"', "#quot;", label) or " "
        return Broken(
            _replaced(text, number, found, found["before"] + form.format(id=found["id"], text=label)),
            _replaced(text, number, found, f'{found["before"]}{found["id"]}["{meant}"]'),
        )

    return broken


def _reserved(make: Callable[[str], str], words: tuple[str, ...] = RESERVED) -> Break:
    """A node whose id is a word of Mermaid's own, everywhere."""

    def broken(text: str, random: Random) -> Broken | None:
        text = _drawn_inline(text, random)
        names = [found["id"] for _, found in _lines(text, _LABELLED)] or re.findall(r"\bN\d+\b", text)
        if not names:
            return None
        name, word = random.choice(names), make(random.choice(words))
        if random.random() < 0.5:
            text += f"    style {name} fill:#c8e6c9\n"
        return Broken(re.sub(rf"\b{name}\b", word, text), text)

    return broken


def _spaced(text: str, random: Random) -> Broken | None:
    text = _drawn_inline(text, random)
    places = [
        (n, one) for n, line in enumerate(text.splitlines()) if "subgraph" not in line for one in _NODE.finditer(line)
    ]
    if not places:
        return None
    number, found = random.choice(places)
    label = found["label"] if random.random() < 0.5 else f'"{found["label"]}"'
    return Broken(_replaced(text, number, found, f"{found['id']} {found['open']}{label}{found['close']}"), text)


def _unclosed(text: str, random: Random) -> Broken | None:
    """The closing bracket of a label before an arrow is missing."""
    text = _drawn_inline(text, random)
    places = [
        (n, one)
        for n, line in enumerate(text.splitlines())
        for one in _NODE.finditer(line)
        if "subgraph" not in line and len(one["close"]) == 1
    ]
    if not places:
        return None
    number, found = random.choice(places)
    return Broken(_replaced(text, number, found, f"{found['id']}{found['open']}{found['label']}"), text)


def _empty(_label: str, _random: Random) -> str:
    return ""


BREAKS: dict[str, Break] = {
    "quotes in a label": _label_break(_NODE, _quoted_word),
    "quotes in a diamond": _label_break(_DIAMOND, _quoted_word),
    "quotes in a quoted label": _label_break(_NODE, _quoted_word, quoted=True),
    "escaped quotes": _label_break(_NODE, _with_words(r"{} (empty text \"\") {}", r"{} \"{}\""), quoted=True),
    "empty label": _label_break(_NODE, _empty),
    "bar in a label": _label_break(_NODE, _with_words("{}: open | {}", "{}|{}")),
    "brackets in a label": _label_break(
        _NODE, _with_words("{} (raw) {}", "{}: [x] {}", "{} {{a}} {}", "f(x) {} {}", "{} {} [0]")
    ),
    "path in a label": _label_break(_RECT, _with_words("/api/{}/{}", "/{} {}")),
    "space before the bracket": _spaced,
    "unclosed bracket": _unclosed,
    "quotes on an arrow": _edge_break(" {begin} {text} {arrow}", _quoted_word),
    "quotes between bars": _edge_break(" {arrow}|{text}|", _quoted_word),
    "brackets on an arrow": _edge_break(" {arrow}|{text}|", _with_words("{} (raw) {}", "{} [x] {}")),
    "empty label of an arrow": _edge_break(" {arrow}||", _empty),
    "brackets in a title": _title_break("{text}", _with_words("{} {} (raw)", "{} (raw) {}", "{} [{}]")),
    "bar in a title": _title_break("{text}", _with_words("{} | {}")),
    "quotes in a title": _title_break("{text}", _quoted_word),
    "brackets in a title with an id": _title_break("{id}[{text}]", _with_words("{} {} (raw)", "{} | {}")),
    "quotes in a title with an id": _title_break("{id}[{text}]", _quoted_word),
    "empty title": _title_break("{id}[]", _empty),
    "reserved id": _reserved(str),
    "reserved id with a dash": _reserved("{}-tools".format),
}


def broken_drawings(texts: list[str], kinds: dict[str, Break] = BREAKS) -> Iterator[tuple[str, Broken]]:
    """Each drawing broken once by each kind that Mermaid refuses then."""
    for number, text in enumerate(texts):
        for kind, make in kinds.items():
            broken = make(text, Random(f"{number} {kind}"))
            if broken is not None and not parse_record(broken.text)["ok"]:
                yield kind, broken


_WORD = re.compile(r"\w+")


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(_WORD.findall(re.sub(r"#quot;|&quot;", " ", text or "")))


class _Shape(NamedTuple):
    nodes: Counter[Any]
    edges: Counter[Any]
    boxes: Counter[Any]


def _shape(structure: dict[str, Any], names: dict[str, str]) -> _Shape:
    """A drawing without spelling: ``names`` maps the ids that may be others."""

    def named(name: str) -> str:
        return names.get(name, name)

    nodes = Counter(
        (named(one["id"]), one["shape"] or "square", _words(one["text"]) if one["text"] != one["id"] else ())
        for one in structure["vertices"]
    )
    edges = Counter((named(one["from"]), named(one["to"]), _words(one["text"])) for one in structure["edges"])
    boxes = Counter(
        (_words(one["title"]) if one["title"] != one["id"] else (), tuple(sorted(map(named, one["nodes"]))))
        for one in structure["subgraphs"]
    )
    return _Shape(nodes, edges, boxes)


def kept(meant: str, repaired: str) -> str:
    """What a repaired drawing lost of the one that was meant, in words; empty where nothing is."""
    after, before = parse_record(repaired), parse_record(meant)
    if not after["ok"]:
        return "not legal"
    old, new = before["structure"], after["structure"]
    gone = [one["id"] for one in old["vertices"] if one["id"] not in {other["id"] for other in new["vertices"]}]
    come = [one["id"] for one in new["vertices"] if one["id"] not in {other["id"] for other in old["vertices"]}]
    names = {come[0]: gone[0]} if len(gone) == len(come) == 1 else {}
    boxes = {one["id"]: other["id"] for one, other in zip(new["subgraphs"], old["subgraphs"], strict=False)}
    one, other = _shape(old, {}), _shape(new, {**boxes, **names})
    return "; ".join(
        f"{what} {sorted((here - there).elements())} became {sorted((there - here).elements())}"
        for what, here, there in zip(_Shape._fields, one, other, strict=True)
        if here != there
    )


def repaired(broken: Broken) -> Kept:
    """The repair of a broken drawing, and what it kept."""
    done = repair(broken.text, clock=lambda: 0.0)
    commented = done.text.count("%%") - broken.text.count("%%")
    return Kept(parse_record(done.text)["ok"], kept(broken.meant, done.text), commented, done.text)


def main(path: Path, every: int, show: int) -> None:
    """Print how many broken drawings each kind has, and the shares that became legal and that kept everything."""
    texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()][::every]
    count, legal, whole, seconds = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    shown = Counter[str]()
    for kind, broken in broken_drawings(texts):
        begun = time.process_time()
        found = repaired(broken)
        seconds[kind] += time.process_time() - begun
        count[kind] += 1
        legal[kind] += found.is_legal
        whole[kind] += not found.lost
        if found.lost and shown[kind] < show:
            shown[kind] += 1
            _print("-" * 20, kind, "-", found.lost)
            _show_difference(broken.text, found.text)
    _print(f"{'break':32} drawings   legal    kept  seconds")
    for kind in [*count, "all"]:
        one = [sum(c.values()) if kind == "all" else c[kind] for c in (count, legal, whole, seconds)]
        _print(f"{kind:32} {one[0]:8} {one[1] / one[0]:7.1%} {one[2] / one[0]:7.1%} {one[3] / one[0]:8.3f}")


def _print(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def _show_difference(before: str, after: str) -> None:
    old, new = before.splitlines(), after.splitlines()
    for line in [line for line in old if line not in new][:4]:
        _print("  -", line)
    for line in [line for line in new if line not in old][:4]:
        _print("  +", line)


if __name__ == "__main__":
    arguments = [int(one) for one in sys.argv[1:] if one.isdigit()]
    files = [Path(one) for one in sys.argv[1:] if not one.isdigit()]
    main(files[0] if files else DRAWINGS, *(arguments + [1, 0][len(arguments) :]))
