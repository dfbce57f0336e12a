/** What the server answers to `merrow.plan`, and what the page of plans and the extension say to each other. */
import type { Job } from '../jobs/protocol';
import type { Usage } from '../run/protocol';

interface Amounts {
  readonly least: number;
  readonly most: number;
}

/** What planning may cost, before any model is asked. */
export interface Forecast {
  readonly endpoint: string;
  readonly model: string;
  readonly calls: Amounts;
  /** In a sentence. */
  readonly text: string;
  readonly mayCost: boolean;
  readonly notices: readonly string[];
}

export type Rule = 'expected' | 'paper' | 'code';

/** One plan. Its texts are a model's: plain text. */
export interface Plan {
  readonly rank: number;
  readonly candidate: number;
  readonly text: string;
  readonly tasks: readonly { readonly id: string; readonly objective: string; readonly agent: string | null; readonly after: readonly string[] }[];
  readonly agents: readonly { readonly id: string; readonly role: string }[];
  readonly figures: Readonly<Record<Rule, Readonly<Record<string, number>>>>;
  /** Its place by each rule, from 1. */
  readonly places: Readonly<Record<Rule, number>>;
  readonly metrics: { readonly depth: number | null };
  readonly covered: Readonly<Record<string, readonly string[]>>;
  readonly missing: readonly string[];
  readonly behind: boolean;
  readonly repairs: number;
  readonly notes: readonly string[];
}

/** The answer to `merrow.plan`. */
export interface Plans {
  readonly task: string;
  readonly model: string;
  readonly endpoint: string;
  readonly rule: { readonly name: Rule; readonly formula: string; readonly fault: string };
  /** Null where nobody judged. */
  readonly requirements: readonly string[] | null;
  readonly plans: readonly Plan[];
  readonly refused: readonly { readonly candidate: number; readonly problems: readonly string[] }[];
  readonly notice: string | null;
  readonly notices: readonly string[];
  readonly usage: Usage;
  readonly known: number;
}

/** Plans in a list, and the answer to `merrow.planReport`; `report` is null before their end. */
export interface KeptPlan extends Job<'plan'> {
  readonly task: string;
  readonly model: string;
  readonly report: Plans | null;
}

/** What is to be planned, as `merrow.plan` takes it. */
export interface Wish {
  readonly task: string;
  readonly n: number;
  readonly roles?: readonly string[];
  readonly maxAgents?: number;
  readonly maxNodes?: number;
  readonly form?: 'mermaid';
}

/** What the page says. */
export type FromPage =
  | 'ready'
  | 'stop'
  | { readonly plan: Wish }
  /** The plan with this rank is to be opened as a file. */
  | { readonly use: number };

/** What the page is told: parts of what it shows. */
export interface ToPage {
  /** Which model plans. */
  readonly about?: string;
  readonly task?: string;
  /** What goes on; null where nothing does. */
  readonly status?: string | null;
  readonly problem?: string | null;
  readonly cards?: Cards | null;
}

/** Plans as the page shows them, in words. */
export interface Cards {
  readonly cards: readonly Card[];
  readonly refused: readonly string[];
  readonly notes: readonly string[];
}

export interface Card {
  readonly rank: number;
  readonly title: string;
  readonly text: string;
  readonly tasks: readonly { readonly name: string; readonly objective: string; readonly agent: string }[];
  readonly figures: readonly { readonly rule: string; readonly place: string; readonly values: string; readonly counts: boolean }[];
  /** Null where nobody judged. */
  readonly coverage: { readonly summary: string; readonly lines: readonly { readonly requirement: string; readonly tasks: string }[] } | null;
  readonly notes: readonly string[];
}
