/** The page of a workflow file: the editor extension's preview in a frame, the findings and the runs beside it. */
import './file.css';
import { placeOf } from '../../src/preview/places';
import type { Finding, FromPreview, Graph, Part, ToPreview } from '../../src/preview/protocol';
import { reportPicture } from '../../src/run/reportPicture';
import type { RunReport } from '../../src/run/protocol';
import { element, GONE, Head, listen, root } from './page';

const MOST = 200;

interface Runs {
  readonly runs: readonly { readonly run: string; readonly status: string; readonly started: number; readonly seconds: number | null; readonly cost: string }[];
  /** The newest run; null where it is over and was sent before. */
  readonly picture: RunReport | null;
  readonly problem?: string;
}

const { number = '', name = '' } = document.body.dataset;
const diagram = new URLSearchParams(location.search).get('diagram') ?? '1';
const head = new Head(name);
const frame = element('iframe', { title: 'Drawing' });
const others = element('nav', { hidden: '', 'aria-label': 'Diagrams' });
const findings = element('ul');
const findingsHead = element('h2', {}, 'Findings');
const runs = element('ul');
document.body.append(
  head.element,
  element('div', { class: 'split' }, frame, element('aside', {}, findingsHead, findings, element('h2', {}, 'Runs'), runs)),
);
head.add(others);

let isReady = false;
let graph: Graph | undefined;
let report: RunReport | undefined;
let problem: string | undefined;

function send(message: ToPreview): void {
  if (isReady) frame.contentWindow?.postMessage(message, location.origin);
}

addEventListener('message', ({ data, origin, source }: MessageEvent<FromPreview>) => {
  if (origin !== location.origin || source !== frame.contentWindow) return;
  switch (data.type) {
    case 'ready':
      isReady = true;
      showGraph();
      showRun();
      return;
    case 'select':
      chosen(data.part);
      return;
    case 'command':
      send({ type: 'export', request: 1, format: data.command === 'exportSvg' ? 'svg' : 'png' });
      return;
    case 'exported':
      save(data.data);
      return;
    case 'failed':
      head.say(data.message, 'bad');
      return;
    case 'drawn':
      state();
      return;
    case 'drawn as':
    case 'revision': // What only an editor can do is not offered here.
  }
});
frame.src = `${root}/frame`;

function showGraph(): void {
  if (graph !== undefined) send({ type: 'graph', graph });
  if (problem !== undefined) send({ type: 'notice', text: problem });
}

/** A run is drawn where it is of the text that is shown, or goes on. */
function showRun(): void {
  const is = report !== undefined && graph !== undefined && (report.status === 'running' || report.text === graph.text) ? report : undefined;
  const picture = is && reportPicture(is);
  send({
    type: 'run',
    run: picture?.run ?? null,
    states: [...(picture?.nodes ?? [])],
    boxes: [...(picture?.boxes ?? [])],
    revision: null,
    isOver: picture?.isOver ?? true,
  });
}

function state(): void {
  if (problem !== undefined) head.say(problem, 'bad');
  else if (report?.status === 'running') head.say(`Run ${report.run} is under way.`, 'running');
  else if (report?.status === 'waiting') head.say(`Run ${report.run} waits for a person: merrow answer ${report.run}`, 'running');
  else head.say('');
}

function chosen(part: Part): void {
  const place = graph && placeOf(graph, part);
  if (place !== undefined) head.say(`${part.id}: line ${place.start.line + 1}`);
}

function save(data: string): void {
  const isSvg = data.startsWith('<');
  const bytes = isSvg ? new TextEncoder().encode(data) : Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const link = URL.createObjectURL(new Blob([bytes], { type: isSvg ? 'image/svg+xml' : 'image/png' }));
  element('a', { href: link, download: `${name.replace(/\.[^.]*$/, '')}.${isSvg ? 'svg' : 'png'}` }).click();
  setTimeout(() => { URL.revokeObjectURL(link); }, 10_000);
}

interface Placed {
  readonly finding: Finding;
  readonly part: Part | undefined;
}

function placed({ nodes, edges, diagnostics }: Graph): Placed[] {
  const all: Placed[] = [
    ...nodes.flatMap(({ id, diagnostics: own }) => own.map((finding) => ({ finding, part: { kind: 'node', id } as const }))),
    ...edges.flatMap(({ id, diagnostics: own }) => own.map((finding) => ({ finding, part: { kind: 'edge', id } as const }))),
    ...diagnostics.map((finding) => ({ finding, part: undefined })),
  ];
  // One that is about several parts is listed once.
  const known = new Map<string, Placed>();
  for (const one of all) {
    const key = JSON.stringify([one.finding.code, one.finding.message, one.finding.range]);
    if (!known.has(key)) known.set(key, one);
  }
  return [...known.values()].sort(({ finding: { range: a } }, { finding: { range: b } }) => a.start.line - b.start.line || a.start.character - b.start.character);
}

function listFindings(): void {
  const all = graph === undefined ? [] : placed(graph);
  findingsHead.textContent = all.length > 0 ? `Findings (${all.length.toLocaleString('en')})` : 'Findings';
  const items = all.slice(0, MOST).map(({ finding, part }) => {
    const { line, character } = finding.range.start;
    const button = element('button', { type: 'button', class: `finding ${finding.severity}` },
      element('span', { class: 'where' }, `${line + 1}:${character + 1} `, element('span', { class: 'severity' }, finding.severity), ` ${finding.code}`),
      element('div', {}, finding.message));
    button.addEventListener('click', () => { send({ type: 'cursor', part: part ?? null, reveal: true }); });
    return element('li', {}, button);
  });
  const more = all.length - items.length;
  if (more > 0) items.push(element('li', { class: 'note' }, `... and ${more.toLocaleString('en')} more: merrow check`));
  if (graph !== undefined && items.length === 0) items.push(element('li', { class: 'note' }, 'No problems found.'));
  findings.replaceChildren(...items);
}

function listDiagrams(): void {
  const count = graph?.diagrams ?? 1;
  others.hidden = count < 2;
  others.replaceChildren(...Array.from({ length: Math.min(count, 50) }, (_, index) => `${index + 1}`).flatMap((one) => [
    one === diagram ? element('strong', { 'aria-current': 'page' }, one) : element('a', { href: `?diagram=${one}` }, one), ' ',
  ]));
}

function listRuns({ runs: known, problem: why }: Runs): void {
  const items = known.map(({ run, status, started, seconds, cost }) => element('li', { class: 'run' },
    element('a', { href: `${root}/job/${run.split('/').map(encodeURIComponent).join('/')}` }, run),
    element('span', { class: status }, status),
    element('span', { class: 'more' }, [new Date(started * 1000).toLocaleString(), seconds === null ? '' : `${seconds.toFixed(1)} s`, cost].filter((part) => part !== '').join(' · '))));
  if (items.length === 0) items.push(element('li', { class: 'note' }, why ?? 'It was not run yet.'));
  runs.replaceChildren(...items);
}

listen(`/watch/${number}?diagram=${encodeURIComponent(diagram)}`, {
  graph: (data) => {
    graph = data as Graph;
    problem = undefined;
    showGraph();
    showRun();
    listFindings();
    listDiagrams();
    state();
  },
  problem: (text) => {
    problem = String(text);
    showGraph();
    state();
  },
  runs: (data) => {
    const told = data as Runs;
    if (told.picture !== null) report = told.picture;
    else if (told.runs[0]?.run !== report?.run) report = undefined;
    listRuns(told);
    showRun();
    state();
  },
}, (isLost) => {
  if (isLost) head.say(GONE, 'bad');
  else state();
});
