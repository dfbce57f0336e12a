/** What the preview's two sides and the language server say to each other. Types only: the webview shares this file. */

export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

export type Severity = 'error' | 'warning' | 'hint';

export interface Finding {
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly range: Range;
}

export interface GraphNode {
  readonly id: string;
  readonly kind: 'input' | 'output' | 'operator' | 'decision' | 'unknown';
  readonly operator: string | null;
  /** Whether it says to do something outside, which a model only plays. */
  readonly played?: boolean;
  /** The style in which its operator is published, as a class of Mermaid says it. */
  readonly style: string | null;
  readonly label: string | null;
  /** The role of a step whose label only names its operator, and the other parameters in that label; unknown to older servers. */
  readonly title?: string | null;
  readonly settings?: string;
  /** Equal for steps that do the same with the same inputs; none of nodes that are no steps. */
  readonly doing?: string | null;
  /** The innermost subgraph around it. */
  readonly subgraph?: string | null;
  /** The nodes whose results its memory may show; unknown to older servers. */
  readonly remembers?: readonly string[];
  /** The id where the node is declared. */
  readonly range: Range;
  /** All that is written about the node. */
  readonly places: readonly Range[];
  readonly diagnostics: readonly Finding[];
}

export interface GraphEdge {
  /** The id of the path in Mermaid's drawing. */
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly label: string | null;
  readonly range: Range;
  readonly output: string | null;
  readonly port: string | null;
  readonly type: string | null;
  readonly case: string | null;
  /** What its label says of Loops and Maps: `again`, `over`, `each` or `first`. */
  readonly word: string | null;
  /** The innermost Loop or Map around both its ends. */
  readonly box: string | null;
  /** The Loops and Maps that it leads out of; unknown to older servers. */
  readonly left?: readonly string[];
  readonly drawn: boolean;
  readonly diagnostics: readonly Finding[];
}

export interface GraphSubgraph {
  readonly id: string;
  readonly title: string;
  readonly operator: 'Loop' | 'Map' | null;
  readonly range: Range;
}

/** The server's answer to `merrow/graph`. */
export interface Graph {
  readonly uri: string;
  readonly version: number | null;
  /** The diagram's number in the document, from 1, and how many there are. */
  readonly diagram: number;
  readonly diagrams: number;
  readonly range: Range;
  readonly text: string;
  readonly kind: 'flowchart' | 'other' | 'unknown';
  readonly workflow: boolean;
  /** Why it is not a workflow, as part of a sentence. */
  readonly why: string | null;
  /** Whether it is no workflow but can be run as it is drawn; unknown to older servers. */
  readonly asDrawn?: boolean;
  readonly direction: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly subgraphs: readonly GraphSubgraph[];
  /** Findings about neither a node nor an edge. */
  readonly diagnostics: readonly Finding[];
}

/** A part of the picture that stands for a part of the text. */
export interface Part {
  readonly kind: 'node' | 'edge' | 'subgraph';
  readonly id: string;
}

/** `asking`: it waits for a person's answer; `cancelled`: it ran when the run was stopped; `stale`: the text says something else of it, or of what it works on, since it finished;
 * after a revision of the run: `kept` has finished and still holds, `reset` is made again, `new` came with it, `gone` went with it. */
export type RunState = 'waiting' | 'asking' | 'running' | 'finished' | 'reused' | 'skipped' | 'failed' | 'cancelled' | 'stale' | 'kept' | 'reset' | 'new' | 'gone';

/** Where a node is in a run; `detail` is what it took: time, tokens, cost, or why it failed. */
export interface NodeRun {
  readonly state: RunState;
  readonly detail?: string;
  /** The case that a Decision chose last, and how often it chose each. */
  readonly case?: string;
  readonly cases?: Readonly<Record<string, number>>;
  /** The beginnings of what it gave last, by output, and in how many turns and items it gave something. Foreign text. */
  readonly values?: Readonly<Record<string, string>>;
  readonly times?: number;
}

/** Where a Loop or a Map is in a run. */
export interface BoxRun {
  /** The turns or items that began and that ended, so far. */
  readonly begun: number;
  readonly ended: number;
  /** How many there are at most; unknown of runs of the journal. */
  readonly of?: number | undefined;
  readonly running: boolean;
  /** Of a Loop that still wanted another turn when its turns or its budget ran out. */
  readonly stopped?: StoppedLoop | undefined;
}

/** How a Loop stopped; `taken` are answers of its last turn for which another case was taken. */
export interface StoppedLoop {
  readonly turns: number;
  readonly why: string;
  readonly taken: readonly { readonly at: string; readonly case: string }[];
}

/** The newest revision of a run: who wanted it, and why. All of it is foreign text. */
export interface RevisionNote {
  readonly number: number;
  readonly by: string;
  readonly reason: string;
  /** What it does to the nodes, in words. */
  readonly effect: string;
  /** Whether it waits for a person to agree. */
  readonly waits: boolean;
}

/** What can be done about a revision. */
export type RevisionAct = 'difference' | 'accept' | 'back' | 'apply' | 'refuse';

/** What a preview shows of a run. */
export interface RunPicture {
  readonly run: string;
  readonly isOver: boolean;
  /** The workflow as a revision made it, in place of the document's. */
  readonly revised?: Graph | undefined;
  readonly revision?: RevisionNote | undefined;
  /** The diagram that was run, where it need not be the one that is shown. */
  readonly text?: string | undefined;
  readonly nodes: ReadonlyMap<string, NodeRun>;
  readonly boxes: ReadonlyMap<string, BoxRun>;
}

export type ExportFormat = 'svg' | 'png';

/** To the webview. */
export type ToPreview =
  | { readonly type: 'graph'; readonly graph: Graph }
  /** The part where the cursor is; with `reveal` it is brought into sight. */
  | { readonly type: 'cursor'; readonly part: Part | null; readonly reveal: boolean }
  | { readonly type: 'run'; readonly run: string | null; readonly states: readonly (readonly [string, NodeRun])[]; readonly boxes: readonly (readonly [string, BoxRun])[]; readonly revision: RevisionNote | null; readonly isOver: boolean }
  | { readonly type: 'notice'; readonly text: string }
  | { readonly type: 'types' }
  | { readonly type: 'memory' }
  | { readonly type: 'export'; readonly request: number; readonly format: ExportFormat };

/** From the webview. */
export type FromPreview =
  | { readonly type: 'ready' }
  /** The part was chosen; with `open` the text takes the focus. */
  | { readonly type: 'select'; readonly part: Part; readonly open: boolean }
  /** A picture was drawn, which took so many milliseconds; none where nothing can be drawn. */
  | { readonly type: 'drawn'; readonly version: number | null; readonly milliseconds: number }
  | { readonly type: 'exported'; readonly request: number; readonly data: string }
  | { readonly type: 'failed'; readonly request: number; readonly message: string }
  | { readonly type: 'command'; readonly command: 'exportSvg' | 'exportPng' }
  /** A flowchart that is no workflow is to be run as it is drawn, or its operators are to be written out. */
  | { readonly type: 'drawn as'; readonly act: 'run' | 'write out' }
  | { readonly type: 'revision'; readonly act: RevisionAct; readonly revision: number };

/** What a webview keeps while the window is reloaded. */
export interface PreviewState {
  readonly uri: string;
  readonly diagram: number;
}
