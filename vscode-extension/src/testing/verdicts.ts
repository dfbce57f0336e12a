/** What results of cases and of items are in the Test Explorer. Pure. */
import type { Row } from '../evaluations/protocol';
import type { Range } from '../preview/protocol';

export interface Case {
  readonly id: string;
  readonly range: Range;
  readonly tags: readonly string[];
}

/** The answer to `merrow.cases`. */
export interface CasesFile {
  readonly uri: string | null;
  readonly problems: number;
  readonly cases: readonly Case[];
}

export interface CaseResult {
  readonly id: string;
  readonly status: 'passed' | 'failed' | 'stale' | 'skipped' | 'xfailed' | 'xpassed' | 'error';
  readonly message: string;
  readonly expected: string | null;
  readonly actual: string | null;
  /** What the message is about, in the cases file. */
  readonly place: Range;
  readonly seconds: number;
}

/** The notification `merrow/testEvent`: a case begins (no result) or has ended. */
export interface CaseNews {
  readonly uri: string;
  readonly id: string;
  readonly result: CaseResult | null;
}

export interface Verdict {
  readonly kind: 'passed' | 'failed' | 'errored' | 'skipped';
  readonly message: string;
  readonly expected?: string;
  readonly actual?: string;
  readonly milliseconds: number;
}

const KINDS: Readonly<Record<CaseResult['status'], Verdict['kind']>> = {
  passed: 'passed',
  xfailed: 'passed',
  xpassed: 'passed',
  failed: 'failed',
  stale: 'failed',
  error: 'errored',
  skipped: 'skipped',
};

export function verdictOfCase({ status, message, expected, actual, seconds }: CaseResult): Verdict {
  const kind = KINDS[status];
  const difference = expected === null || actual === null ? {} : { expected, actual };
  const said = status === 'xfailed' ? `Failed as expected. ${message}` : status === 'xpassed' ? `Passed, although it is expected to fail. ${message}` : message;
  return { kind, message: said.trim(), ...difference, milliseconds: seconds * 1000 };
}

const OUTCOMES: Readonly<Record<Row['status'], Verdict['kind']>> = { right: 'passed', wrong: 'failed', failed: 'failed', unanswered: 'skipped', invalid: 'errored' };

/** What all answers to an item came to: the worst of them. */
export function verdictOfItem(rows: readonly Row[]): Verdict {
  const worst = ['failed', 'wrong', 'invalid', 'unanswered', 'right'].map((status) => rows.find((row) => row.status === status)).find((row) => row !== undefined);
  const milliseconds = 1000 * rows.reduce((sum, { seconds }) => sum + seconds, 0);
  if (worst === undefined) return { kind: 'skipped', message: 'It was not asked.', milliseconds };
  const right = rows.filter(({ status }) => status === 'right').length;
  const several = rows.length > 1 ? `${right} of ${rows.length} answers are right. ` : '';
  const message = `${several}${worst.reason === '' ? worst.status : worst.reason}`;
  const difference = worst.status === 'wrong' ? { expected: worst.gold, actual: worst.read } : {};
  return { kind: OUTCOMES[worst.status], message, ...difference, milliseconds };
}
