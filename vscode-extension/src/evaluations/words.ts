/** Evaluations in words. Pure. */
import { fileName, jobItem, type JobItem } from '../jobs/item';
import type { Batch, Evaluation } from './protocol';

/** The score with its interval. */
export function scoreText({ score, interval, counted }: Pick<Evaluation, 'score' | 'interval' | 'counted'>): string {
  if (score === null || interval === null) return 'no score';
  return `${score.toFixed(3)} [${interval[0].toFixed(3)}, ${interval[1].toFixed(3)}] on ${counted.toLocaleString('en')} ${counted === 1 ? 'item' : 'items'}`;
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

/** A batch in the tree: its workflow and how many rows are answered, what it was of, and how it is. */
export function batchItem(batch: Batch, now: number): JobItem {
  const answered = `${batch.rows['answered'] ?? 0} of ${batch.items} rows answered`;
  const label = `${fileName(batch.workflow)}: ${answered}`;
  return jobItem('batch', batch, { label, spoken: [label], about: fileName(batch.dataset), lines: [answered, batch.dataset, `written to ${batch.output}`], picture: 'table' }, now);
}
