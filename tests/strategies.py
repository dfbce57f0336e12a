"""Hypothesis strategies: flowchart texts of the whole Mermaid language, and the same with something broken."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = ["a", "Solve it", "problem", "x", "o", "über", "節点", "😀", "e\u0301", "12", "1.0", "TD", "default"]
MARKS = [
    "end",
    *" .,:;!?'*+=/\\_~^$%@&|<>-#()[]{}`\"",
    "--",
    "==",
    "-.",
    "%%",
    "<br/>",
    "<b>x</b>",
    "#quot;",
    "#9829;",
    "&amp;",
    "\n",
    "\t",
    "::",
    "$$x^2$$",
    "fa:fa-car",
    "@{",
    "--> ",
    "(r)",
    "[x]",
    "{y}",
    "<i",
    "\u00a0",
    "\u2028",
]
IDS = ["A", "B", "C", "D", "node1", "x1", "o1", "a_b", "a-b", "a.b", "1", "2b", "Ünal", "節", "A1", "solve", "RETURN"]
ODD_IDS = [
    *("end", "graph", "subgraph", "class", "style", "click", "default", "o", "x", "v", "href", "call", "interpolate"),
    *(
        "flowchart",
        "linkStyle",
        "classDef",
        "direction",
        "TB",
        "LR",
        "_self",
        "endless",
        "ender",
        "graphA",
        "subgraph1",
    ),
    *(
        "A&B",
        "a%b",
        "#1",
        "a'b",
        "a!b",
        "a/b",
        "a:b",
        "a,b",
        "*",
        "a?",
        "+",
        "=",
        "\\",
        "$",
        "a\u00b5",
        "x-",
        "o-",
        "-a",
    ),
    *(
        "a@b",
        "x-x",
        "styleA",
        "clicker",
        "default1",
        "e1",
        "accTitle",
        "constructor",
        "__proto__",
        "a.-b",
        "^",
        "<",
        "😀",
    ),
]
CLASSES = ["k", "CustomOp", "Interface", "big-one", "c1", "default", "a.b", "x_y"]
BRACKETS = [
    *(("[", "]"), ("(", ")"), ("([", "])"), ("[[", "]]"), ("[(", ")]"), ("((", "))"), ("(((", ")))"), ("{", "}")),
    *(("{{", "}}"), (">", "]"), ("[/", "/]"), ("[\\", "\\]"), ("[/", "\\]"), ("[\\", "/]"), ("(-", "-)")),
    *(("[|borders:lt|", "]"), ("[|k:v|", "]")),
]
WRONG_BRACKETS = [("[", ")"), ("(", "]"), ("{", "]"), ("((", ")"), ("[", "]]"), ("(-", ")"), (">", ")"), ("[|", "]")]
SHAPES = [
    "rect",
    "rounded",
    "diamond",
    "cyl",
    "hex",
    "doc",
    "circle",
    "text",
    "fork",
    "notch-rect",
    "lin-cyl",
    "tag-doc",
]
WRONG_SHAPES = ["Rect", "no_such", "nonsense", "", "''", "12", "[a]", "rect x"]
SPACES = st.sampled_from(["", "", " ", " ", "  ", "\t"])
SPACE = st.sampled_from([" ", " ", " ", "  ", "\t"])
HEADERS = [
    *("flowchart TD", "graph LR", "flowchart LR", "graph TB", "flowchart", "graph", "flowchart-elk TD", "graph BT"),
    *("flowchart RL", "graph >", "graph <", "graph ^", "graph v", "graph TD;", "flowchart  LR", "\n  flowchart TD"),
    *("graph\tTB", "flowchart TD ", " graph TD"),
]
WRONG_HEADERS = [
    "flowchart td",
    "graph X",
    "Flowchart TD",
    "flowchart TD A",
    "graph LR;;",
    "flow TD",
    "graphTD",
    "graph;",
]


def joined(pieces: st.SearchStrategy[str], low: int = 0, high: int = 4) -> st.SearchStrategy[str]:
    return st.lists(pieces, min_size=low, max_size=high).map("".join)


@st.composite
def mostly(draw: st.DrawFn, common: st.SearchStrategy[str], rare: st.SearchStrategy[str], times: int = 8) -> str:
    """``common`` about ``times`` times for one ``rare``; shrinks to ``common``."""
    # The middle: Hypothesis likes the ends of a range.
    return draw(rare) if draw(st.integers(0, times)) == (times + 1) // 2 else draw(common)


plain_labels = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
odd_labels = joined(st.sampled_from(WORDS) | st.sampled_from(MARKS), 0, 5)
quoted_labels = st.builds("{0}{1}{0}".format, st.just('"'), mostly(plain_labels, odd_labels, 1))
markdown_labels = quoted_labels.map(lambda text: f'"`{text[1:-1]}`"')
labels = mostly(plain_labels | quoted_labels | markdown_labels, odd_labels, 12)
ids = mostly(st.sampled_from(IDS), st.sampled_from(ODD_IDS), 25)


ODD_VALUES = [
    *(
        "true",
        "null",
        "~",
        "12",
        "1.50",
        "0x1F",
        "-7",
        "[1, 2]",
        "{a: 1}",
        "",
        "a b",
        "2024-01-01",
        "yes",
        "&x y",
        "*x",
    ),
    *(
        "!t v",
        ">-",
        "'it''s'",
        "3e2",
        ".5",
        "{}",
        "a: b",
        "# c",
        "x # c",
        "-",
        "- a",
        "%a",
        "@a",
        "`a`",
        ".inf",
        "0o17",
    ),
]
values = mostly(
    plain_labels | quoted_labels | quoted_labels.map(lambda t: f"'{t[1:-1]}'"), st.sampled_from(ODD_VALUES), 6
)


@st.composite
def metadata(draw: st.DrawFn) -> str:
    """``@{ ... }`` on one line or many."""
    keys = ["label", "label", "op", "prompt", "icon", "form", "pos", "img", "w", "h", "animate", "animation", "curve"]
    entries = (
        [f"shape: {draw(mostly(st.sampled_from(SHAPES), st.sampled_from(WRONG_SHAPES), 20))}"]
        if draw(st.booleans())
        else []
    )
    for _ in range(draw(st.integers(0, 3))):
        colon = draw(st.sampled_from([": ", ": ", ": ", ":", " : "]))
        entries.append(f"{draw(st.sampled_from([*keys, 'constraint', 'labelType', 'x y']))}{colon}{draw(values)}")
    if draw(st.integers(0, 2)):
        return "@{" + draw(SPACES) + draw(st.sampled_from([", ", ",", " , "])).join(entries) + draw(SPACES) + "}"
    if draw(st.booleans()):
        entries.append("text: |\n    one\n    two")
    indent = draw(st.sampled_from(["  ", "    ", ""]))
    return "@{\n" + "".join(f"{indent}{entry}\n" for entry in entries) + draw(SPACES) + "}"


@st.composite
def vertices(draw: st.DrawFn) -> str:
    """A node: bare, with brackets, classes or metadata."""
    text = draw(ids)
    kind = draw(st.integers(0, 9))
    if kind >= 5:
        opening, closing = draw(st.sampled_from(BRACKETS if draw(st.integers(0, 30)) != 15 else WRONG_BRACKETS))
        text += f"{opening}{draw(labels)}{closing}"
    elif kind == 4:
        text += draw(metadata())
    if not draw(st.integers(0, 5)):
        text += ":::" + draw(mostly(st.sampled_from(CLASSES), st.sampled_from(["end", "a b", "1", ""]), 20))
    return text


@st.composite
def arrows(draw: st.DrawFn) -> str:
    """An arrow with its heads, length, label and edge id."""
    head, tail = draw(st.sampled_from([""] * 6 + ["<", "x", "o"])), draw(st.sampled_from([">", ">", ">", "", "x", "o"]))
    more = draw(st.sampled_from([0, 0, 0, 1, 2, 9]))
    stroke = draw(st.sampled_from(["-", "-", "-", "=", ".", "~"]))
    label = draw(st.sampled_from(["none", "bars", "none", "inline", "none"]))
    before, body = {
        "-": ("--", "--" + "-" * (more + (not tail))),
        "=": ("==", "==" + "=" * (more + (not tail))),
        ".": ("-.", "." * (more + 1) + "-"),
        "~": ("~~~", "~~~" + "~" * more),
    }[stroke]
    if stroke == "~":
        head = tail = ""
    elif stroke == "." and label != "inline":
        body = "-" + body
    text = f"{head}{body}{tail}"
    if label == "inline":
        text = f"{head}{before}{draw(SPACES)}{draw(labels)}{draw(SPACES)}{body}{tail}"
    elif label == "bars":
        text += f"{draw(SPACES)}|{draw(labels)}|"
    if not draw(st.integers(0, 9)):
        text = (
            draw(mostly(st.just(" "), st.just(""))) + draw(st.sampled_from(["e1@", "e2@", "e-1@", "A@", "1@"])) + text
        )
    return text


@st.composite
def chains(draw: st.DrawFn) -> str:
    """``A & B --> C -- x --> D``."""
    joint = mostly(st.sampled_from([" & ", "  & ", " &  "]), st.sampled_from(["&", " &", "& ", " && "]), 25)

    def group() -> str:
        text = draw(vertices())
        for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):
            text += draw(joint) + draw(vertices())
        return text

    text = group()
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2]))):
        text += draw(SPACES) + draw(arrows()) + draw(SPACES) + group()
    return text


STYLES = st.sampled_from(
    [
        *(
            "fill:#f9f",
            "stroke:#333,stroke-width:4px",
            "fill:none,color:#fff;",
            "stroke-dasharray: 5 5",
            "fill:#d0e1f9;",
        ),
        *(
            "color:red",
            "stroke-dasharray: 5\\,5",
            "x",
            "fill:url(#a)",
            "font-size:1.2em",
            "a:b,,c:d",
            "fill:#1;x:2",
            "",
        ),
    ]
)
id_lists = st.lists(ids, min_size=1, max_size=3).flatmap(
    lambda names: st.sampled_from([",", ", "]).map(lambda c: c.join(names))
)
class_defs = st.builds("classDef{}{} {}".format, SPACE, st.sampled_from([*CLASSES, "a,b", "a, b"]), STYLES)
class_uses = st.builds("class{}{} {}".format, SPACE, id_lists, st.sampled_from(CLASSES))
style_uses = st.builds("style{}{} {}".format, SPACE, ids, STYLES)
link_styles = st.builds(
    "linkStyle{}{}{} {}".format,
    SPACE,
    mostly(st.sampled_from(["0", "default"]), st.sampled_from(["0,1", "1, 2", "99", "a", "0 1"]), 5),
    st.sampled_from(["", "", " interpolate basis"]),
    STYLES,
)
TARGETS = st.sampled_from(["", "", " _self", " _blank", " _top", " here"])
clicks = st.one_of(
    st.builds("click{}{} {}{}".format, SPACE, ids, quoted_labels, TARGETS),
    st.builds("click {} href {} {}{}".format, ids, quoted_labels, quoted_labels, TARGETS),
    st.builds("click {} {} {}".format, ids, quoted_labels, quoted_labels),
    st.builds("click {} {}".format, ids, st.sampled_from(["call f()", "f", "call f", 'call f("a", 1)', "f()", ""])),
    st.builds("click {} {} {}".format, ids, st.sampled_from(["call f()", "f", "call f(x)"]), quoted_labels),
)
accessibility = st.one_of(
    st.builds("accTitle{}{}".format, st.sampled_from([": ", ":", " : ", " "]), odd_labels),
    st.builds("accDescr{}{}".format, st.sampled_from([": ", ":", " : "]), odd_labels),
    st.builds("accDescr {{{}\n{}}}".format, odd_labels, odd_labels),
)
directions = mostly(
    st.sampled_from(["direction LR", "direction TB", "direction  TD", "direction BT"]),
    st.sampled_from(["direction BT;", "direction X", "direction"]),
)
comments = st.one_of(
    st.builds("%%{}".format, odd_labels),
    st.sampled_from(["%%", "%% --> {", '%%{init: {"theme": "dark"}}%%', "%%{init: {", "%%{wrap}%%", "  %% a comment"]),
)
subgraph_heads = st.builds(
    "subgraph{}{}".format,
    mostly(SPACE, st.sampled_from(["", "\n"]), 15),
    st.one_of(
        ids,
        ids,
        plain_labels,
        labels,
        st.builds("{}{}[{}]".format, ids, SPACES, labels),
        st.builds("{}{}".format, ids, metadata()),
        st.just(""),
    ),
)
OTHER_STATEMENTS = (class_defs, class_uses, style_uses, link_styles, clicks, accessibility, directions, comments)
other_statements: st.SearchStrategy[str] = st.one_of(*OTHER_STATEMENTS)
stray = subgraph_heads | st.sampled_from(["end", "", "end ", "endx", "flowchart TD", "%%"])
statements = mostly(mostly(chains(), other_statements, 2), stray, 25)
separators = mostly(
    st.sampled_from(["\n", "\n  ", "\n\n", ";", "; ", ";\n", " \n", "\n\t", "\r\n", "\n \n"]),
    st.sampled_from(["\r", " ", "", ";;"]),
    25,
)


@st.composite
def _blocks(draw: st.DrawFn, depth: int) -> str:
    text = ""
    for _ in range(draw(st.integers(0, 3 if depth else 5))):
        if depth < 3 and not draw(st.integers(0, 6)):
            text += draw(subgraph_heads) + draw(separators) + draw(_blocks(depth + 1)) + "end"
        else:
            text += draw(statements)
        text += draw(separators)
    return text


FRONT_MATTERS = [
    *(
        "---\ntitle: x\n---\n",
        "---\n---\n",
        "---\nconfig:\n  theme: dark\n---\n",
        "---\nworkflow:\n  model: m\n---\n\n",
    ),
    *(
        "  ---\n  title: x\n  ---\n",
        "---\ntitle: [\n---\n",
        "---\ntitle: x\n",
        "--- \ntitle: 'a'\n---  \n",
        "----\n---\n",
    ),
    *("---\n\n---\n\nx: 1\n---\n", "---\na: 1\na: 2\n---\n", "\n---\ntitle: x\n---\n", "---\r\ntitle: x\r\n---\r\n"),
]


@st.composite
def flowcharts(draw: st.DrawFn) -> str:
    """A flowchart text, mostly legal, of any of the language's parts."""
    text = draw(st.sampled_from(FRONT_MATTERS)) if draw(st.integers(0, 9)) == 5 else ""
    if draw(st.integers(0, 11)) == 5:
        text += draw(comments) + "\n"
    text += draw(mostly(st.sampled_from(HEADERS), st.sampled_from(WRONG_HEADERS), 25)) + draw(separators)
    text += draw(_blocks(0))
    return text if draw(st.integers(0, 7)) else text.replace("\n", "\r\n")


@st.composite
def broken_flowcharts(draw: st.DrawFn) -> str:
    """A flowchart text in which a few characters were lost, doubled, swapped or put in."""
    text = draw(flowcharts())
    for _ in range(draw(st.integers(1, 3))):
        if not text:
            break
        at = len(text) - 1 - draw(st.integers(0, len(text) - 1))
        damage = draw(st.sampled_from(["drop", "double", "insert", "insert", "swap", "cut", "drop some", "replace"]))
        if damage == "drop":
            text = text[:at] + text[at + 1 :]
        elif damage == "double":
            text = text[:at] + text[at] + text[at:]
        elif damage == "insert":
            text = text[:at] + draw(st.sampled_from(MARKS)) + text[at:]
        elif damage == "swap":
            text = text[:at] + text[at + 1 : at + 2] + text[at] + text[at + 2 :]
        elif damage == "cut":
            text = text[:at]
        elif damage == "drop some":
            text = text[:at] + text[at + draw(st.integers(2, 9)) :]
        else:
            text = text[:at] + draw(st.sampled_from(MARKS)) + text[at + 1 :]
    return text


any_flowcharts = flowcharts() | broken_flowcharts()
