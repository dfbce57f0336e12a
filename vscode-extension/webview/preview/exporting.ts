import { LIGHT } from '../drawing/theme';
import { type Engine, Superseded } from '../drawing/engine';
import type { ExportFormat, FromPreview, Graph } from '../../src/preview/protocol';
import { brokenWords, whyNot } from './undrawn';

/** Pixels of a PNG for each of the picture, and the longest side that browsers draw. */
const DENSITY = 2;
const LONGEST = 16_000;

/** The answer to the wish for a picture of a diagram, with all its steps. */
export async function answerExport(
  engine: Engine,
  { request, format }: { readonly request: number; readonly format: ExportFormat },
  graph: Graph | undefined,
  edgeWords: (graph: Graph) => Readonly<Record<string, string>>,
): Promise<FromPreview> {
  try {
    if (graph === undefined) throw new Error('There is no picture yet.');
    const why = whyNot(graph);
    if (why !== undefined) throw new Error(why);
    return { type: 'exported', request, data: await exported(engine, graph.text, edgeWords(graph), format) };
  } catch (problem) {
    return { type: 'failed', request, message: problem instanceof Superseded ? 'The text changed meanwhile; export it again.' : brokenWords(graph, String(problem)) };
  }
}

/** The picture for others: in light colours, with labels that every program shows. The text of an SVG, or a PNG in base64. */
async function exported(
  engine: Engine,
  text: string,
  edgeWords: Readonly<Record<string, string>>,
  format: ExportFormat,
): Promise<string> {
  const drawing = await engine.draw({ text, theme: LIGHT, edgeWords, captions: {}, styles: {}, portable: true }, true);
  const host = document.createElement('template');
  host.innerHTML = drawing.frame;
  const picture = host.content.querySelector('svg');
  if (picture === null) throw new Error('There is no picture.');
  picture.setAttribute('width', String(Math.ceil(drawing.width)));
  picture.setAttribute('height', String(Math.ceil(drawing.height)));
  for (const node of picture.querySelectorAll('[data-node], [data-look]')) {
    node.removeAttribute('data-node');
    node.removeAttribute('data-look');
  }
  const svg = new XMLSerializer().serializeToString(picture);
  return format === 'svg' ? `<?xml version="1.0" encoding="UTF-8"?>\n${svg}\n` : png(svg, drawing.width, drawing.height);
}

async function png(svg: string, width: number, height: number): Promise<string> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(DENSITY, LONGEST / width, LONGEST / height);
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('The picture is too large to be drawn as PNG.');
  context.fillStyle = LIGHT.background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const data = canvas.toDataURL('image/png');
  const start = 'data:image/png;base64,';
  if (!data.startsWith(start)) throw new Error('The picture is too large to be drawn as PNG; export it as SVG.');
  return data.slice(start.length);
}
