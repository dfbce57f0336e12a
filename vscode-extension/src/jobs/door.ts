import * as vscode from 'vscode';
import type { JobItem } from './item';
import type { Job, JobKind } from './protocol';
import type { AnyJobServer } from './server';

/** What a kind of job is in the tree and in commands, whatever is in its answers. */
export interface JobDoor {
  readonly kind: JobKind;
  /** What several are called, in the tree. */
  readonly label: string;
  readonly picture: string;
  /** What goes, and what stays, where some are deleted. */
  readonly goes: string;
  readonly onDidChange: vscode.Event<undefined>;
  items(limit: number, now: number): Promise<JobItem[]>;
  show(id: string): Promise<void>;
  goOn(id: string): Promise<void>;
  stop(id: string): Promise<void>;
  delete(id: string): Promise<void>;
}

/** The parts of the extension that are about a kind, and its door. */
export interface JobParts {
  readonly door: JobDoor;
  dispose(): unknown;
}

/** What differs from kind to kind, with one of it as an item of the tree. */
interface Own<One> extends Pick<JobDoor, 'label' | 'picture' | 'goes' | 'show' | 'goOn'> {
  readonly item: (job: One, now: number) => JobItem;
}

export function jobDoor<Kind extends JobKind, One extends Job<Kind>>(server: AnyJobServer<Kind, One>, { item, ...own }: Own<One>): JobDoor {
  return {
    ...own,
    kind: server.kind,
    onDidChange: server.onDidChange,
    items: async (limit, now) => (await server.list(limit)).map((one) => item(one, now)),
    stop: (id) => server.cancel(id),
    delete: (id) => server.delete(id),
  };
}

export function jobParts(door: JobDoor, ...parts: { dispose(): unknown }[]): JobParts {
  const all = vscode.Disposable.from(...parts);
  return { door, dispose: () => all.dispose() as unknown };
}
