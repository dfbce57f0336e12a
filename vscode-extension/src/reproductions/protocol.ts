/** What the server says of reproductions of papers. Types only. */
import type { Job } from '../jobs/protocol';

/** What `merrow.reproduce` takes. */
export interface ReproductionQuestion {
  readonly paper: string;
  readonly data: string;
  readonly rows?: readonly string[];
  readonly items?: number;
  readonly simulate?: boolean;
  /** Other models than the paper's, by role. */
  readonly models?: Readonly<Record<string, string>>;
  /** Whether files that are not the published ones are taken, too; their rows have no verdict. */
  readonly otherData?: boolean;
  /** The folder whose recipes TextCraft is played with, in the place of Merrow's own. */
  readonly recipes?: string;
  readonly budget?: { readonly usd: number };
}

interface Estimate {
  readonly calls: number;
  readonly tokens: number;
  readonly cost_usd: number | null;
}

/** A row of a plan; `asks` says whether it can be run. */
export interface PlannedRow {
  readonly row: string;
  readonly table: string;
  readonly system: string;
  readonly asks: boolean;
  /** Whether the row is another system's, of which only the paper's figure is shown. */
  readonly other_system: boolean;
  /** The models that it asks, by role. */
  readonly models: Readonly<Record<string, string>>;
  readonly missing: readonly { readonly what: string; readonly other_data: boolean }[];
  readonly estimate: Estimate | null;
}

/** The answer to `merrow.reproduce` with `dryRun`. */
export interface ReproductionForecast {
  readonly endpoint: string;
  readonly free: boolean;
  /** What it may cost, and what is missing, in sentences. */
  readonly text: string;
  readonly notices: readonly string[];
  /** Ids of rows that can be run, the cheapest first. */
  readonly order: readonly string[];
  readonly rows: readonly PlannedRow[];
}

/** A reproduction in a list. */
export interface Reproduction extends Job<'reproduction'> {
  readonly paper: string;
  readonly title: string;
  readonly look: boolean;
  readonly simulated: boolean;
  readonly rows: readonly { readonly row: string; readonly status: string }[];
}

/** The answer to `merrow.reproductionReport`. */
export interface ReproductionReport extends Reproduction {
  readonly html: string;
}
