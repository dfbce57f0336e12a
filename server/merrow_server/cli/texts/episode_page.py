"""Episodes in a page about a run: a curve of the reward and a table of the turns. Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from merrow_server.cli.texts.episode_lines import episode_words, last_line
from merrow_server.rendering.counts import counted
from merrow_server.rendering.evaluation_charts import WIDTH, figure
from merrow_server.rendering.html_page import folded, safe

STYLE = (
    ".reward { fill: none; stroke: #1976d2; stroke-width: 2; } .zero { stroke: currentColor; stroke-dasharray: 2 4; }\n"
)
MOST_EPISODES, MOST_TURNS = 50, 200
"""What is in the page; the rest is in the journal."""
_HIGH = 60


def episodes_html(episodes: Sequence[Mapping[str, Any]], most: int) -> Iterator[str]:
    """The episodes of a report, but those that only show how a task begins where there are others. ``most`` characters of a text
    are shown.
    """
    episodes = [episode for episode in episodes if episode["steps"]] or episodes
    for episode in episodes[:MOST_EPISODES]:
        name = f"Episode {episode['episode']} in {episode['env']}"
        yield f"<h2>{safe(name)}</h2><p>{safe(episode_words(episode))}</p>"
        yield _curve([turn["reward"] for turn in episode["turns"]])
        yield "<table><thead><tr><th>turn</th><th>reward</th><th>action</th><th>observation</th></tr></thead><tbody>"
        for turn in episode["turns"][:MOST_TURNS]:
            begins = turn["action"] is None
            worth = "" if begins else f"{turn['reward']:g}"
            kind = ' class="problem"' if "error" in turn else ""
            action = "begins" if begins else folded(last_line(turn["action"]), most)
            seen = turn.get("error") or turn["observation"]
            yield (
                f'<tr><td class="number">{turn["turn"]}</td><td class="number">{worth}</td>'
                f"<td>{action}</td><td{kind}>{folded(seen, most)}</td></tr>"
            )
        yield "</tbody></table>"
        if len(episode["turns"]) > MOST_TURNS:
            yield f"<p>{counted(len(episode['turns']) - MOST_TURNS, 'more turn')}, see merrow show</p>"
    if len(episodes) > MOST_EPISODES:
        yield f"<p>{counted(len(episodes) - MOST_EPISODES, 'more episode')}, see merrow show</p>"


def _curve(rewards: Sequence[float]) -> str:
    """The sum of the rewards so far, as steps; nothing for an episode that has only begun."""
    if len(rewards) < 2:
        return ""
    sums = list(accumulate(rewards))
    least, most = min(0.0, *sums), max(0.0, *sums)

    def y(value: float) -> float:
        return _HIGH - 2 - (value - least) / ((most - least) or 1) * (_HIGH - 4)

    path = f"M0 {y(sums[0]):.1f}" + "".join(
        f"V{y(value):.1f}H{WIDTH * number / len(sums):.1f}" for number, value in enumerate(sums, 1)
    )
    words = f"Reward so far: {sums[-1]:g} after {len(sums)} turns, between {least:g} and {most:g}"
    zero = f'<path class="zero" d="M0 {y(0):.1f}H{WIDTH}"/>'
    return figure(words, [zero, f'<path class="reward" d="{path}"/>'], _HIGH)
