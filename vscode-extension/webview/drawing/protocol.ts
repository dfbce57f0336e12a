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
  /** More words for the labels of edges, by Mermaid's id of the edge. */
  readonly edgeWords: Readonly<Record<string, string>>;
  /** Labels as SVG text, which every program shows, in the place of HTML. */
  readonly portable: boolean;
}

/** A picture in pieces: each of `parts` belongs into the element of `frame` with its number as `data-slot`, in order. */
export interface Drawing {
  readonly frame: string;
  readonly parts: readonly { readonly slot: number; readonly svg: string }[];
  readonly width: number;
  readonly height: number;
}

export type Answer =
  | { readonly id: number; readonly drawing: Drawing }
  | { readonly id: number; readonly problem: string };

export interface Question {
  readonly id: number;
  readonly request: DrawRequest;
}
