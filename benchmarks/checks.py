"""What each check is worth: how many invalid workflows would pass without it, and how often the checker is wrong.

Valid workflows, the examples and patterns of this repository, are broken in three ways that say nothing of the checker: one of
twenty kinds of defects (``defect``), a change of one of five operators without its preconditions (``blind``), or one to three
slips of the hand (``slip``). Nothing is asked of a model.

    python -m benchmarks.checks --seeds 0-29
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from tests.breakage import broken
from tests.optimizer.seeded import KINDS, ROOT, seeded, valid_workflows

import merrow_runtime
from benchmarks.search.tables import half_width
from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_optimizer.mutations.base import Move
from merrow_optimizer.mutations.moves import OPERATORS, make
from merrow_optimizer.mutations.original import Original
from merrow_runtime import RunOptions, check_workflow
from merrow_runtime.models.offline import OFFLINE_MODEL, OfflineEndpoint
from merrow_runtime.store.memory import MemoryStore

ORIGINS = ("defect", "blind", "slip")
PUBLISHED = ("MW101", "MW102", "MW103", "MW104", "MW105")
"""The rules of ours that look at what the five checks of MermaidFlow's checker look at: ends, paths, interfaces, operators,
ensembles."""
_INPUTS = {"ENTRY_POINT": "solve"}
_FEW = 5
"""Seeds of the harmless rewritings."""
_RARE = 0.001
"""Checks without which fewer more candidates than this would be invalid are not listed."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A broken workflow, with the codes of its errors and of its warnings. ``kind`` is that of its defect, or an operator."""

    seed: int
    origin: str
    kind: str
    start: str
    text: str
    errors: frozenset[str]
    warnings: frozenset[str]


@cache
def starts() -> dict[str, str]:
    """The valid workflows of this repository by file name."""
    folders = (ROOT / "examples", ROOT / "examples" / "patterns")
    own = {path.name for folder in folders for path in folder.glob("*.mmd")}
    return {name: text for name, text in valid_workflows().items() if name in own}


def candidates(seeds: Sequence[int]) -> Iterator[Candidate]:
    """For each seed and each valid workflow one candidate of each origin, where there is a place for it."""
    texts = starts()
    originals = {name: Original(analyse(text)) for name, text in texts.items()}
    for seed in seeds:
        for name, text in texts.items():
            random = Random(f"{seed} {name}")  # noqa: S311 (no secret)
            for origin, make_one in (("defect", _defect), ("blind", _blind), ("slip", _slip)):
                made = make_one(text, originals[name], random)
                if made is not None and made[1] != text:
                    yield _judged(seed, origin, made[0], name, made[1])


def _judged(seed: int, origin: str, kind: str, start: str, text: str) -> Candidate:
    found = analyse(text)
    codes = {
        severity: frozenset(one.code for one in found.diagnostics if one.severity is severity)
        for severity in (Severity.ERROR, Severity.WARNING)
    }
    return Candidate(seed, origin, kind, start, text, codes[Severity.ERROR], codes[Severity.WARNING])


def _defect(text: str, original: Original, random: Random) -> tuple[str, str] | None:
    del original
    for kind in random.sample(sorted(KINDS), len(KINDS)):
        after = seeded(text, kind, random)
        if after is not None:
            return kind, after
    return None


def _blind(text: str, original: Original, random: Random) -> tuple[str, str] | None:
    for name in random.sample(sorted(OPERATORS), len(OPERATORS)):
        proposals = list(original.remembered(OPERATORS[name]))
        for place in random.sample(range(len(proposals)), min(4, len(proposals))):
            move = make(proposals[place](), ())
            if isinstance(move, Move):
                return name, move.apply(text)
    return None


def _slip(text: str, original: Original, random: Random) -> tuple[str, str] | None:
    del original
    return "slip", broken(text, random)


def without(found: Sequence[Candidate], left_out: Callable[[str], bool]) -> tuple[float, float, float]:
    """Among candidates that pass where the checks ``left_out`` are missing, the share of invalid ones, in per cent; half of its
    95 % interval over the seeds; and the share of candidates that pass.
    """
    shares, passing = [], []
    for seed in sorted({one.seed for one in found}):
        mine = [one for one in found if one.seed == seed]
        passed = [one for one in mine if all(left_out(code) for code in one.errors)]
        shares.append(100 * sum(bool(one.errors) for one in passed) / max(1, len(passed)))
        passing.append(100 * len(passed) / max(1, len(mine)))
    return statistics.fmean(shares), half_width(shares), statistics.fmean(passing)


