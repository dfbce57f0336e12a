/** Evaluations in words. Pure. */
import { fileName, jobItem, type JobItem } from '../jobs/item';
import type { Evaluation } from './protocol';

/** The score with its interval. */
export function scoreText({ score, interval, counted }: Pick<Evaluation, 'score' | 'interval' | 'counted'>): string {
  if (score === null || interval === null) return 'no score';
  return `${score.toFixed(3)} [${interval[0].toFixed(3)}, ${interval[1].toFixed(3)}] on ${counted} ${counted === 1 ? 'item' : 'items'}`;
}

/** An evaluation in the tree: its workflow and score, what it was of, and how it is. */
export function evaluationItem(evaluation: Evaluation, now: number): JobItem {
  const name = fileName(evaluation.workflow);
  const score = scoreText(evaluation);
  return jobItem('evaluation', evaluation, {
    label: `${name}: ${evaluation.score === null ? 'no score' : evaluation.score.toFixed(3)}`,
    spoken: [name, score],
    about: fileName(evaluation.dataset),
    lines: [score, `${evaluation.dataset} (part ${evaluation.part})`, `metric ${evaluation.metric}`],
    picture: 'graph',
  }, now);
}
