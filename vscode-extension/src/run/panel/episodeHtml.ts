/** Episodes as HTML for the panel of a run: a curve of the reward, and what was done and seen, turn by turn. Pure; every text is escaped. */
import { visible } from '../../people/words';
import type { Episode, EpisodeTurn } from '../protocol';
import { escape } from './markdownHtml';

/** Episodes on a page, turns of one (the first and the last), and characters of a text in a cell. */
const MOST_EPISODES = 10;
const FIRST_TURNS = 40;
const LAST_TURNS = 160;
const LONGEST = 300;
/** Points of a curve. */
const POINTS = 200;
const [WIDE, HIGH] = [320, 56];

/** The episodes of a report, without those that only show how a task begins where there are others. The turn of the visit `shown` is marked. */
export function episodesHtml(episodes: readonly Episode[] = [], shown = ''): string {
  const acted = episodes.filter(({ steps }) => steps > 0);
  const all = acted.length > 0 ? acted : episodes;
  const more = all.length > MOST_EPISODES ? `<p class="about">${all.length - MOST_EPISODES} more episodes: choose a turn of one in the list of nodes.</p>` : '';
  return all.slice(0, MOST_EPISODES).map((one, index) => episodeHtml(one, shown, index === 0)).join('') + more;
}

/** What an episode came to: `8 actions · reward 1 · over`. */
export function episodeWords({ steps, reward, done }: Episode): string {
  return `${steps} ${steps === 1 ? 'action' : 'actions'} · reward ${figure(reward)} · ${done ? 'over' : 'not over'}`;
}

function episodeHtml(episode: Episode, shown: string, open: boolean): string {
  const { turns } = episode;
  const leftOut = Math.max(0, turns.length - FIRST_TURNS - LAST_TURNS);
  const rows = turns.flatMap((turn, index) => {
    if (index < FIRST_TURNS || index >= FIRST_TURNS + leftOut || turn.node === shown) return [rowHtml(turn, turn.node === shown)];
    return index === FIRST_TURNS ? [`<tr><td></td><td></td><td colspan="2" class="about">${leftOut} turns are left out here.</td></tr>`] : [];
  });
  const title = `Episode <code>${escape(visible(episode.episode))}</code> in ${escape(visible(episode.env))} <span class="about">${escape(episodeWords(episode))}</span>`;
  const head = '<thead><tr><th scope="col">Turn</th><th scope="col">Reward</th><th scope="col">Action</th><th scope="col">Observation</th></tr></thead>';
  const body = `${curveHtml(turns)}<div class="turns" tabindex="0"><table>${head}<tbody>${rows.join('')}</tbody></table></div>`;
  return `<details class="episode" data-key="episode ${escape(episode.episode)} ${escape(episode.env)}"${open ? ' open' : ''}><summary>${title}</summary>${body}</details>`;
}

function rowHtml({ turn, node, action, observation, reward, done, error }: EpisodeTurn, isShown: boolean): string {
  const seen = error === undefined ? `<div class="seen">${cell(observation)}</div>` : `<span class="failure">${cell(error)}</span>`;
  const worth = action === null ? '' : figure(reward);
  const said = action === null ? '<span class="about">begins</span>' : `<code>${cell(lastLine(action))}</code>`;
  const link = `<button class="link" data-act="node" data-node="${escape(node)}">${turn}</button>`;
  return `<tr class="${reward === 0 ? '' : reward > 0 ? 'gain' : 'loss'}${done ? ' end' : ''}"${isShown ? ' aria-current="true"' : ''}><td>${link}</td><td class="worth">${worth}</td><td>${said}</td><td>${seen}</td></tr>`;
}

/** The sum of the rewards so far as steps, with its ends in words; nothing for an episode that has only begun. */
function curveHtml(turns: readonly EpisodeTurn[]): string {
  if (turns.length < 2) return '';
  let total = 0;
  const sums = turns.map(({ reward }) => (total += reward));
  const columns = Math.min(POINTS, sums.length);
  const points = Array.from({ length: columns }, (_, column) => sums[Math.floor(((column + 1) * sums.length) / columns) - 1] ?? 0);
  const [least, most] = [Math.min(0, ...points), Math.max(0, ...points)];
  const x = (column: number) => ((column * WIDE) / columns).toFixed(1);
  const y = (value: number) => (2 + ((most - value) / (most - least || 1)) * (HIGH - 4)).toFixed(1);
  const path = points.map((value, column) => `${column === 0 ? 'M' : 'V'}${column === 0 ? `0 ${y(value)}` : y(value)}H${x(column + 1)}`).join('');
  const words = `Reward so far: ${figure(total)} after ${turns.length} turns, between ${figure(least)} and ${figure(most)}`;
  // Nothing gained or lost is a line at the bottom.
  const zero = most === least ? HIGH - 2 : Number(y(0));
  const line = most === least ? `M0 ${zero}H${WIDE}` : path;
  return `<figure class="curve"><svg viewBox="0 0 ${WIDE} ${HIGH}" preserveAspectRatio="none" role="img" aria-label="${escape(words)}"><path class="zero" d="M0 ${zero}H${WIDE}"/><path class="sum" d="${line}"/></svg><figcaption class="about">${escape(words)}</figcaption></figure>`;
}

/** The last line with words, which is what environments read of an action: a model may think before it. */
function lastLine(text: string): string {
  return text.split('\n').findLast((line) => line.trim() !== '')?.trim() ?? '';
}

function cell(text: string): string {
  const [start, isLong] = [text.slice(0, LONGEST), text.length > LONGEST];
  return start.split('\n').map((line) => escape(visible(line))).join('<br>') + (isLong ? '…' : '');
}

/** A reward, with as many digits as say something. */
function figure(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}
