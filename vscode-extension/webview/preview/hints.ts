import type { Part } from '../../src/preview/protocol';
import type { Marks } from './marks';
import type { Picture } from './picture';
import type { Showing } from './showing';
import type { Stage } from './stage';
import type { Tooltip } from './tooltip';
import { about, spokenEdge } from './words';

/** What is said of the part that the pointer rests on, or that has the focus. */
export class Hints {
  constructor(
    private readonly tooltip: Tooltip,
    private readonly showing: Showing,
    private readonly stage: Stage,
    private readonly marks: Marks,
  ) {}

  listen(viewport: HTMLElement, picture: () => Picture | undefined): void {
    viewport.addEventListener('pointerover', (event) => {
      const part = picture()?.partAt(event.target);
      const said = this.about(part);
      if (part === undefined || said === undefined || !(event.target instanceof Element)) {
        this.tooltip.hide();
        return;
      }
      const beside = picture()?.element(part) ?? event.target;
      this.tooltip.soon(said, part.kind === 'node' ? beside : event.target, part.kind === 'edge' ? [event.clientX, event.clientY] : undefined);
    });
    viewport.addEventListener('pointerleave', () => { this.tooltip.hide(); });
  }

  /** A node has the focus. */
  node(id: string, picture: Picture | undefined): void {
    const node = picture?.node(id);
    if (node === undefined) return;
    this.stage.reveal(node);
    const said = this.about({ kind: 'node', id });
    if (said !== undefined) this.tooltip.show(said, node);
  }

  /** An edge has the focus. */
  edge(id: string, picture: Picture | undefined): void {
    const [path, shown] = [picture?.edge(id), this.showing.all];
    if (path === undefined || shown === undefined) return;
    const part: Part = { kind: 'edge', id };
    path.setAttribute('aria-label', spokenEdge(part, shown));
    this.marks.show(part);
    this.stage.reveal(path);
    const said = this.about(part);
    const label = picture?.label(id);
    // An edge without words has an empty label, somewhere.
    if (said !== undefined) this.tooltip.show(said, label?.textContent.trim() ? label : path);
  }

  private about(part: Part | undefined) {
    const shown = this.showing.all;
    return part === undefined || shown === undefined ? undefined : about(part, shown);
  }
}
