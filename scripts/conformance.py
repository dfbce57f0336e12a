"""How well our parser agrees with Mermaid's on a file of judged flowchart texts.

    python scripts/conformance.py ../shared/conformance/flowchart.jsonl
    python scripts/conformance.py ... --by-file                    one row a file of origin
    python scripts/conformance.py ... --show generated/arrows      what disagrees, with text, expected and got
    python scripts/conformance.py ... --json                       the figures for a machine
    python scripts/conformance.py ... --markdown                   a short table for a document

Each line of the file is an object with ``source``, ``text``, ``ok``, ``error_kind``, ``line`` and ``structure``. Texts
that Mermaid refuses for reasons outside its language (``limit``, ``internal``, ``other``) are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merrow_analysis.syntax.structure import parse_record

OUTSIDE = frozenset(("limit", "internal", "other"))
DEFAULT_FILE = Path(__file__).resolve().parents[2] / "shared" / "conformance" / "flowchart.jsonl"
COMPARED = {
    "vertices": ("id", "text", "shape", "classes"),
    "edges": ("from", "to", "text", "type", "stroke"),
    "subgraphs": ("id", "title", "nodes"),
}

Facts = dict[str, Any]


def compared_facts(structure: dict[str, Any] | None) -> Facts | None:
    """The part of a structure on which two parsers must agree."""
    if structure is None:
        return None
    facts: Facts = {"direction": structure["direction"]}
    for part, fields in COMPARED.items():
        facts[part] = [{name: item[name] for name in fields} for item in structure[part]]
    return facts


@dataclass(slots=True)
class Disagreement:
    """A text that two parsers read differently: ``aspect`` is "accepts", "rejects", "structure" or "line"."""

    aspect: str
    text: str
    expected: Any
    got: Any


def disagreement(text: str, expected: dict[str, Any], got: dict[str, Any]) -> Disagreement | None:
    """How ``got``, our record of a text, differs from ``expected``, Mermaid's."""
    if expected["ok"] != got["ok"]:
        aspect = "accepts" if got["ok"] else "rejects"
        return Disagreement(aspect, text, expected["error"], got["error"])
    if not expected["ok"]:
        if expected["line"] is not None and expected["line"] != got["line"]:
            return Disagreement("line", text, expected["line"], got["line"])
        return None
    theirs, ours = compared_facts(expected["structure"]), compared_facts(got["structure"])
    return None if theirs == ours else Disagreement("structure", text, *differing_facts(theirs or {}, ours or {}))


def differing_facts(theirs: Facts, ours: Facts) -> tuple[list[Any], list[Any]]:
    """Only those facts that differ."""
    left: list[Any] = []
    right: list[Any] = []
    for part in theirs:
        mine, other = ours.get(part), theirs[part]
        if mine == other:
            continue
        if isinstance(other, list) and isinstance(mine, list) and len(other) == len(mine):
            pairs = [(a, b) for a, b in zip(other, mine, strict=True) if a != b]
            left += [a for a, _ in pairs]
            right += [b for _, b in pairs]
        else:
            left.append({part: other})
            right.append({part: mine})
    return left, right


@dataclass(slots=True)
class Score:
    """Agreement over some texts. ``valid`` and ``with_line`` are Mermaid's; each count is of texts that agree."""

    texts: int = 0
    verdicts: int = 0
    valid: int = 0
    structures: int = 0
    with_line: int = 0
    lines: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)

    def add(self, row: dict[str, Any], got: dict[str, Any]) -> None:
        differs = disagreement(row["text"], row, got)
        aspect = differs.aspect if differs else None
        self.texts += 1
        self.verdicts += aspect not in ("accepts", "rejects")
        if row["ok"]:
            self.valid += 1
            self.structures += aspect is None
        elif row["line"] is not None:
            self.with_line += 1
            self.lines += aspect is None
        if differs:
            self.disagreements.append(differs)

    def count(self, aspect: str) -> int:
        return sum(1 for found in self.disagreements if found.aspect == aspect)

    @property
    def verdict_share(self) -> float:
        """Texts with Mermaid's verdict, of all."""
        return self.verdicts / self.texts if self.texts else 1.0

    @property
    def structure_share(self) -> float:
        """Texts with Mermaid's structure, of those that Mermaid accepts."""
        return self.structures / self.valid if self.valid else 1.0

    @property
    def line_share(self) -> float:
        """Texts with Mermaid's error line, of those for which Mermaid names one."""
        return self.lines / self.with_line if self.with_line else 1.0

    def as_json(self) -> dict[str, Any]:
        return {
            "texts": self.texts,
            "verdict": round(self.verdict_share, 5),
            "false_accepts": self.count("accepts"),
            "false_rejects": self.count("rejects"),
            "valid": self.valid,
            "structure": round(self.structure_share, 5),
            "with_line": self.with_line,
            "line": round(self.line_share, 5),
        }


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The judged texts of a file that count."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            row: dict[str, Any] = json.loads(line)
            if row["error_kind"] not in OUTSIDE:
                yield row


