import type { BoxRun, Graph, NodeRun, Part } from '../../src/preview/protocol';
import { equalBranches, type Folded, folded, foldedRun } from './folding';
import { type EdgeRun, edgeRuns, joined } from './ways';
import type { Shown } from './words';

/** The diagram and its run, as the extension tells them and as they are drawn: groups of equal steps as one each. */
export class Showing {
  /** The diagram with all its steps. */
  whole: Graph | undefined;
  /** Whether equal steps are drawn one by one. */
  unfolded = false;
  /** The groups that were opened, by their first step. */
  private readonly opened = new Set<string>();
  private now: Folded | undefined;
  /** The run of all nodes, and what is shown of it. */
  private states: ReadonlyMap<string, NodeRun> = new Map();
  run: ReadonlyMap<string, NodeRun> = new Map();
  private edges: ReadonlyMap<string, EdgeRun> = new Map();
  private boxes: ReadonlyMap<string, BoxRun> = new Map();
  private isOver = true;

  /** Another state of the run, or another run. */
  take(states: ReadonlyMap<string, NodeRun>, boxes: ReadonlyMap<string, BoxRun>, isOver: boolean): void {
    [this.states, this.boxes, this.isOver] = [states, boxes, isOver];
    this.join();
  }

  /** The diagram that is drawn. */
  get graph(): Graph | undefined {
    return this.now?.graph ?? this.whole;
  }

  get folds(): Folded['folds'] {
    return this.now?.folds ?? new Map();
  }

  /** The ids of the nodes that are not drawn. */
  get hidden(): readonly string[] {
    return [...(this.now?.node.keys() ?? [])];
  }

  /** All that there is to say of the picture. */
  get all(): Shown | undefined {
    const { graph, run, boxes, edges, folds } = this;
    return graph === undefined ? undefined : { graph, run, boxes, edges, folds };
  }

  /** The ids of the workflow's outputs. */
  get ends(): ReadonlySet<string> {
    return new Set(this.graph?.nodes.filter(({ kind }) => kind === 'output').map(({ id }) => id));
  }

  /** The node that is drawn for a node. */
  node(id: string): string {
    return this.now?.node.get(id) ?? id;
  }

  /** The part that is drawn for a part. */
  part(part: Part | undefined): Part | undefined {
    return part && { ...part, id: part.kind === 'edge' ? (this.now?.edge.get(part.id) ?? part.id) : this.node(part.id) };
  }

  /** The edges out of a node, then those into it, in the order of the text. */
  edgesOf(id: string): readonly string[] {
    const edges = this.graph?.edges ?? [];
    return [...edges.filter(({ source }) => source === id), ...edges.filter(({ source, target }) => target === id && source !== id)].map((edge) => edge.id);
  }

  /** Draw the steps of a group one by one from now on; whether `id` stands for one. */
  open(id: string): boolean {
    if (!this.folds.has(id)) return false;
    this.opened.add(id);
    return true;
  }

  /** Draw equal steps as one, or one by one; what was opened one by one is closed first. */
  toggle(): void {
    if (this.opened.size > 0) this.opened.clear();
    else this.unfolded = !this.unfolded;
  }

  /** Fold the diagram; whether all equal steps are drawn as one, undefined where there are none. */
  fold(): boolean | undefined {
    const { whole } = this;
    if (whole === undefined) return undefined;
    const groups = whole.workflow ? equalBranches(whole) : [];
    const open = this.unfolded ? new Set(groups.flatMap((branches) => branches.map(([first]) => first ?? ''))) : this.opened;
    this.now = groups.length === 0 ? { graph: whole, folds: new Map(), node: new Map(), edge: new Map() } : folded(whole, open);
    this.join();
    return groups.length === 0 ? undefined : !this.unfolded && this.opened.size === 0;
  }

  /** What the run is on the diagram that is drawn. */
  private join(): void {
    const { whole, now } = this;
    if (whole === undefined || now === undefined) return;
    this.run = foldedRun(this.states, now);
    const all = edgeRuns(whole, this.states, this.boxes, this.isOver);
    const together = new Map<string, EdgeRun[]>();
    for (const [id, run] of all) {
      const drawn = now.edge.get(id) ?? id;
      const known = together.get(drawn);
      if (known === undefined) together.set(drawn, [run]);
      else known.push(run);
    }
    this.edges = new Map([...together].flatMap(([id, runs]) => {
      const run = joined(runs);
      return run === undefined ? [] : [[id, run] as const];
    }));
  }
}
