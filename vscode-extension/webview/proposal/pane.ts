import type { Touched } from '../../src/mutations/proposal';
import { type Engine, Superseded } from '../drawing/engine';
import type { DrawRequest } from '../drawing/protocol';
import { element } from '../preview/dom';
import { svg } from '../preview/icons';
import { tooLong } from '../preview/limits';
import { Picture } from '../preview/picture';
import { Stage } from '../preview/stage';

const ROOM = 4;

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

  constructor(name: string, label: string, private readonly whole = false) {
    const viewport = element('div', { class: 'viewport', role: 'img', 'aria-label': label }, this.world);
    this.element = element('section', { class: 'pane' }, element('h2', {}, name), viewport, this.note);
    this.stage = new Stage(viewport, this.world, () => undefined);
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
      const touched = (['added', 'removed', 'changed'] as const).flatMap((kind) => marks[kind].map((id) => ({ kind, node: picture.node(id) })));
      for (const { kind, node } of touched) mark(node, kind);
      this.stage.reveal(...touched.flatMap(({ node }) => node ?? []));
      this.note.hidden = true;
    } catch (problem) {
      if (!(problem instanceof Superseded)) this.say(`The diagram can't be drawn: ${problem instanceof Error ? problem.message : String(problem)}`);
    }
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

function mark(node: SVGGElement | undefined, kind: string): void {
  if (node === undefined) return;
  const box = node.getBBox();
  const place = { x: box.x - ROOM, y: box.y - ROOM, width: box.width + 2 * ROOM, height: box.height + 2 * ROOM };
  // In a group of its own, since a class of the diagram colours all that is in the node itself, and importantly.
  node.append(svg('g', { class: 'marks' }, svg('rect', { ...place, rx: 6, class: `touched ${kind}` })));
}
