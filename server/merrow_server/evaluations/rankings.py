"""Products of several systems ranked by people: what is ranked, under which letters, and what comes of it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from statistics import fmean
from typing import Any

from merrow_optimizer.evaluation.data.csv_marks import unmarked
from merrow_optimizer.evaluation.statistics.concordance import concordance, places_of, points_of
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord, output_text
from merrow_server.errors import InputError
from merrow_server.evaluations.evaluation_data import evaluation_report
from merrow_server.evaluations.known_items import KnownItems
from merrow_server.files import Target, read
from merrow_server.rendering.counts import counted

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PRODUCTS = ".jsonl"
_ORDER = re.compile(r"\s*(?:=\s*)?[^\s=>]+")


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """A system by its name: an evaluation's id, or the name of a file. ``products`` are its answers as they are kept and as
    they are shown, by item.
    """

    name: str
    products: Mapping[str, tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class RankedItem:
    """An item for which every system has a product. ``products`` are the different ones by letter, as they are kept; ``systems``
    has the letter of each system's.
    """

    name: str
    hash: str
    inputs: Mapping[str, Any]
    products: Mapping[str, str]
    shown: Mapping[str, Any]
    systems: Mapping[str, str]


@dataclass
class Ballot:
    """Items to rank, and what was said of them. ``left_out`` counts items for which a system has no product."""

    systems: tuple[str, ...]
    items: list[RankedItem] = field(default_factory=list)
    left_out: int = 0


def ballot_of(user: Store, names: Sequence[str], seed: int) -> Ballot:
    """The items that all systems have a product for. The order of the letters follows from the seed, the item and the products
    alone. Raises `InputError`, `UsageFailure`, `StoreFailure`.
    """
    records = {name: user.evaluations.get(name) for name in names if not name.endswith(_PRODUCTS)}
    hashes: dict[str, str] = {}
    inputs: dict[str, Mapping[str, Any]] = {}
    systems = [
        _evaluated(user, records[name], hashes, inputs) if name in records else _from_file(name) for name in names
    ]
    if len({system.name for system in systems}) < len(systems):
        raise InputError("Two of the systems have the same name; name different evaluations and files.")
    if not 2 <= len(systems) <= len(LETTERS):
        raise InputError(f"To rank products, name 2 to {len(LETTERS)} evaluations or files of products.")
    ballot = Ballot(tuple(system.name for system in systems))
    every = dict.fromkeys(item for system in systems for item in system.products)
    for item in every:
        if not all(item in system.products for system in systems):
            ballot.left_out += 1
            continue
        kept = {system.name: system.products[item][0] for system in systems}
        key = hashes.get(item, item)
        different = sorted(set(kept.values()))
        random.Random(json.dumps([seed, key])).shuffle(different)  # noqa: S311 (only hides who made what)
        letters = dict(zip(different, LETTERS, strict=False))
        shown = {letters[system.products[item][0]]: system.products[item][1] for system in systems}
        products = {letter: product for product, letter in letters.items()}
        by = {name: letters[product] for name, product in kept.items()}
        ballot.items.append(RankedItem(item, key, inputs.get(item, {}), products, shown, by))
    if not ballot.items:
        raise InputError("No item has a product of each of these systems, so nothing can be ranked.")
    return ballot


def _evaluated(
    user: Store, record: EvaluationRecord, hashes: dict[str, str], inputs: dict[str, Mapping[str, Any]]
) -> RankedSystem:
    """The first answers of an evaluation; what is known of the items is added to ``hashes`` and ``inputs``."""
    known = KnownItems.of(record.plan)
    if not known.has_hashes:
        raise InputError(f"Evaluation {record.id} was made by an older Merrow; evaluate again, which costs nothing.")
    rows = [
        row
        for row in evaluation_report(user, record, whole=True)["rows"]
        if row["repeat"] == 0
        and "output" in row
        and hashes.get(row["item"], known.hash(row["item"])) == known.hash(row["item"])
    ]
    for row in rows:
        hashes[row["item"]] = known.hash(row["item"]) or ""
        inputs.setdefault(row["item"], row["inputs"] or {})
    return RankedSystem(record.id, {row["item"]: (output_text(row["output"]), row["output"]) for row in rows})


def _from_file(name: str) -> RankedSystem:
    """The products in a file of JSON Lines, each an object with ``item`` and ``output``."""
    products: dict[str, tuple[str, Any]] = {}
    for number, record in _records(name):
        item, output = record.get("item"), record.get("output")
        if not isinstance(item, str) or output is None:
            raise InputError(f"{name}:{number}: A product needs `item`, a text, and `output`.")
        if item in products:
            raise InputError(f"{name}:{number}: Item {item} has two products; give one.")
        products[item] = (output_text(output), output)
    return RankedSystem(Path(name).stem, products)


def _records(name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a file of JSON Lines, with the number of each line."""
    for number, line in enumerate(read(Target(name, Path(name))).text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise InputError(f"{name}:{number}: This isn't valid JSON: {problem}.") from None
        if not isinstance(record, dict):
            raise InputError(f"{name}:{number}: This must be an object.")
        yield number, record


def order_of(text: str, item: RankedItem) -> list[list[str]]:
    """A ranking in letters, such as ``B A=C``, or in names of systems: the best first, `=` between those that tie. Raises
    `InputError` with a sentence that says what is wrong.
    """
    groups: list[list[str]] = []
    for token in _ORDER.findall(text):
        name = token.strip().lstrip("=").strip()
        if token.strip().startswith("=") and groups:
            groups[-1].append(name)
        else:
            groups.append([name])
    return in_letters(groups, item)


def in_letters(groups: Sequence[Sequence[str]], item: RankedItem) -> list[list[str]]:
    """The letters of an item's products, the best first, from letters or names of systems. Raises `InputError`."""
    letters: list[list[str]] = []
    taken: set[str] = set()
    ranked: set[str] = set()
    for group in groups:
        for name in group:
            if name.upper() in ranked:
                raise InputError(f"{name} is ranked twice.")
            ranked.add(name.upper())
        # Systems that gave the same product have one letter, whose place is that of the better one.
        new = [letter for letter in dict.fromkeys(_letter(other, item) for other in group) if letter not in taken]
        taken.update(new)
        letters += [new] if new else []
    missing = [letter for letter in item.products if letter not in taken]
    if missing:
        raise InputError(f"Rank all of them: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.")
    return letters


def _letter(name: str, item: RankedItem) -> str:
    letter = name.upper()
    if letter in item.products:
        return letter
    named = [system for system in item.systems if system == name or (len(name) >= 4 and system.startswith(name))]
    if len(named) == 1:
        return item.systems[named[0]]
    raise InputError(f"{name!r} is none of {', '.join(item.products)}.")


def imported(user: Store, ballot: Ballot, file: str) -> int:
    """Keep the rankings in a file, all or none; how many. Lines of JSON, or CSV, with ``rater``, ``item`` and ``ranking``: a
    text as `order_of` reads it, or in JSON a list of names, with lists for those that tie. A CSV row without a ranking is left
    out. Raises `InputError`, `StoreFailure`.
    """
    items = {item.name: item for item in ballot.items}
    read_as: list[tuple[str, str, list[list[str]]]] = []
    for number, record in _csv_records(file) if file.lower().endswith(".csv") else _records(file):
        rater, name, ranking = (record.get(key) for key in ("rater", "item", "ranking"))
        if ranking == "":
            continue
        if not isinstance(rater, str) or not rater.strip() or not isinstance(name, str) or name not in items:
            raise InputError(
                f"{file}:{number}: A ranking needs `rater`, a name, and `item`, one of those that are ranked."
            )
        try:
            if isinstance(ranking, str):
                order = order_of(ranking, items[name])
            elif isinstance(ranking, list):
                order = in_letters(
                    [[str(each) for each in (g if isinstance(g, list) else [g])] for g in ranking], items[name]
                )
            else:
                raise InputError("`ranking` must be a text or a list.")
        except InputError as problem:
            raise InputError(f"{file}:{number}: {problem}") from None
        read_as.append((name, rater.strip(), order))
    for name, rater, order in read_as:
        keep(user, items[name], rater, order)
    return len(read_as)


def _csv_records(file: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import csv
    import io

    rows = csv.DictReader(io.StringIO(read(Target(file, Path(file))).text))
    for row in rows:
        yield rows.line_num, {key: unmarked(value) if isinstance(value, str) else value for key, value in row.items()}


def keep(user: Store, item: RankedItem, rater: str, order: Sequence[Sequence[str]]) -> None:
    """Keep how somebody ranked an item's products. Raises `StoreFailure`."""
    user.rankings.put(item.hash, rater, [[item.products[letter] for letter in group] for group in order])


def is_ranked(user: Store, item: RankedItem, rater: str) -> bool:
    """Whether somebody has ranked these products already; one product alone needs no ranking."""
    return len(item.products) < 2 or rater in user.rankings.of(item.hash, list(item.products.values()))


def rankings_report(user: Store, ballot: Ballot) -> dict[str, Any]:
    """What the rankings come to: for each system its mean points and how often it had which place, and how far raters agree."""
    count = len(ballot.systems)
    points: dict[str, list[float]] = {name: [] for name in ballot.systems}
    ranks: dict[str, dict[float, int]] = {name: {} for name in ballot.systems}
    rows: list[dict[str, Any]] = []
    for item in ballot.items:
        rankings = user.rankings.of(item.hash, list(item.products.values()))
        letters = {product: letter for letter, product in item.products.items()}
        placed = {
            rater: places_of(
                [[s for s in ballot.systems if item.systems[s] in {letters[p] for p in group}] for group in order]
            )
            for rater, order in rankings.items()
        }
        agreed = concordance(list(placed.values()))
        means = {}
        for name in ballot.systems:
            for places in placed.values():
                ranks[name][places[name]] = ranks[name].get(places[name], 0) + 1
            if placed:
                means[name] = fmean(points_of(places[name], count) for places in placed.values())
                points[name].append(means[name])
        rows.append(
            {"item": item.name, "raters": len(placed), "concordance": agreed, "points": means, "rankings": placed}
        )
    agreements = [row["concordance"] for row in rows if row["concordance"] is not None]
    return {
        "systems": [
            {
                "system": name,
                "points": fsum(points[name]) / len(points[name]) if points[name] else None,
                "ranks": {f"{place:g}": times for place, times in sorted(ranks[name].items())},
            }
            for name in ballot.systems
        ],
        "raters": sorted({rater for row in rows for rater in row["rankings"]}),
        "rankings": sum(row["raters"] for row in rows),
        "items": len(rows),
        "left_out": ballot.left_out,
        "agreement": {
            "coefficient": "Kendall's W",
            "value": fmean(agreements) if agreements else None,
            "items": len(agreements),
        },
        "rows": rows,
    }


def summary_sentences(report: Mapping[str, Any]) -> Iterator[str]:
    """How much was ranked, and how far the raters agree."""
    systems = len(report["systems"])
    summary, items = counted(report["rankings"], "ranking"), counted(report["items"], "item")
    yield f"{summary} of {items} by {counted(len(report['raters']), 'rater')}."
    yield f"The first of {systems} gets {systems} points and the last 1; those that tie share the mean."
    if report["left_out"]:
        yield f"{counted(report['left_out'], 'item')} left out, since a system has no product for it."
    agreement = report["agreement"]
    if agreement["value"] is None:
        yield "How far raters agree needs at least two raters of the same item."
    else:
        yield (
            f"Agreement of raters: Kendall's W {agreement['value']:.3f} (1: all rank alike, 0: nothing in common), the mean over"
            f" {counted(agreement['items'], 'item')} that several people ranked."
        )


def ranking_rows(report: Mapping[str, Any]) -> list[list[str]]:
    """A table with its heading: systems by points, best first, and how often each had which place."""
    places = sorted({float(place) for entry in report["systems"] for place in entry["ranks"]})
    table = [["SYSTEM", "POINTS", *(f"RANK {place:g}" for place in places)]]
    for system in sorted(report["systems"], key=lambda each: -(each["points"] or 0)):
        points = "" if system["points"] is None else f"{system['points']:.2f}"
        table.append([system["system"], points, *(str(system["ranks"].get(f"{place:g}", 0)) for place in places)])
    return table


def as_html(report: Mapping[str, Any]) -> str:
    """The report as one HTML file without network and scripts; whatever names say is escaped."""
    from merrow_server.rendering.html_page import page, safe

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{safe(cell)}</{tag}>" for cell in cells) + "</tr>"

    heading, *rows = ranking_rows(report)
    items = [["ITEM", "RATERS", "KENDALL'S W", *(system["system"] for system in report["systems"])]]
    for answer in report["rows"]:
        agreed = "" if answer["concordance"] is None else f"{answer['concordance']:.3f}"
        points = [f"{answer['points'][name]:.2f}" if name in answer["points"] else "" for name in items[0][3:]]
        items.append([answer["item"], str(answer["raters"]), agreed, *points])
    tables = (
        "<table>" + row(table[0], "th") + "".join(row(cells, "td") for cells in table[1:]) + "</table>"
        for table in ([heading, *rows], items)
    )
    summary = "".join(f"<p>{safe(sentence)}</p>" for sentence in summary_sentences(report))
    return "\n".join(page("Rankings", ("<h1>Rankings</h1>", summary, *tables))) + "\n"
