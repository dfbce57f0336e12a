// The episodes of a run in its panel: the curve, the turns, and what is hostile or too much in them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { episodesHtml } from '../../src/run/panel/episodeHtml';
import { nodeHtml, runHtml, wholeOf } from '../../src/run/panel/nodeHtml';
import type { Episode, EpisodeTurn, RunReport } from '../../src/run/protocol';

const turn = (number: number, more: Partial<EpisodeTurn> = {}): EpisodeTurn => ({ turn: number, node: `EPISODE[${number}]/GAME`, action: `go ${number}`, observation: `seen ${number}`, reward: 0, done: false, ...more });

function episode(turns: readonly EpisodeTurn[], more: Partial<Episode> = {}): Episode {
  const steps = turns.filter(({ action }) => action !== null).length;
  return { episode: 'EPISODE', env: 'textcraft', task: '', turns, steps, reward: turns.reduce((sum, { reward }) => sum + reward, 0), done: turns.some(({ done }) => done), ...more };
}

const usage = { prompt_tokens: 0, completion_tokens: 0, calls: 0, cost_usd: 0 };
const report = (episodes: readonly Episode[]): RunReport => ({ run: 'r', workflow: 'game.mmd', uri: null, diagram: 1, status: 'finished', started: 0, seconds: 1, usage, error: null, parent: null, inputs: {}, outputs: {}, text: '', nodes: [], lost: [], episodes });

/** The texts of the cells, row by row. */
function rows(html: string): string[][] {
  return [...html.matchAll(/<tr[^>]*>(.*?)<\/tr>/g)].map(([, row]) => [...(row ?? '').matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/g)].map(([, cell]) => (cell ?? '').replaceAll(/<br>/g, '\n').replaceAll(/<[^>]*>/g, '')));
}

/** The y of the curve after each turn. */
function heights(html: string): number[] {
  return [...(/class="sum" d="([^"]*)"/.exec(html)?.[1] ?? '').matchAll(/(?:M0 |V)([\d.]+)H/g)].map(([, y]) => Number(y));
}

test('an episode is a table of its turns, with the last line of each action', () => {
  const html = episodesHtml([episode([turn(1, { action: null }), turn(2, { action: 'I think.\n> look\n', observation: 'a\nb' }), turn(3, { reward: 1, done: true })])], 'EPISODE[2]/GAME');
  assert.deepEqual(rows(html), [['Turn', 'Reward', 'Action', 'Observation'], ['1', '', 'begins', 'seen 1'], ['2', '0', '&gt; look', 'a\nb'], ['3', '1', 'go 3', 'seen 3']]);
  assert.match(html, /2 actions · reward 1 · over/);
  assert.deepEqual([...html.matchAll(/<tr class="([^"]*)"( aria-current="true")?>/g)].map(([, kind, current]) => [kind, current !== undefined]), [['', false], ['', true], ['gain end', false]]);
  assert.match(html, /data-act="node" data-node="EPISODE\[3\]\/GAME">3</);
});

test('the curve is the sum of the rewards, from its least at the bottom to its most at the top', () => {
  const drawn = (...rewards: number[]) => heights(episodesHtml([episode(rewards.map((reward, index) => turn(index + 1, { reward })))]));
  assert.deepEqual(drawn(0, 1, 1), [54, 28, 2]);
  assert.deepEqual(drawn(0, -1, 2), [28, 54, 2]);
  assert.deepEqual(drawn(0, 0, 0), [54]);
  assert.match(episodesHtml([episode([turn(1), turn(2, { reward: -0.123456 })])]), /Reward so far: -0\.1235 after 2 turns, between -0\.1235 and 0/);
  assert.ok(!episodesHtml([episode([turn(1, { action: null })])]).includes('<svg'));
  const long = drawn(...Array.from({ length: 1000 }, () => 1));
  assert.deepEqual([long.length, long.at(-1)], [200, 2]);
});

test('a long episode leaves turns out, but not the one that is looked at; so do many episodes', () => {
  const turns = Array.from({ length: 500 }, (_, index) => turn(index + 1));
  const html = episodesHtml([episode(turns)], 'EPISODE[300]/GAME');
  const numbers = rows(html).map(([first]) => first);
  assert.deepEqual([numbers[40], numbers[41], numbers[42], numbers[43], numbers.length], ['40', '', '300', '341', 203]);
  assert.match(html, /300 turns are left out/);
  const many = episodesHtml(Array.from({ length: 12 }, (_, index) => episode([turn(1)], { episode: `EACH[${index}]/EPISODE` })));
  assert.equal(many.split('<details').length - 1, 10);
  assert.match(many, /2 more episodes/);
});

test('what only shows how a task begins is left out beside an episode', () => {
  const shows = episode([turn(0, { action: null })], { episode: 'SHOW' });
  assert.match(episodesHtml([shows]), /SHOW/);
  assert.ok(!episodesHtml([shows, episode([turn(1, { action: null }), turn(2)])]).includes('SHOW'));
  assert.equal(episodesHtml(undefined), '');
});

test('no text of a model or an environment becomes a tag or an attribute, hides anything or has no end', () => {
  const bad = '"><img src=x onerror=y>\u202E<script>';
  const html = episodesHtml([episode([turn(1, { action: bad, observation: bad, node: bad }), turn(2, { error: bad, observation: 'x'.repeat(9000) })], { episode: bad, env: bad })], bad);
  const words = html.replaceAll(/<\/?(?:details|summary|code|span|figure|svg|path|figcaption|div|table|thead|tbody|tr|th|td|button)(?: [a-z-]+(?:="[^"<>]*")?)*\/?>/gi, '');
  assert.ok(!/[<>"\u202E]/.test(words), words);
  const seen = episodesHtml([episode([turn(1, { observation: 'x'.repeat(9000) })])]);
  assert.ok(seen.length < 2000 && seen.includes('x…'));
  assert.match(html, /class="failure"/);
});

test('the page of a run, of one that goes on, and of a node have it', () => {
  const one = episode([turn(1, { action: null }), turn(2)]);
  assert.match(runHtml('game.mmd', wholeOf(report([one])), report([one])), /class="episode"/);
  const { episodes, ...going } = { ...wholeOf(report([])), status: 'running' as const, episodes: [one] };
  assert.match(runHtml('game.mmd', { ...going, episodes }, undefined), /class="episode"/);
  assert.ok(!runHtml('game.mmd', going, undefined).includes('class="episode"'));
  const loop = nodeHtml('r', 'EPISODE', report([one]), '', '');
  assert.match(loop, /class="episode"/);
  assert.ok(!loop.includes('did not reach'));
});
