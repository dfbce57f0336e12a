/**
 * The drawing frame: Mermaid in a frame of its own, which the browser runs in a process of its own, so that a picture of a
 * thousand nodes, which takes seconds, holds up neither typing nor the picture that is shown.
 */
import mermaid from 'mermaid';
import * as dagre from 'merrow:dagre';
import type { Answer, DrawRequest, Question } from '../drawing/protocol';
import { readable } from './contrast';
import { onlyWords } from './labels';
import { inPieces } from './pieces';
import { configuration } from './configuration';

interface LaidOut {
  readonly edges: { readonly id: string; label?: string }[];
}

let words: Readonly<Record<string, string>> = {};

/** Mermaid's own layout, after the edges were given what else their labels shall say. */
const layout = {
  render(data: LaidOut, ...rest: unknown[]): Promise<void> {
    for (const edge of data.edges) {
      const more = words[edge.id];
      if (more !== undefined) edge.label = edge.label ? `${edge.label}<br/>${more}` : more;
    }
    return dagre.render(data, ...rest);
  },
};
const LAYOUTS = ['dagre', 'elk', 'elk.stress', 'elk.force', 'elk.mrtree', 'elk.sporeOverlap', 'elk.box', 'elk.rectpacking'];
mermaid.registerLayoutLoaders(
  [...LAYOUTS, 'swimlane', 'cose-bilkent'].map((name) => ({ name, loader: () => Promise.resolve(layout as never) })),
);

let count = 0;

async function draw(request: DrawRequest): Promise<Answer & { drawing: unknown }> {
  document.body.style.fontFamily = request.theme.font;
  words = request.edgeWords;
  mermaid.initialize(configuration(request.theme, request.portable));
  const { svg } = await mermaid.render(`merrow-${Date.now().toString(36)}-${(count += 1)}`, request.text);
  const host = document.createElement('div');
  host.innerHTML = svg;
  document.body.append(host);
  try {
    const picture = host.querySelector('svg');
    if (picture === null) throw new Error('Mermaid drew nothing.');
    onlyWords(picture);
    readable(picture);
    return { id: 0, drawing: inPieces(picture, request.portable) };
  } finally {
    host.remove();
  }
}

addEventListener(
  'message',
  (event: MessageEvent) => {
    const port = event.ports[0];
    if (port === undefined) return;
    port.onmessage = async ({ data }: MessageEvent<Question>) => {
      const { id, request } = data;
      try {
        port.postMessage({ ...(await draw(request)), id });
      } catch (problem) {
        const answer: Answer = { id, problem: problem instanceof Error ? problem.message : String(problem) };
        port.postMessage(answer);
      }
    };
    port.postMessage('ready');
  },
  { once: true },
);
