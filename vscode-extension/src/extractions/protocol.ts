/** What the server says of extractions. Types only. */
import type { Job } from '../jobs/protocol';

/** What `merrow.extract` takes. */
export interface ExtractionQuestion {
  readonly dataset: string;
  readonly gold?: string;
  readonly solution?: string;
  readonly mapping?: Readonly<Record<string, string>>;
  readonly metric?: string;
  readonly without?: readonly string[];
}

/** The answer to `merrow.extract` with `dryRun`. */
export interface ExtractionForecast {
  readonly endpoint: string;
  readonly free: boolean;
  readonly text: string;
  readonly notes: readonly string[];
}

/** An extraction in a list. */
export interface Extraction extends Job<'extraction'> {
  /** The file with the solved cases. */
  readonly cases: string;
  readonly part: string;
  readonly generator: string;
  readonly library: string;
  /** The file of the report; null where there is none. */
  readonly page: string | null;
  readonly report: { readonly operators: readonly { readonly name: string }[]; readonly why_nothing: string | null } | null;
}

/** The answer to `merrow.extractionReport`; `html` is null before its end. */
export interface ExtractionReport extends Extraction {
  readonly html: string | null;
  readonly text: string;
}
