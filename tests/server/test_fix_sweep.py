"""Every edit that a check offers, on every rule page, corpus file and many broken texts, through the doors that users have.

An applied fix takes its finding away, adds none of its weight, leaves a text that Mermaid reads as readable as it was, and is not
offered again. All safe fixes at once give what they give one after another.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.analysis.rule_page import read_page
from tests.boxes.defects import DEFECTS
from tests.breakage import broken
from tests.judge import mermaid
from tests.server.lsp.editor import MODERN, Editor
from tests.sizes import sized

from merrow_analysis.markdown import find_fences
from merrow_analysis.rules.pages import page_codes, page_text
from merrow_analysis.rules.registry import is_refused
from merrow_analysis.syntax.structure import parse_record
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines
from merrow_server.cli import main
from merrow_server.positions import position_at

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
EXAMPLES = sized(38, 240)
"""What decides how many broken texts there are."""

WEIGHT = {"error": 2, "warning": 1, "hint": 0}

REVEALED = {
    "MW001": ("MW0",),
    "MW002": ("MW0",),
    "MW003": ("MW0",),
    "MW010": ("MW0",),
    "MW011": ("MW0",),
    "MW016": ("MW1", "MW2"),
    "MW101": ("MW1", "MW2", "MW3"),
    "MW104": (
        "MW105",
        "MW110",
        "MW117",
        "MW118",
        "MW119",
        "MW20",
        "MW211",
        "MW212",
        "MW215",
        "MW216",
        "MW219",
        "MW223",
        "MW225",
        "MW3",
    ),
    "MW102": ("MW105", "MW201", "MW212"),
    "MW107": ("MW105", "MW2", "MW3"),
    "MW108": ("MW114",),
    "MW109": ("MW1", "MW2", "MW3"),
    "MW110": ("MW102", "MW2"),
    "MW111": ("MW102", "MW2"),
    "MW112": ("MW102",),
    "MW113": ("MW102",),
    "MW114": ("MW101",),
    "MW115": ("MW1", "MW2"),
    "MW117": ("MW102",),
    "MW118": ("MW102", "MW110", "MW2"),
    "MW119": ("MW2",),
    "MW120": ("MW118", "MW119", "MW2"),
    "MW201": ("MW105", "MW205", "MW206", "MW21"),
    "MW203": ("MW205",),
    "MW207": ("MW21",),
    "MW210": ("MW22",),
    "MW225": ("MW102",),
    "MW304": ("MW2", "MW322"),
    "MW305": ("MW12",),
    "MW310": ("MW3", "MW502"),
    "MW312": ("MW1", "MW2", "MW3"),
}
"""What could not be checked before another finding is repaired: ports, and cases of Decisions, where an operator is not known,
the statements of a text that does not begin like a diagram, a workflow that was not read as one,
what is decided behind a case."""

UNUSED_SUPPRESSION = "MW512"
"""A repair may leave a comment without anything to suppress."""

Json = dict[str, Any]


def check(text: str, name: str = "flow.mmd", *options: str) -> list[Json]:
    """What ``merrow check --format json`` prints for a file with this text."""
    Path(name).write_bytes(text.encode())
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(["check", "--no-config", "--format", "json", *options, name])
    return list(json.loads(out.getvalue()))


def repaired(text: str) -> str:
    """The file after ``merrow check --fix``."""
    check(text, "flow.mmd", "--fix")
    return Path("flow.mmd").read_bytes().decode()


def applied(text: str, edits: list[Json]) -> str:
    lines = split_lines(text)

    def place(wire: Json) -> Position:
        return position_at(lines, wire["line"], wire["character"], "utf-16")

    return apply_edits(
        text,
        [TextEdit(Range(place(e["range"]["start"]), place(e["range"]["end"])), e["newText"]) for e in edits],
    )


def told(found: list[Json], finding: Json) -> int:
    """How many findings are like one: of its code, and where its repair may reveal another of that, of its words, too."""
    code = finding["code"]
    by_words = code.startswith(REVEALED.get(code, ()))
    return sum(one["code"] == code and (not by_words or one["message"] == finding["message"]) for one in found)


def weights(found: list[Json], least: int) -> Counter[str]:
    return Counter(one["code"] for one in found if WEIGHT[one["severity"]] >= least)


def examine(text: str) -> None:
    before = check(text)
    readable = bool(parse_record(text)["ok"])
    unread = any(is_refused(one["code"]) for one in before)
    if read_as_flowchart(text):
        assert readable != unread, f"check and parse disagree on {text!r}"
    for finding in before:
        for fix in finding["fixes"]:
            fixed = applied(text, fix["edits"])
            after = check(fixed)
            where = f"{finding['code']} {fix['title']!r} on {text!r} gives {fixed!r}"
            code = finding["code"]
            assert fixed != text, f"nothing changes: {where}"
            assert told(after, finding) < told(before, finding), f"still there: {where}"
            least = WEIGHT[finding["severity"]]
            added = weights(after, least) - weights(before, least)
            new = [
                other
                for other in added
                if not other.startswith((*REVEALED.get(code, ()), UNUSED_SUPPRESSION))
                and (is_refused(other) or not unread)
            ]
            assert not new, f"{new} is new: {where}"
            if readable:
                assert parse_record(fixed)["ok"], f"Mermaid refuses it now: {where}"
                if fix["applicability"] == "safe":
                    assert edges(fixed) == edges(text), f"other edges: {where}"
    if any(fix["applicability"] == "safe" for one in before for fix in one["fixes"]):
        together = repaired(text)
        assert repaired(together) == together, f"repaired twice: {text!r}"
        # Lines that are added at one place may come in another order.
        assert sorted(one_by_one(text).split()) == sorted(together.split()), f"together is otherwise: {text!r}"


def settles(text: str) -> None:
    """All fixes at once, unsafe ones too, end in a text that they leave as it is."""
    if any(one["fixes"] for one in check(text)):
        check(text, "flow.mmd", "--fix", "--unsafe-fixes")
        once = Path("flow.mmd").read_bytes().decode()
        check(once, "flow.mmd", "--fix", "--unsafe-fixes")
        assert Path("flow.mmd").read_bytes().decode() == once, f"repaired twice: {text!r}"


def read_as_flowchart(text: str) -> bool:
    words = text.split()
    return "flowchart" in words or "graph" in words


def edges(text: str) -> list[tuple[str, str]]:
    return sorted((edge["from"], edge["to"]) for edge in parse_record(text)["structure"]["edges"])


def one_by_one(text: str) -> str:
    for _ in range(100):
        fixes = (fix for finding in check(text) for fix in finding["fixes"])
        first = next((fix for fix in fixes if fix["applicability"] == "safe"), None)
        if first is None:
            return text
        text = applied(text, first["edits"])
    raise AssertionError(f"safe fixes never end: {text!r}")


def pages() -> list[tuple[str, str]]:
    return [
        (f"{code}-{example.section}-{example.number}", example.text)
        for code in page_codes()
        for example in read_page(page_text(code) or "").examples
    ]


def files() -> list[tuple[str, str]]:
    found = [*sorted((ROOT / "examples").glob("*.mmd")), *sorted(CORPUS.rglob("*.mmd"))]
    return [(path.stem, path.read_text(encoding="utf-8")) for path in found]


SOUND = [*pages(), *files(), *((f"defect {one.name}", one.text) for one in DEFECTS)]
SOME = SOUND[:: sized(4, 1)]


def quoted(text: str) -> str:
    return "> Note\n>\n> ```mermaid\n" + "".join(f"> {line}" for line in split_lines(text)) + "> ```\n"


def listed(text: str) -> str:
    return "1. Step\n\n   ```mermaid\n" + "".join(f"   {line}" for line in split_lines(text)) + "   ```\n\nEnd\n"


def with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n")


HOSTS: dict[str, Callable[[str], str]] = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "fence": lambda text: f"# Title\n\n```mermaid\n{text}```\n",
    "fence at the end": lambda text: f"```mermaid\n{text}```",
    "fence with crlf": lambda text: f"~~~mermaid\n{text}~~~\n".replace("\n", "\r\n"),
    "indented fence": lambda text: "  ```mermaid\n" + "".join(f"  {line}" for line in split_lines(text)) + "  ```\n",
    "list": listed,
    "quote": quoted,
}


def in_hosts(text: str) -> None:
    """A fix does the same to a diagram wherever the diagram is."""
    if not text.endswith("\n") or "\r" in text:
        return
    plain = check(text)
    wanted = [with_line_feeds(applied(text, fix["edits"])) for one in plain for fix in one["fixes"]]
    if not wanted:
        return
    for name, host in HOSTS.items():
        around = host(text)
        is_file = name == "crlf"
        found = check(around, "flow.mmd" if is_file else "notes.md")
        if [one["code"] for one in found] != [one["code"] for one in plain]:
            # Some broken text ends a fence, or is other text inside of one.
            assert not is_file
            continue
        results = []
        for fix in (fix for one in found for fix in one["fixes"]):
            fixed = applied(around, fix["edits"])
            if "\r\n" in around:
                assert "\n" not in fixed.replace("\r\n", ""), f"line endings are mixed: {fixed!r}"
            results.append(with_line_feeds(fixed if is_file else find_fences(fixed)[0].text))
        ends = [result if result.endswith("\n") else result + "\n" for result in results]
        assert ends == [one if one.endswith("\n") else one + "\n" for one in wanted], f"{name}: {text!r}"


def broken_texts(count: int, seed: int) -> Iterator[str]:
    random = Random(seed)
    for _ in range(count):
        yield broken(random.choice(SOUND)[1], random)


@pytest.mark.thinned(32)
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in SOUND])
def test_fixes_of_pages_and_files(text: str) -> None:
    examine(text)
    examine(text.rstrip("\n"))


def with_files() -> list[Any]:
    found = [(code, one) for code in page_codes() for one in read_page(page_text(code) or "").examples if one.files]
    return [pytest.param(one.text, one.files, id=f"{code}-{one.number}") for code, one in found]


@pytest.mark.parametrize(("text", "files"), with_files())
def test_fixes_beside_other_files(text: str, files: dict[str, str]) -> None:
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")
    examine(text)


@pytest.mark.parametrize("part", range(2))
def test_all_fixes_at_once_come_to_an_end(part: int) -> None:
    for _, text in SOME[part::2]:
        settles(text)
    for text in broken_texts(EXAMPLES // 6, 20 + part):
        settles(text)


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (
            "    SOLVE([x]):::Interface\n    SOLVE@{ op: Custom, prompt: x }\n    PROBLEM -->|input| SOLVE --> RETURN\n",
            ["Give SOLVE class CustomOp"],
        ),
        (
            '    A["Custom<br/>(role: one)"]:::CustomOp\n    A["Format"]:::FormatOp\n    PROBLEM -->|input| A --> RETURN\n',
            ["Keep A as “Custom (role: one)”", "Keep A as “Format”", "Rename to A2"],
        ),
        ("    D{ok?}:::DecisionOp\n    A[x] --> D\n    D --> A\n    D -->|yes| RETURN\n", None),
    ],
    ids=["an interface in the middle", "a declaration with its class", "no again without a case"],
)
def test_what_a_fix_leaves_was_read_before_it_is_offered(text: str, titles: list[str] | None) -> None:
    head = (
        "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n"
        "    classDef Interface fill:#eee\n"
    )
    examine(head + text)
    for one in check(head + text):
        if titles is not None and one["code"] in ("MW103", "MW109"):
            assert [fix["title"] for fix in one["fixes"]] == titles


def test_only_the_fixes_of_selected_rules_are_applied() -> None:
    text = """flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: writer, foo: 1)"]:::CustomOp
    RETURN([Return]):::Interface
    classDef Interface fill:#eee
    classDef CustomOp fill:#eee
    classDef lonely fill:#eee
    PROBLEM -->|input| A --> RETURN