def ablation(found: Sequence[Candidate]) -> Iterator[str]:
    """The rows of the first table."""
    yield "| checks | pass | invalid among these | defect | blind | slip |"
    yield "|---|---:|---:|---:|---:|---:|"
    rows: list[tuple[str, Callable[[str], bool]]] = [
        ("none", lambda _: True),
        ("what Mermaid refuses alone", lambda code: not code.startswith("MW0")),
        ("that, and MW101 to MW105", lambda code: not code.startswith("MW0") and code not in PUBLISHED),
        ("all", lambda _: False),
    ]
    only = Counter(next(iter(one.errors)) for one in found if len(one.errors) == 1)
    families = sorted({code[:3] for code in only})
    rows += [(f"all but {family}xx", lambda code, family=family: code.startswith(family)) for family in families]  # type: ignore[misc]
    for code, count in sorted(only.items(), key=lambda pair: (-pair[1], pair[0])):
        if count >= _RARE * len(found):
            rows.append((f"all but {code}", lambda other, code=code: other == code))  # type: ignore[misc]
    for name, left_out in rows:
        share, half, passing = without(found, left_out)
        parts = [without([one for one in found if one.origin == origin], left_out)[0] for origin in ORIGINS]
        cells = " | ".join(f"{part:.1f} %" for part in parts)
        yield f"| {name} | {passing:.1f} % | {share:.1f} % ± {half:.1f} | {cells} |"


def accepts(found: Sequence[Candidate]) -> Iterator[str]:
    """The rows of the second table: what is said about each kind of defect, and whether those run of which nothing is said."""
    yield "| defect | seeded | error | warning alone | nothing said | of these run to the end |"
    yield "|---|---:|---:|---:|---:|---:|"
    for kind in KINDS:
        mine = [one for one in found if one.kind == kind]
        wrong = sum(bool(one.errors) for one in mine)
        silent = [one for one in mine if not one.errors and not one.warnings - _warned(one.start)]
        ran = [ended(one.text) for one in silent if can_run(one.start)]
        said = f"{sum(end is None for end in ran)} of {len(ran)}" if ran else "-"
        yield f"| {kind} | {len(mine)} | {wrong} | {len(mine) - wrong - len(silent)} | {len(silent)} | {said} |"


@cache
def _warned(start: str) -> frozenset[str]:
    """The warnings that a workflow has before it is broken."""
    return _judged(0, "", "", start, starts()[start]).warnings


def _lines(text: str) -> tuple[str, list[str]]:
    """The text up to the header of the flowchart, and the lines after it."""
    found = re.search(r"(?m)^(?:flowchart|graph)\b[^\n]*\n", text)
    if found is None:
        raise ValueError("a workflow has a header")
    return text[: found.end()], text[found.end() :].splitlines()


def _commented(text: str, random: Random) -> str:
    head, lines = _lines(text)
    lines.insert(
        random.randrange(len(lines) + 1) if not _has_blocks(lines) else 0, "    %% A --> B is not an edge here"
    )
    return head + "\n".join(lines) + "\n"


def _has_blocks(lines: Sequence[str]) -> bool:
    """Whether a statement may go over several lines, so that no line may come between."""
    return any("@{" in line and "}" not in line for line in lines) or any(line.count('"') % 2 for line in lines)


def _with_windows_ends(text: str, random: Random) -> str:
    del random
    return text.replace("\n", "\r\n")


def _turned(text: str, random: Random) -> str:
    ways = random.sample(["TD", "TB", "LR", "RL", "BT"], 2)
    return re.sub(r"(?m)^(?:flowchart|graph) \w+", f"{random.choice(('flowchart', 'graph'))} {ways[0]}", text, count=1)


def _coloured(text: str, random: Random) -> str:
    head, lines = _lines(text)
    names = re.findall(r"(?m)^\s*(\w+)[\[({@]", "\n".join(lines))
    if not names:
        return text
    return head + "\n".join([*lines, f"    style {random.choice(names)} fill:#fff,stroke:#333"]) + "\n"


def _renamed(text: str, random: Random) -> str:
    head, lines = _lines(text)
    body = "\n".join(lines) + "\n"
    # Labels and the words of edges stay as they are.
    parts = re.split(r'("[^"]*"|\|[^|\n]*\|)', body)
    kept = head + " ".join(parts[1::2]) + " PROBLEM RETURN ENTRY_POINT subgraph"
    found = sorted(set(re.findall(r"(?m)^\s*(\w+)[\[({@]", body)))
    names = [name for name in found if not re.search(rf"\b{name}\b", kept)]
    if not names:
        return text
    name = random.choice(names)
    return head + "".join(part if at % 2 else re.sub(rf"\b{name}\b", "ANOTHER", part) for at, part in enumerate(parts))


