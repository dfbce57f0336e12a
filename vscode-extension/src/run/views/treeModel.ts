/** The tree of runs as data. Pure. */
import type { JobDoor } from '../../jobs/door';
import type { Icon, JobItem, JobsItem } from '../../jobs/item';
import type { RevisionItem } from '../../revisions/words';
import { ageText, costText, figures, secondsText } from '../texts/figures';
import { shortName } from '../texts/pages';
import type { NodeReport, RunStatus, RunSummary } from '../protocol';

export interface WorkflowItem {
  readonly kind: 'workflow';
  readonly workflow: string;
  readonly label: string;
  /** Where it lies, to tell two of the same name apart. */
  readonly description: string;
  readonly runs: readonly RunItem[];
}

export interface RunItem {
  readonly kind: 'run';
  readonly summary: RunSummary;
  readonly label: string;
  readonly description: string;
  /** All of it in words. */
  readonly spoken: string;
  readonly icon: Icon;
  /** For menus: what can be done with it. */
  readonly context: string;
}

export interface NodeItem {
  readonly kind: 'node';
  readonly run: string;
  readonly node: string;
  readonly description: string;
  readonly icon: Icon;
}

export type Item = WorkflowItem | RunItem | RevisionItem | NodeItem | JobsItem | JobItem;

const RUNS: Readonly<Record<RunStatus, Icon>> = {
  running: { name: 'sync~spin' },
  waiting: { name: 'comment-unresolved', color: 'charts.yellow' },
  finished: { name: 'pass', color: 'testing.iconPassed' },
  failed: { name: 'error', color: 'testing.iconFailed' },
  cancelled: { name: 'debug-pause', color: 'testing.iconSkipped' },
};

const NODES: Readonly<Record<string, Icon>> = {
  finished: { name: 'pass', color: 'testing.iconPassed' },
  reused: { name: 'history', color: 'testing.iconPassed' },
  failed: { name: 'error', color: 'testing.iconFailed' },
  skipped: { name: 'debug-step-over', color: 'testing.iconSkipped' },
};

const words: Readonly<Record<RunStatus, string>> = { running: 'running', waiting: 'waiting', finished: 'finished', failed: 'failed', cancelled: 'stopped' };

/**
 * Runs by workflow: the workflow that was run last first, of each the newest run first. `folders` are those of the workspace, whose
 * workflows go by their path in it.
 */
export function runTree(runs: readonly RunSummary[], folders: readonly string[], now: number): WorkflowItem[] {
  const groups = new Map<string, RunSummary[]>();
  for (const run of [...runs].sort((one, other) => other.started - one.started)) {
    groups.set(run.workflow, [...(groups.get(run.workflow) ?? []), run]);
  }
  return [...groups].map(([workflow, own]) => ({
    kind: 'workflow',
    workflow,
    label: shortName(workflow),
    description: folderOf(workflow, folders),
    runs: own.map((run) => runItem(run, now)),
  }));
}

/** Jobs by kind, the newest first; no group of what there is none of. At most so many of a kind. */
export async function jobTree(doors: readonly Pick<JobDoor, 'kind' | 'label' | 'picture' | 'items'>[], limit: number, now: number): Promise<JobsItem[]> {
  const groups = await Promise.all(doors.map(async (door): Promise<JobsItem> => ({ kind: 'jobs', id: `${door.kind}s`, label: door.label, icon: { name: door.picture }, items: await door.items(limit, now) })));
  return groups.filter(({ items }) => items.length > 0);
}

export function runItem(run: RunSummary, now: number): RunItem {
  const took = run.seconds === null ? [] : [secondsText(run.seconds)];
  const cost = run.usage.calls > 0 ? [costText(run.usage)] : [];
  return {
    kind: 'run',
    summary: run,
    label: ageText(run.started, now),
    // The icon says that it went well; whoever hears the tree is told.
    description: [...(run.status === 'finished' ? [] : [words[run.status]]), ...took, ...cost].join(' · '),
    spoken: [ageText(run.started, now), words[run.status], ...took, ...cost].join(', '),
    icon: RUNS[run.status],
    // What waits for a person is answered. What another process works on can't be resumed; what no process works on any more can.
    context: run.status === 'finished' ? 'run' : run.status === 'waiting' ? 'run.waiting' : run.status === 'running' && run.here ? 'run.live' : 'run.resumable',
  };
}

export function nodeItem(run: string, node: NodeReport): NodeItem {
  return {
    kind: 'node',
    run,
    node: node.node,
    description: [node.status === 'finished' ? '' : node.status, figures(node.usage, node.seconds)].filter((part) => part !== '').join(' · '),
    icon: NODES[node.status] ?? { name: 'circle-outline' },
  };
}

function folderOf(workflow: string, folders: readonly string[]): string {
  const end = Math.max(workflow.lastIndexOf('/'), workflow.lastIndexOf('\\'));
  const folder = end < 0 ? '' : workflow.slice(0, end);
  for (const root of folders) {
    if (folder === root) return '';
    if (folder.startsWith(`${root}/`) || folder.startsWith(`${root}\\`)) return folder.slice(root.length + 1);
  }
  return folder;
}
