import type { Activity } from './context';
import type { Life } from './server/supervisor';

export interface ShownStatus {
  readonly text: string;
  readonly detail: string;
  readonly busy: boolean;
  readonly failed: boolean;
  readonly severity: 'Information' | 'Warning' | 'Error';
}

interface Going {
  readonly kind: Activity;
  readonly detail: string | undefined;
}

/** What the status item says: one of ready, checking, running, starting, failed, and why. */
export function shownStatus(life: Life, going: readonly Going[]): ShownStatus {
  const calm = { busy: false, failed: false, severity: 'Information' } as const;
  switch (life.state) {
    case 'stopped':
      return { ...calm, text: 'Merrow: not started', detail: 'it starts with the first workflow' };
    case 'starting':
      return { ...calm, text: 'Merrow: starting', detail: '', busy: true };
    case 'waiting':
      return { text: 'Merrow: restarting', detail: life.reason, busy: true, failed: true, severity: 'Warning' };
    case 'failed':
      return { text: 'Merrow: failed', detail: life.reason, busy: false, failed: true, severity: 'Error' };
    case 'ready': {
      // A run matters more to a reader than a check, and lasts longer.
      const shown = going.find(({ kind }) => kind === 'running') ?? going[0];
      if (shown === undefined) return { ...calm, text: 'Merrow: ready', detail: '' };
      return { ...calm, text: `Merrow: ${shown.kind}`, detail: shown.detail ?? '', busy: true };
    }
  }
}
