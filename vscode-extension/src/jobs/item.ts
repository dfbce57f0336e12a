/** Jobs in the tree, and in words. Pure. */
import { ageText, costText } from '../run/texts/figures';
import type { Job, JobKind, JobStatus } from './protocol';

export interface Icon {
  readonly name: string;
  readonly color?: string;
}

/** A job in the tree. */
export interface JobItem {
  readonly kind: JobKind;
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  /** All of it in words. */
  readonly spoken: string;
  readonly icon: Icon;
  /** For menus: what can be done with it. */
  readonly context: string;
}

/** The jobs of a kind, of all workflows, the newest first. */
export interface JobsItem {
  readonly kind: 'jobs';
  readonly id: string;
  readonly label: string;
  readonly icon: Icon;
  readonly items: readonly JobItem[];
}

const STATUS: Readonly<Record<JobStatus, string>> = {
  running: 'running',
  finished: 'finished',
  stopped: 'stopped before its end',
  cancelled: 'stopped',
  interrupted: 'interrupted',
};

const ICONS: Readonly<Record<Exclude<JobStatus, 'finished'>, Icon>> = {
  running: { name: 'sync~spin' },
  stopped: { name: 'error', color: 'testing.iconFailed' },
  cancelled: { name: 'debug-pause', color: 'testing.iconSkipped' },
  interrupted: { name: 'debug-pause', color: 'testing.iconSkipped' },
};

export function statusText(status: JobStatus): string {
  return STATUS[status];
}

/** The name of a file. */
export function fileName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}

/** What differs from kind to kind: how one is called, in the tree and aloud, what it was of, more lines on it, and its picture. */
interface Words {
  readonly label: string;
  readonly spoken: readonly string[];
  readonly about: string;
  readonly lines: readonly string[];
  readonly picture: string;
}

/** A job in the tree: what it is called, what it was of, and how it is. */
export function jobItem<Kind extends JobKind>(kind: Kind, job: Job<Kind>, { label, spoken, about, lines, picture }: Words, now: number): JobItem {
  const { status, error } = job;
  const cost = job.usage.calls > 0 ? [costText(job.usage)] : [];
  const said = [...(status === 'finished' ? [] : [statusText(status)]), ...(about === '' ? [] : [about]), ageText(job.started, now), ...cost];
  const id = job[kind];
  return {
    kind,
    id,
    label,
    description: said.join(' · '),
    tooltip: [`${kind.slice(0, 1).toUpperCase()}${kind.slice(1)} ${id}: ${statusText(status)}`, ...lines, error ?? ''].join('\n').trimEnd(),
    spoken: [...spoken, statusText(status), ...said].join(', '),
    icon: status === 'finished' ? { name: picture, color: 'testing.iconPassed' } : ICONS[status],
    context: status === 'finished' ? kind : status === 'running' ? `${kind}.live` : `${kind}.resumable`,
  };
}

/** The kind of job that a command was given, by the item of the tree or what names one. */
export function kindOf(given: unknown): unknown {
  return typeof given === 'object' && given !== null && 'kind' in given ? given.kind : undefined;
}

/** The ids of the jobs of a kind that a command was given: items of the tree, or objects with their ids. */
export function idsOf(kind: JobKind, given: unknown, all?: unknown): string[] {
  const items: unknown[] = Array.isArray(all) && all.length > 0 ? all : [given];
  return items.flatMap((item) => {
    if (typeof item !== 'object' || item === null || ('kind' in item && item.kind !== kind)) return [];
    return 'id' in item && typeof item.id === 'string' ? [item.id] : [];
  });
}
