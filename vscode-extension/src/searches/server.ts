import type { MerrowContext } from '../context';
import { JobServer } from '../jobs/server';
import type { Target } from '../run/protocol';
import type { BetterVersion, Search, SearchForecast, SearchQuestion, Strategy } from './protocol';

/** The server's requests about searches, by name. Each rejects with a sentence. */
export class SearchServer extends JobServer<'search', Search, SearchQuestion & Target, SearchForecast> {
  constructor(context: MerrowContext) {
    super(context, { kind: 'search', begin: 'merrow.optimize', list: 'merrow.optimizations', delete: 'merrow.deleteOptimization' });
  }

  strategies(): Promise<Strategy[]> {
    return this.execute('merrow.strategies', {});
  }

  /** The best workflow of a search, or the candidate with this number. */
  better(id: string, candidate?: number): Promise<BetterVersion> {
    return this.execute('merrow.showBetter', { id, ...(candidate === undefined ? {} : { candidate }) });
  }

  /** Have a candidate written into the document of its workflow, which is open. */
  apply(id: string, candidate: number): Promise<{ readonly edits: number }> {
    return this.execute('merrow.applyCandidate', { id, candidate });
  }
}
