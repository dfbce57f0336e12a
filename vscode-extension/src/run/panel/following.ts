/** Which run and node the run panel shows: the newest run of the file that is active, until somebody chooses another. Pure. */

export interface Shown {
  readonly run: string;
  /** Without one the panel shows the run as a whole. */
  readonly node: string | undefined;
}

export class Following {
  shown: Shown | undefined;
  private active: string | undefined;
  /** By document: the newest run of this window, and the node that was looked at last. */
  private readonly newest = new Map<string, string>();
  private readonly nodes = new Map<string, string>();

  /** A run of a document has begun. `has` says whether its workflow has a node. Whether something else is shown now. */
  began(uri: string, run: string, has: (node: string) => boolean): boolean {
    this.newest.set(uri, run);
    const node = this.nodes.get(uri);
    if (node !== undefined && !has(node)) this.nodes.delete(uri);
    this.active = uri;
    return this.follow();
  }

  /** A document is active now. Whether something else is shown now; a document without runs leaves the panel as it is. */
  activated(uri: string): boolean {
    if (uri === this.active) return false;
    this.active = uri;
    return this.newest.has(uri) && this.follow();
  }

  /** Somebody chose a node of a run, or without one the run as a whole; `uri` is the document of the run, where it is known. */
  choose(uri: string | undefined, run: string, node: string | undefined): void {
    if (uri !== undefined) {
      if (node === undefined) this.nodes.delete(uri);
      else this.nodes.set(uri, node);
      this.active ??= uri;
    }
    this.shown = { run, node };
  }

  /** Show the newest run of the active document again. Whether something else is shown now. */
  follow(): boolean {
    const run = this.active === undefined ? undefined : this.newest.get(this.active);
    if (run === undefined || this.active === undefined) return false;
    const before = this.shown;
    this.shown = { run, node: this.nodes.get(this.active) };
    return before?.run !== run || before.node !== this.shown.node;
  }

  /** Whether what is shown is not the newest run of the active document. */
  get isEarlier(): boolean {
    return this.shown !== undefined && this.active !== undefined && this.newest.get(this.active) !== this.shown.run;
  }

  /** Whether the active document has a newer run to go to. */
  get hasNewer(): boolean {
    return this.isEarlier && this.active !== undefined && this.newest.has(this.active);
  }
}
