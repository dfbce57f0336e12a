import type { RunState, Severity } from '../../src/preview/protocol';

/** Strokes on a field of 16 by 16, so that no state is told by its colour alone. */
export const MARKS: Readonly<Record<Severity | RunState, string>> = {
  error: 'M5.2 5.2 10.8 10.8M10.8 5.2 5.2 10.8',
  warning: 'M8 4.2V8.8M8 11.3V11.8',
  hint: 'M8 7.2V11.8M8 4.2V4.7',
  waiting: 'M8 4.6V8L10.4 9.6',
  running: 'M8 4.2A3.8 3.8 0 1 1 4.2 8',
  asking: 'M5.8 6.2A2.2 2.2 0 1 1 8 8.4V9.4M8 11.4V11.9',
  reused: 'M5 6.2H9.6A2.3 2.3 0 0 1 9.6 10.8H6.4M6.8 4.3 4.8 6.2 6.8 8.1',
  cancelled: 'M5.6 5.6H10.4V10.4H5.6Z',
  stale: 'M4.4 8.8C5.4 6.6 6.8 6.6 8 8S10.6 9.4 11.6 7.2',
  kept: 'M4.4 7.4 6.4 9.4 10 5M4.6 12H11.4',
  reset: 'M11.6 6.4A3.9 3.9 0 1 0 11.9 9M11.9 4.2V6.7H9.4',
  new: 'M8 4.4V11.6M4.4 8H11.6',
  gone: 'M4.4 8H11.6',
  finished: 'M4.6 8.3 7 10.7 11.4 5.6',
  failed: 'M5.2 5.2 10.8 10.8M10.8 5.2 5.2 10.8',
  skipped: 'M4.4 5 7.4 8 4.4 11M8.4 5 11.4 8 8.4 11',
};

export const TOOLS = {
  smaller: 'M3.5 8H12.5',
  larger: 'M3.5 8H12.5M8 3.5V12.5',
  fit: 'M2.5 6V2.5H6M10 2.5H13.5V6M13.5 10V13.5H10M6 13.5H2.5V10',
  types: 'M2 4.5H8M5 4.5V12.5M9.5 8H14M11.75 8V12.5',
  memory: 'M3 3H8M3 13H8M9 3C14 3 14 13 9 13M11 10.8 9 13 11 15',
  folding: 'M2.5 6.5H10.5V13.5H2.5ZM4.5 4.5H12.5V11.5M6.5 2.5H14V9.5',
  follow: 'M8 3V1M8 15V13M3 8H1M15 8H13M8 4.2A3.8 3.8 0 1 0 8 11.8A3.8 3.8 0 1 0 8 4.2M8 7.4V8.6',
  find: 'M7 2.5A4.5 4.5 0 1 0 7 11.5A4.5 4.5 0 1 0 7 2.5M10.3 10.3 13.8 13.8',
  previous: 'M4 10 8 6 12 10',
  next: 'M4 6 8 10 12 6',
  close: 'M4 4 12 12M12 4 4 12',
  save: 'M8 2.5V9.5M4.8 6.6 8 9.8 11.2 6.6M2.5 12.8H13.5',
} as const;

const SVG = 'http://www.w3.org/2000/svg';

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | number>>,
  ...children: Node[]
): SVGElementTagNameMap[Tag] {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** An icon for a button or a legend. */
export function icon(path: string): SVGSVGElement {
  return svg('svg', { viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true', class: 'icon' }, svg('path', { d: path }));
}

/** A mark in the picture: a circle for a finding, a rounded square for a run, with its sign. */
export function mark(kind: Severity | RunState, shape: 'circle' | 'square', x: number, y: number): SVGGElement {
  const field =
    shape === 'circle' ? svg('circle', { cx: 8, cy: 8, r: 8 }) : svg('rect', { x: 0, y: 0, width: 16, height: 16, rx: 4 });
  const sign = svg('path', { d: MARKS[kind], class: 'sign' });
  return svg('g', { class: `mark ${kind}`, transform: `translate(${x - 8}, ${y - 8})` }, field, sign);
}
