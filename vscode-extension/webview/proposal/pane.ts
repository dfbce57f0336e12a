import type { Touched } from '../../src/mutations/proposal';
import { type Engine, Superseded } from '../drawing/engine';
import type { DrawRequest } from '../drawing/protocol';
import { element } from '../preview/dom';
import { svg } from '../preview/icons';
import { outline } from '../preview/outlines';
import type { Edges, TouchedEdges } from './edges';
import { tooLong } from '../preview/limits';
import { Picture } from '../preview/picture';
import { Stage } from '../preview/stage';

const ROOM = 4;
const KINDS = ['added', 'removed', 'changed'] as const;

/**
 * A picture among others, with the nodes that a change is about framed. `label` is what screen readers call it; `whole` shows all of
 * it, however small.
 */
export class Pane {
  readonly element: HTMLElement;
  private readonly world = element('div', { class: 'world' });
  private readonly note = element('div', { class: 'note' }, 'Drawing…');
  private readonly stage: Stage;
  private picture: Picture | undefined;
  /** What is to be seen in the middle. */
  private touched: readonly Element[] = [];

  constructor(name: string, label: string, private readonly whole = false) {
    const viewport = element('div', { class: 'viewport', role: 'img', 'aria-label': label }, this.world);
    this.element = element('section', { class: 'pane' }, element('h2', {}, name), viewport, this.note);
    this.stage = new Stage(viewport, this.world, () => undefined, () => { this.touched = []; }, () => { this.centre(); });
  }

  /** Draw a diagram, as long as it is `wanted`. */
  async draw(engine: Engine, request: DrawRequest, marks: Touched, wanted: () => boolean): Promise<void> {
    const long = tooLong(request.text);
    if (long !== undefined) {
      this.say(long);
      return;
    }
    try {
      const picture = await Picture.build(await engine.draw(request), this.world, wanted);
      if (picture === undefined) return;
      picture.show(this.picture);
      this.picture = picture;
      this.stage.resize(picture.width, picture.height);
      if (this.whole) this.stage.fit();
      this.touched = KINDS.flatMap((kind) => marks[kind].flatMap((id) => {
        const node = picture.node(id);
        if (node !== undefined) mark(node, kind);
        return node ?? [];
      }));
      this.centre();
      this.note.hidden = true;
    } catch (problem) {
      if (!(problem instanceof Superseded)) this.say(`The diagram can't be drawn: ${problem instanceof Error ? problem.message : String(problem)}`);
    }
  }

  /** What is written on the edges of the picture. */
  get edges(): Edges {
    const picture = this.picture;
    return new Map(picture === undefined ? [] : [...picture.edgeIds].map((id) => [id, picture.label(id)?.textContent.trim() ?? '']));
  }

  /** Mark the edges that a change touches, too, and bring all of it into the middle; where no node is marked, these edges are what is seen. */
  markEdges(edges: TouchedEdges): void {
    const paths = KINDS.flatMap((kind) => edges[kind].flatMap((id) => {
      const path = this.picture?.edge(id);
      for (const part of [path, this.picture?.label(id)]) part?.classList.add('touched-edge', kind);
      return path ?? [];
    }));
    if (this.touched.length === 0) this.touched = paths;
    this.centre();
  }

  private centre(): void {
    if (!this.whole && this.touched.length > 0) this.stage.middle(...this.touched);
  }

  /** The picture's own size in pixels. */
  get size(): { readonly width: number; readonly height: number } | undefined {
    return this.picture;
  }

  /** Say why there is no picture. */
  say(text: string): void {
    this.picture?.root.remove();
    this.picture = undefined;
    this.note.textContent = text;
    this.note.hidden = false;
  }
}

function mark(node: SVGGElement, kind: string): void {
  // In a group of its own, since a class of the diagram colours all that is in the node itself, and importantly.
  node.append(svg('g', { class: 'marks' }, outline(node, node.getBBox(), ROOM, `touched ${kind}`)));
}