def family_of(source: str) -> str:
    """``generated/arrows/...`` is of the family ``generated/arrows``; all of Mermaid's repository is one family."""
    parts = source.split("/")
    return parts[0] if parts[0] == "mermaid-repo" else "/".join(parts[:2])


def score(rows: Iterable[dict[str, Any]], *, by_file: bool = False) -> tuple[Score, dict[str, Score]]:
    """Judge every row with our parser; the score of all and of each family."""
    total = Score()
    families: dict[str, Score] = {}
    for row in rows:
        got = parse_record(row["text"])
        total.add(row, got)
        name = row["source"] if by_file else family_of(row["source"])
        families.setdefault(name, Score()).add(row, got)
    return total, dict(sorted(families.items()))


def table(total: Score, families: dict[str, Score]) -> str:
    lines = [f"{'family':<44} {'texts':>6} {'verdict':>8} {'accepts':>8} {'rejects':>8} {'structure':>10} {'line':>7}"]
    for name, part in [*families.items(), ("all", total)]:
        lines.append(
            f"{name:<44} {part.texts:>6} {part.verdict_share:>8.2%} {part.count('accepts'):>8} "
            f"{part.count('rejects'):>8} {part.structure_share:>10.2%} {part.line_share:>7.1%}"
        )
    return "\n".join(lines)


def summary(rows: Iterable[dict[str, Any]]) -> str:
    """A Markdown table of the figures by the origin of the texts."""
    total, families = score(rows)
    parts: dict[str, Score] = {}
    for name, family in families.items():
        part = parts.setdefault(name.split("/", 1)[0], Score())
        for counted in ("texts", "verdicts", "valid", "structures", "with_line", "lines"):
            setattr(part, counted, getattr(part, counted) + getattr(family, counted))
    lines = [
        "| texts | number | same verdict | same structure | same error line |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {name} | {part.texts} | {part.verdict_share:.2%} | {part.structure_share:.2%} | {part.line_share:.1%} |"
        for name, part in [*parts.items(), ("all", total)]
    ]
    return "\n".join(lines)


def examples(found: Iterable[Disagreement], limit: int) -> str:
    shown = sorted(found, key=lambda each: (each.aspect, len(each.text)))[:limit]
    return "\n".join(
        f"--- {each.aspect}\n{each.text!r}\n  expected {json.dumps(each.expected, ensure_ascii=False)}\n"
        f"  got      {json.dumps(each.got, ensure_ascii=False)}"
        for each in shown
    )


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(description="Agreement of our parser with Mermaid's, by family of texts.")
    options.add_argument("file", nargs="?", type=Path, default=DEFAULT_FILE, help="judged texts, a JSON object a line")
    options.add_argument("--by-file", action="store_true", help="one row a file of origin")
    options.add_argument("--show", metavar="FAMILY", help="print what disagrees in a family, or in 'all'")
    options.add_argument("--limit", type=int, default=10, metavar="N", help="how many examples (default 10)")
    options.add_argument("--json", action="store_true", help="print the figures as JSON")
    options.add_argument("--markdown", action="store_true", help="print a short table for a document")
    given = options.parse_args(arguments)
    if not given.file.is_file():
        print(f"There is no file {given.file}: name the file of judged texts.", file=sys.stderr)  # noqa: T201
        return 2
    if given.markdown:
        print(summary(rows_of(given.file)))  # noqa: T201
        return 0
    total, families = score(rows_of(given.file), by_file=given.by_file)
    if given.json:
        figures = {"all": total.as_json(), "families": {name: part.as_json() for name, part in families.items()}}
        print(json.dumps(figures, indent=2))  # noqa: T201
    elif given.show:
        found = total if given.show == "all" else families.get(given.show, Score())
        print(examples(found.disagreements, given.limit))  # noqa: T201
    else:
        print(table(total, families))  # noqa: T201
        print(examples(total.disagreements, given.limit))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
