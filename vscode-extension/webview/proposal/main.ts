/** The page of a proposal: the diagram as it is and as it would be, side by side, and what can be done with the proposal. */
import './style.css';
import type { FromPictures, ShowPictures } from '../../src/mutations/proposal';
import { Engine } from '../drawing/engine';
import { currentTheme } from '../drawing/editorTheme';
import { element } from '../preview/dom';
import { touchedEdges } from './edges';
import { Pane } from './pane';

declare function acquireVsCodeApi(): { postMessage(message: FromPictures): void };

const editor = acquireVsCodeApi();
const { engine: source = '', nonce = '' } = document.body.dataset;
const engine = new Engine(fetch(source).then((answer) => answer.text()), nonce);
const [before, after] = [new Pane('Before', 'Before the change'), new Pane('After', 'After the change')];
const title = element('h1');
const effect = element('p', { class: 'effect' });
const details = element('div', { class: 'details' });
const which = element('span', { class: 'which', role: 'status' });

function button(label: string, message: FromPictures, kind = ''): HTMLButtonElement {
  const made = element('button', { type: 'button', class: kind }, label);
  made.addEventListener('click', () => {
    editor.postMessage(message);
  });
  return made;
}

const [previous, next] = [button('Previous', 'previous'), button('Next', 'next')];
const both = button('Run Both and Compare', 'runBoth');
const actions = element('div', { class: 'actions' }, which, previous, next, both, button('Cancel', 'cancel'), button('Apply', 'apply', 'primary'));
/** What the marks in both panes mean; only those that there are. */
const legend = element('div', { class: 'kinds', role: 'note', 'aria-label': 'Marks' });
const panes = element('div', { class: 'panes' }, before.element, after.element);
document.body.append(
  element('header', {}, element('div', { class: 'words' }, title, effect, details, legend), actions),
  panes,
);

let shown: ShowPictures | undefined;
let turn = 0;

async function draw(): Promise<void> {
  if (shown === undefined) return;
  const { added, removed, changed, problem } = shown;
  const now = (turn += 1);
  const theme = currentTheme();
  for (const [pane, text, marks] of [
    [before, shown.before, { removed, changed, added: [] }],
    [after, shown.after, { removed: [], changed, added }],
  ] as const) {
    if (problem === undefined) await pane.draw(engine, { text, theme, edgeWords: {}, captions: 'ids', styles: {}, portable: false }, marks, () => now === turn);
    else pane.say(problem);
  }
  if (now !== turn) return;
  arrange();
  const edges = touchedEdges(before.edges, after.edges);
  before.markEdges({ ...edges, added: [] });
  after.markEdges({ ...edges, removed: [] });
  legend.replaceChildren(...(['added', 'removed', 'changed'] as const).flatMap((kind) => {
    const counts = [[shown?.[kind].length ?? 0, 'step'], [edges[kind].length, 'arrow']] as const;
    const words = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}${count === 1 ? '' : 's'}`);
    return words.length === 0 ? [] : [element('span', { class: `kind ${kind}` }, `${words.join(', ')} ${kind}`)];
  }));
}

/** How much larger pictures above each other have to be, so that they don't stand side by side. */
const WORTH = 1.6;

/** Side by side, but for pictures so wide that they could hardly be read there. */
function arrange(): void {
  const size = after.size ?? before.size;
  if (size === undefined) return;
  const { clientWidth, clientHeight } = panes;
  const scale = (width: number, height: number) => Math.min(width / size.width, height / size.height, 1);
  panes.classList.toggle('stacked', scale(clientWidth, clientHeight / 2) > WORTH * scale(clientWidth / 2, clientHeight));
}

new ResizeObserver(arrange).observe(panes);

addEventListener('message', ({ data, origin }: MessageEvent<ShowPictures>) => {
  // The drawing frame, which has no origin, speaks through its port alone.
  if (origin === 'null') return;
  shown = data;
  title.textContent = data.title;
  effect.textContent = data.effect;
  details.replaceChildren(...data.details.map((line) => element('p', {}, line)));
  which.textContent = data.count > 1 ? `${data.number} of ${data.count}` : '';
  both.hidden = !data.canRun;
  previous.hidden = next.hidden = data.count < 2;
  void draw();
});
let theme = JSON.stringify(currentTheme());
new MutationObserver(() => {
  const other = JSON.stringify(currentTheme());
  if (other === theme) return;
  theme = other;
  void draw();
}).observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-kind'] });
editor.postMessage('ready');
