/** What the drawing frame is asked, and what it answers. */

/** Colours and font of the editor, as CSS values. */
export interface Theme {
  readonly dark: boolean;
  readonly highContrast: boolean;
  readonly background: string;
  readonly foreground: string;
  readonly line: string;
  readonly border: string;
  readonly fill: string;
  readonly groupFill: string;
  readonly font: string;
}

export interface DrawRequest {
  readonly text: string;
  readonly theme: Theme;
  /** More words for the labels of edges, by Mermaid's id of the edge, in HTML. */
  readonly edgeWords: Readonly<Record<string, string>>;
  /** What is written in nodes in the place of their labels, by id, in HTML. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The ids of nodes that are not drawn, nor are their edges. */
  readonly hidden?: readonly string[];
  /** What stands small below the labels of nodes, by id, in HTML; `ids` for the ids of all whose label says something else. */
  readonly captions: Readonly<Record<string, string>> | 'ids';
  /** The styles of nodes that have none from the diagram, by id. */
  readonly styles: Readonly<Record<string, readonly string[]>>;
  /** Labels as SVG text, which every program shows, in the place of HTML. */
  readonly portable: boolean;
}

/** A picture in pieces: each of `parts` belongs into the element of `frame` with its number as `data-slot`, in order. */
export interface Drawing {
  /** Its number among the drawings and changes of this frame. */
  readonly number: number;
  readonly frame: string;
  readonly parts: readonly { readonly slot: number; readonly svg: string }[];
  readonly width: number;
  readonly height: number;
}

/** Stands for the picture's id in the style of a change. */
export const STAND_IN = 'merrow-picture';

/** What another text changes in a picture whose nodes and edges are the same: the nodes that look different, and the style of all. */
export interface Change {
  readonly number: number;
  readonly nodes: readonly { readonly id: string; readonly svg: string }[];
  readonly style: string;
  /** Whether each changed node is as large as it was: then everything is where a drawing would put it. */
  readonly sameSizes: boolean;
}

export type Answer =
  | { readonly id: number; readonly drawing: Drawing }
  /** Null: more has changed than nodes can be exchanged for. */
  | { readonly id: number; readonly change: Change | null }
  | { readonly id: number; readonly problem: string };

/** Draw, or with `since`, the number of a picture that is shown, say what changes in it. */
export interface Question {
  readonly id: number;
  readonly request: DrawRequest;
  readonly since?: number;
}
