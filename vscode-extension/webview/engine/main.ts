/**
 * The drawing frame: Mermaid in a frame of its own, which the browser runs in a process of its own, so that a picture of a
 * thousand nodes, which takes seconds, holds up neither typing nor the picture that is shown.
 */
import mermaid from 'mermaid';
import * as dagre from 'merrow:dagre';
import { idCaption } from '../drawing/captions';
import type { Answer, Change, DrawRequest, Drawing, Question } from '../drawing/protocol';
import { LIGHT } from '../drawing/theme';
import { configuration } from './configuration';
import { readable } from './contrast';
import { onlyWords } from './labels';
import { inPieces, named } from './pieces';
import { Different, type LaidOut, Shown } from './shown';
import { titlesAbove } from './titles';

let request: DrawRequest | undefined;
/** The picture that is being drawn, and the one that the page shows. */
let drawn: Shown | undefined;
let shown: Shown | undefined;
/** Whether only that is drawn which `shown` has not. */
let onlyChanges = false;

/** What a record says of a node, whose id may be a name that every object has. */
function own<Value>(record: Readonly<Record<string, Value>> | undefined, id: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, id) ? record[id] : undefined;
}

/** What stands small below a node's label. */
function caption({ id, label, isGroup }: LaidOut['nodes'][number]): string | undefined {
  const asked = request?.captions;
  return asked === 'ids' ? (isGroup ? undefined : idCaption(id, label ?? null)) : own(asked, id);
}

/** All but some nodes and their edges. */
function without(data: LaidOut, hidden: ReadonlySet<string>): LaidOut {
  if (hidden.size === 0) return data;
  const isShown = (id: string | undefined) => id === undefined || !hidden.has(id);
  return { ...data, nodes: data.nodes.filter(({ id }) => isShown(id)), edges: data.edges.filter(({ start, end }) => isShown(start) && isShown(end)) };
}

/** Mermaid's own layout, after edges and nodes were given what else they shall say. */
const layout = {
  render(all: LaidOut, ...rest: unknown[]): Promise<void> {
    const data = without(all, new Set(request?.hidden));
    for (const edge of data.edges) {
      const more = request?.edgeWords[edge.id];
      if (more !== undefined) edge.label = edge.label ? `${edge.label}<br/>${more}` : more;
    }
    for (const node of data.nodes) {
      const more = caption(node);
      const style = own(request?.styles, node.id);
      if (style !== undefined && !node.isGroup && !node.cssStyles?.length && !node.cssCompiledStyles?.length) node.cssStyles = [...style];
      const said = node.isGroup ? undefined : own(request?.labels, node.id);
      if (said !== undefined) Object.assign(node, { label: said, labelType: 'text' });
      if (more !== undefined) node.label = `${(node.label ?? '').replace(/(?:<br\s*\/?>\s*)+$/i, '')}<br/>${more}`;
    }
    if (request?.portable !== true) drawn = new Shown(data, JSON.stringify([request?.theme]));
    return dagre.render(onlyChanges && shown !== undefined ? shown.reduced(data, drawn) : data, ...rest);
  },
};
const LAYOUTS = ['dagre', 'elk', 'elk.stress', 'elk.force', 'elk.mrtree', 'elk.sporeOverlap', 'elk.box', 'elk.rectpacking'];
mermaid.registerLayoutLoaders(
  [...LAYOUTS, 'swimlane', 'cose-bilkent'].map((name) => ({ name, loader: () => Promise.resolve(layout as never) })),
);

let count = 0;

/** Let Mermaid draw, and use its picture while it is in the page, where its parts can be measured. */
async function draw<Result>(asked: DrawRequest, use: (picture: SVGSVGElement) => Result): Promise<Result> {
  request = asked;
  document.body.style.fontFamily = asked.theme.font;
  mermaid.initialize(configuration(asked.theme, asked.portable));
  const { svg } = await mermaid.render(`merrow-${Date.now().toString(36)}-${(count += 1)}`, asked.text);
  const host = document.createElement('div');
  host.innerHTML = svg;
  document.body.append(host);
  try {
    const picture = host.querySelector('svg');
    if (picture === null) throw new Error('Mermaid drew nothing.');
    onlyWords(picture);
    readable(picture);
    named(picture);
    titlesAbove(picture, asked.theme.background);
    return use(picture);
  } finally {
    host.remove();
  }
}

/** A drawing of all. */
function whole(asked: DrawRequest, number: number): Promise<Drawing> {
  onlyChanges = false;
  return draw(asked, (picture) => {
    if (!asked.portable) {
      drawn?.measure(picture, number);
      shown = drawn;
    }
    return { ...inPieces(picture, asked.portable), number };
  });
}

/** What changes in the picture that is shown; null where all must be drawn. */
async function change(asked: DrawRequest, since: number, number: number): Promise<Change | null> {
  if (shown?.number !== since) return null;
  onlyChanges = true;
  try {
    return await draw(asked, (picture) => {
      const change = drawn === undefined ? undefined : shown?.take(drawn, picture, number);
      return change ?? null;
    });
  } catch (problem) {
    if (problem instanceof Different) return null;
    throw problem;
  } finally {
    onlyChanges = false;
  }
}

// The first drawing takes several times as long as later ones: this one is over before a text is known.
const ready = draw({ text: 'flowchart TD\n  A -->|to| B', theme: LIGHT, edgeWords: {}, captions: {}, styles: {}, portable: false }, () => undefined).catch(() => undefined);

addEventListener(
  'message',
  (event: MessageEvent) => {
    const port = event.ports[0];
    if (port === undefined) return;
    port.onmessage = async ({ data }: MessageEvent<Question>) => {
      const { id, request: asked, since } = data;
      await ready;
      try {
        const answer: Answer = since === undefined ? { id, drawing: await whole(asked, id) } : { id, change: await change(asked, since, id) };
        port.postMessage(answer);
      } catch (problem) {
        const answer: Answer = { id, problem: problem instanceof Error ? problem.message : String(problem) };
        port.postMessage(answer);
      }
    };
    port.postMessage('ready');
  },
  { once: true },
);
