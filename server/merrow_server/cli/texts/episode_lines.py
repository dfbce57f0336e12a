"""Episodes on a terminal: what they came to, a curve of the reward, and a table of their turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import cells, visible
from merrow_server.rendering.terminal import style

MOST_EPISODES = 10
"""Episodes that are printed turn by turn."""
FIRST_TURNS, LAST_TURNS = 20, 40
"""Turns that are printed of a long episode."""
_LEVELS = "▁▂▃▄▅▆▇█"
_WIDEST_CURVE = 60
_WIDEST_ACTION, _WIDEST_OBSERVATION = 48, 60


def episodes_lines(episodes: Sequence[Mapping[str, Any]], node: str | None = None) -> Iterator[str]:
    """Episodes of a report. The turn of the visit ``node`` is marked, and is there however long the episode is. Those that only
    show how a task begins are left out where there are others.
    """
    episodes = [episode for episode in episodes if episode["steps"]] or episodes
    for episode in episodes[:MOST_EPISODES]:
        yield from _lines(episode, node)
    if len(episodes) > MOST_EPISODES:
        yield f"\nand {len(episodes) - MOST_EPISODES:,} more episodes: see --node with the name of one, or --format json"


def episode_words(episode: Mapping[str, Any]) -> str:
    """What an episode came to: ``8 actions, reward 1, over``."""
    over = "over" if episode["done"] else "not over"
    return f"{counted(episode['steps'], 'action')}, reward {episode['reward']:g}, {over}"


def curve(rewards: Sequence[float], width: int = _WIDEST_CURVE) -> str:
    """The sum of the rewards so far, turn by turn, from its least to its most; of several turns in a column the last."""
    total, sums = 0.0, list[float]()
    for reward in rewards:
        total += reward
        sums.append(total)
    least, most = min(0.0, *sums), max(0.0, *sums)
    columns = min(len(sums), width)
    shown = [sums[(column + 1) * len(sums) // columns - 1] for column in range(columns)]
    span = most - least
    return "".join(_LEVELS[round((value - least) / span * (len(_LEVELS) - 1)) if span else 0] for value in shown)


def _lines(episode: Mapping[str, Any], node: str | None) -> Iterator[str]:
    turns = episode["turns"]
    name = f"Episode {visible(episode['episode'])} in {visible(episode['env'])}"
    yield f"\n{style(name, bold=True)}  {episode_words(episode)}"
    if len(turns) > 1:
        yield f"reward so far  {curve([turn['reward'] for turn in turns])}"
    rows = [("turn", "reward", "action", "observation")]
    left_out = range(FIRST_TURNS, len(turns) - LAST_TURNS)
    for number, turn in enumerate(turns):
        mark = "> " if turn["node"] == node else ""
        if number in left_out and not mark:
            if number == left_out.start:
                rows.append(("...", "", f"{len(left_out):,} turns are left out here", "see --format json"))
            continue
        action = "(begins)" if turn["action"] is None else last_line(turn["action"])
        seen = f"failed: {turn['error']}" if "error" in turn else turn["observation"]
        rows.append(
            (
                f"{mark}{turn['turn']}",
                "" if turn["action"] is None else f"{turn['reward']:g}",
                _short(action, _WIDEST_ACTION),
                _short(seen, _WIDEST_OBSERVATION),
            )
        )
    widths = [max(cells(row[column]) for row in rows) for column in range(3)]
    for number, (turn, reward, action, seen) in enumerate(rows):
        line = (
            f"{_left(turn, widths[0])}  {_left(reward, widths[1])}  {action}{' ' * (widths[2] - cells(action))}  {seen}"
        )
        yield style(line.rstrip(), dim=True) if number == 0 else line.rstrip()


def last_line(text: str) -> str:
    """The last line with words, which is what environments read of an action: a model may think before it."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _left(text: str, width: int) -> str:
    return " " * (width - cells(text)) + text


def _short(text: str, most: int) -> str:
    """A text on one line, at most ``most`` cells wide."""
    text = visible(" ".join(text.split()))
    if cells(text) <= most:
        return text
    kept = text[: most - 3]
    while cells(kept) > most - 3:
        kept = kept[:-1]
    return f"{kept}..."
