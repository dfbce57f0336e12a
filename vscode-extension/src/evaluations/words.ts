/** Evaluations in words. Pure. */
import { ageText, costText } from '../run/texts/figures';
import type { Evaluation, EvaluationStatus } from './protocol';

const STATUS: Readonly<Record<EvaluationStatus, string>> = {
  running: 'running',
  finished: 'finished',
  stopped: 'stopped before its end',
  cancelled: 'stopped',
  interrupted: 'interrupted',
};

export function statusText(status: EvaluationStatus): string {
  return STATUS[status];
}

/** The score with its interval. */
export function scoreText({ score, interval, counted }: Pick<Evaluation, 'score' | 'interval' | 'counted'>): string {
  if (score === null || interval === null) return 'no score';
  return `${score.toFixed(3)} [${interval[0].toFixed(3)}, ${interval[1].toFixed(3)}] on ${counted} ${counted === 1 ? 'item' : 'items'}`;
}

/** The name of a file. */
export function fileName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}

export interface EvaluationItem {
  readonly kind: 'evaluation';
  readonly evaluation: Evaluation;
  readonly label: string;
  readonly description: string;
  /** All of it in words. */
  readonly spoken: string;
  readonly icon: { readonly name: string; readonly color?: string };
  /** For menus: what can be done with it. */
  readonly context: string;
}

const ICONS: Readonly<Record<EvaluationStatus, EvaluationItem['icon']>> = {
  running: { name: 'sync~spin' },
  finished: { name: 'graph', color: 'testing.iconPassed' },
  stopped: { name: 'error', color: 'testing.iconFailed' },
  cancelled: { name: 'debug-pause', color: 'testing.iconSkipped' },
  interrupted: { name: 'debug-pause', color: 'testing.iconSkipped' },
};

/** An evaluation in the tree: its workflow and score, what it was of, and how it is. */
export function evaluationItem(evaluation: Evaluation, now: number): EvaluationItem {
  const { status, score } = evaluation;
  const label = `${fileName(evaluation.workflow)}: ${score === null ? 'no score' : score.toFixed(3)}`;
  const said = [...(status === 'finished' ? [] : [statusText(status)]), fileName(evaluation.dataset), ageText(evaluation.started, now), ...(evaluation.usage.calls > 0 ? [costText(evaluation.usage)] : [])];
  return {
    kind: 'evaluation',
    evaluation,
    label,
    description: said.join(' · '),
    spoken: [fileName(evaluation.workflow), scoreText(evaluation), statusText(status), ...said].join(', '),
    icon: ICONS[status],
    context: status === 'finished' ? 'evaluation' : status === 'running' ? 'evaluation.live' : 'evaluation.resumable',
  };
}