"""
    check(text, "flow.mmd", "--fix", "--unsafe-fixes", "--select", "MW304")
    assert Path("flow.mmd").read_text() == text.replace(", foo: 1", "")
    check(text, "flow.mmd", "--fix", "--unsafe-fixes", "--select", "MW404,MW304")
    assert Path("flow.mmd").read_text() == text.replace(", foo: 1", "").replace("    classDef lonely fill:#eee\n", "")
    check(text, "flow.mmd", "--fix", "--select", "MW304")
    assert Path("flow.mmd").read_text() == text


@pytest.mark.thinned(16, "fixes everywhere")
def test_fixes_do_the_same_everywhere() -> None:
    for _, text in SOUND[::4]:
        in_hosts(text)
    for text in broken_texts(EXAMPLES // 6, 1):
        in_hosts(text)


@pytest.mark.parametrize("part", range(4))
def test_fixes_of_broken_texts(part: int) -> None:
    for number, text in enumerate(broken_texts(EXAMPLES // 4, 2 + part)):
        examine(text.rstrip("\n") if number % 5 == 0 else text)


def test_mermaid_itself_agrees_about_what_a_fix_leaves() -> None:
    with mermaid() as judge:
        for text in broken_texts(EXAMPLES // 5, 7):
            for finding in check(text):
                for fix in finding["fixes"]:
                    fixed = applied(text, fix["edits"])
                    assert bool(judge.judge(fixed)["ok"]) == bool(parse_record(fixed)["ok"]), repr(fixed)


@pytest.mark.thinned(16, "fixes everywhere")
def test_the_editor_offers_the_same_edits_and_suppressions_last() -> None:
    editor = Editor(MODERN)
    texts = [*(text for _, text in pages()), *broken_texts(EXAMPLES // 5, 11)]
    for number, text in enumerate(texts):
        uri = editor.open(text, f"flow{number}.mmd")
        wanted = {}
        for one in check(text):
            key = (one["code"], one["message"], json.dumps(one["range"], sort_keys=True))
            wanted[key] = [(fix["title"], applied(text, fix["edits"])) for fix in one["fixes"]]
        for diagnostic in editor.published(uri):
            key = (diagnostic["code"], diagnostic["message"], json.dumps(diagnostic["range"], sort_keys=True))
            context = {"diagnostics": [diagnostic], "only": ["quickfix"]}
            params = {"textDocument": {"uri": uri}, "range": diagnostic["range"], "context": context}
            actions = editor.request("textDocument/codeAction", params)
            ignoring = [action["title"].startswith("Ignore ") for action in actions]
            assert ignoring == sorted(ignoring), "a suppression is offered before a repair"
            preferred = [bool(action.get("isPreferred")) for action in actions]
            assert not any(preferred[1:]), text
            if wanted.get(key):
                assert preferred[0], text
            if any(preferred):
                # Where a check has no fix, an editor may prefer one that was searched.
                assert not ignoring[0], text
                assert "edit" in actions[0], actions[0]["title"]
            if is_refused(diagnostic["code"]):
                assert not any(ignoring), diagnostic["code"]
            offered = [
                (action["title"], editor.applied(action["edit"])[uri])
                for action, ignores in zip(actions, ignoring, strict=True)
                if not ignores and "edit" in action and not action["title"].startswith("Fix all: ")
            ]
            assert [one for one in wanted.get(key, []) if one not in offered] == [], text
        editor.close_document(uri)
    editor.close()
