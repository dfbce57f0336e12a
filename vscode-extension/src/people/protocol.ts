/** A question of a run to a person, as `merrow/ask` and `merrow.waiting` have it. Types only. */

export type FormKind = 'approval' | 'choice' | 'choices' | 'number' | 'text' | 'edit' | 'form';

/** A question in a list. */
export interface OpenQuestion {
  readonly run: string;
  readonly node: string;
  /** The turns and items that the node runs in; "" is the whole workflow. */
  readonly path: string;
  /** Both together, as commands name the question. */
  readonly visit: string;
  readonly question: string;
  readonly kind: FormKind;
  /** Seconds since 1970; null where there is no deadline. */
  readonly asked: number;
  readonly deadline: number | null;
  /** The workflow that asks. */
  readonly from: string;
  readonly uri: string | null;
}

/** One with its form. */
export interface Question extends OpenQuestion {
  readonly schema: unknown;
  readonly shown: readonly { readonly title: string; readonly text: string }[];
  /** Why an earlier answer was not accepted. */
  readonly problems: readonly string[];
}

export type Content = Readonly<Record<string, unknown>>;

/** What comes of it. */
export type Answer = { readonly action: 'accept'; readonly content: Content } | { readonly action: 'decline' } | { readonly action: 'cancel' };
