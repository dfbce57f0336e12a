/** Extractions in words. Pure. */
import { fileName, jobItem, type JobItem } from '../jobs/item';
import { count } from '../run/texts/figures';
import type { Extraction } from './protocol';

/** An extraction in the tree: its cases, and how many operators came of them. */
export function extractionItem(extraction: Extraction, now: number): JobItem {
  const { cases, part, generator, report } = extraction;
  const found = report === null ? 'no operators yet' : report.why_nothing === null ? count(report.operators.length, 'operator') : 'no operators';
  const label = `${fileName(cases)}: ${found}`;
  return jobItem('extraction', extraction, { label, spoken: [label], about: '', lines: [found, `${cases} (part ${part})`, `model ${generator}`], picture: 'symbol-class' }, now);
}
