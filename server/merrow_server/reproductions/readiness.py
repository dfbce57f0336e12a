"""What a row needs that is not here, each with what to do about it: then the row is not run, which is never a score of 0."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from merrow_optimizer.evaluation.data import read_items
from merrow_optimizer.evaluation.data.catalogue import known_sets
from merrow_optimizer.evaluation.data.names import shipped_file
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.products.metric import Product
from merrow_optimizer.reproducing.papers import Row
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_server.reproductions.houses import lacking_games
from merrow_server.reproductions.request import ReproductionRequest

_KEY = "No model endpoint is set. Set one with `export OPENAI_API_KEY=...` or --base-url, or use --simulate, which needs none."
_GAMES = "pip install alfworld && alfworld-download && merrow tools add alfworld -- merrow env alfworld --data {folder}"


@dataclass(frozen=True, slots=True)
class Missing:
    """What is missing, in a sentence, and the command that gets it, where one does. ``is_other_data``: a file is there that could
    be used, though it is not the published one.
    """

    what: str
    get: str | None = None
    is_other_data: bool = False


def missing(row: Row, request: ReproductionRequest, origin: str) -> Iterator[Missing]:
    """What a row needs that is not here; ``origin`` is that of the endpoint that would answer."""
    if row.not_run:
        yield Missing(row.not_run)
        return
    if row.is_derived:
        return
    if row.environment and (lack := lacking_games(row, Path(request.data))):
        yield Missing(lack, _GAMES.format(folder=shlex.quote(request.data)))
        return
    if origin == OFFLINE_ORIGIN and not request.simulate:
        yield Missing(_KEY)
    folder = Path(request.data)
    names = list(row.sets)
    names += [beside for name in row.sets if (beside := known_sets()[name].beside) is not None]
    for name in dict.fromkeys(names):
        one = known_sets()[name]
        state = one.state(folder)
        place = one.place(folder)
        if state == "missing":
            yield Missing(
                f"{place} is missing. {one.remark}".strip(), _get(one.get, folder) if not one.remark else None
            )
        elif state == "other" and one.sha256 is not None and not request.other_data:
            yield Missing(
                f"{place} is not the published file: its SHA-256 differs. Use --other-data to take it without a verdict.",
                _get(one.get, folder),
                is_other_data=True,
            )
    if row.data == "flow-tasks":
        yield from (Missing(said) for said in Product().remarks(items_of(row)))


def other_data(row: Row, request: ReproductionRequest) -> list[str]:
    """The data sets of a row whose files are not the published ones."""
    return [name for name in row.sets if known_sets()[name].state(Path(request.data)) == "other"]


def items_of(row: Row) -> list[Item]:
    """The items of a row of tasks that come with Merrow."""
    everything = read_items(shipped_file(row.data), part="all").items
    return [item for item in everything if any(_is_meant(item.id, said) for said in row.items)]


def _is_meant(identity: str, said: str) -> bool:
    return identity.startswith(said[:-1]) if said.endswith("*") else identity == said


def _get(command: str, folder: Path) -> str | None:
    """The command that gets a published set; the repository has its files in a folder of its own."""
    if not command:
        return None
    return f"{command} && cp MermaidFlow/data/datasets/*.jsonl {shlex.quote(str(folder))}"