def _closed(text: str, random: Random) -> str:
    """A semicolon after an edge."""
    head, lines = _lines(text)
    edges = [at for at, line in enumerate(lines) if re.fullmatch(r"\s*\w+ -->(\|[\w ]+\|)? ?\w+", line)]
    if not edges:
        return text
    lines[random.choice(edges)] += ";"
    return head + "\n".join(lines) + "\n"


def _moved(text: str, random: Random) -> str:
    """An edge drawn as the last statement, where it leads to a node that no other edge leads to."""
    head, lines = _lines(text)
    plain = {
        at: found[1]
        for at, line in enumerate(lines)
        if (found := re.fullmatch(r"\s*\w+ -->(?:\|[\w ]+\|)? ?(\w+)", line))
    }
    times = Counter(plain.values())
    alone = [at for at, target in plain.items() if times[target] == 1]
    if not alone or any("linkStyle" in line or "subgraph" in line for line in lines):
        return text
    edge = lines.pop(random.choice(alone))
    return head + "\n".join([*lines, edge]) + "\n"


HARMLESS: Mapping[str, Callable[[str, Random], str]] = {
    "a comment": _commented,
    "line ends of Windows": _with_windows_ends,
    "another direction": _turned,
    "a colour": _coloured,
    "another name of a node": _renamed,
    "a semicolon": _closed,
    "an edge further down": _moved,
}
"""Rewritings that leave a workflow what it is."""


def refusals(seeds: Sequence[int]) -> Iterator[str]:
    """The rows of the third table: valid workflows, written differently."""
    yield "| written with | texts | refused |"
    yield "|---|---:|---:|"
    for name, rewrite in HARMLESS.items():
        texts = [
            rewritten
            for seed in seeds
            for start, text in starts().items()
            if (rewritten := rewrite(text, Random(f"{seed} {start} {name}"))) != text  # noqa: S311 (no secret)
        ]
        refused = [text for text in texts if not analyse(text).is_valid]
        yield f"| {name} | {len(texts)} | {len(refused)} |"


async def _run(text: str) -> str | None:
    """How a run of an accepted workflow ends with the embedded offline model: None where it finishes, else its error."""
    flow = check_workflow(text)
    inputs = {node.id.lower(): _INPUTS.get(node.id, "What is 3 times 4?") for node in flow.graph.inputs}
    options = RunOptions(default_model=OFFLINE_MODEL, stream=False)
    done = await merrow_runtime.run(flow, inputs, endpoint=OfflineEndpoint(), store=MemoryStore(), options=options)
    return None if done.status == "finished" else str(done.error)


def ended(text: str) -> str | None:
    """How a run of a workflow without errors ended: None where it finished, else why it didn't, or didn't begin."""
    try:
        return asyncio.run(_run(text))
    except merrow_runtime.UsageFailure as refused:
        return str(refused)


@cache
def can_run(start: str) -> bool:
    """Whether a workflow runs without files beside it."""
    return ended(starts()[start]) is None


def runs(found: Sequence[Candidate], most: int) -> Iterator[str]:
    """What becomes of candidates without errors that run, drawn evenly."""
    accepted = [one for one in found if not one.errors and can_run(one.start)]
    drawn = Random(0).sample(accepted, min(most, len(accepted)))  # noqa: S311 (no secret)
    ends = Counter(ended(one.text) or "finished" for one in drawn)
    yield f"Of {len(drawn)} candidates without errors, run with the offline model:"
    yield from (f"- {count}: {what}" for what, count in ends.most_common())


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.checks", description="What each check is worth.")
    options.add_argument("--seeds", default="0-29", help="first and last seed (default 0-29)")
    options.add_argument("--runs", type=int, default=0, help="also run this many of the accepted candidates")
    given = options.parse_args()
    first, last = map(int, given.seeds.split("-"))
    seeds = range(first, last + 1)
    found = list(candidates(seeds))
    print(f"{len(found)} candidates of {len(starts())} valid workflows, seeds {given.seeds}.\n")
    for lines in (ablation(found), accepts(found), refusals(seeds[:_FEW])):
        print("\n".join(lines) + "\n")
    if given.runs:
        print("\n".join(runs(found, given.runs)))


if __name__ == "__main__":
    main()
