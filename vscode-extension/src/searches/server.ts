import type { MerrowContext } from '../context';
import { JobServer } from '../jobs/server';
import type { Target } from '../run/protocol';
import type { BetterVersion, Search, SearchForecast, SearchQuestion, SearchReport, Strategy } from './protocol';

/** The server's requests about searches, by name. Each rejects with a sentence. */
export class SearchServer extends JobServer<'search', Search, SearchQuestion & Target, SearchForecast> {
  constructor(context: MerrowContext) {
    super(context, { kind: 'search', begin: 'merrow.optimize', list: 'merrow.optimizations', delete: 'merrow.deleteOptimization' });
  }

  strategies(): Promise<Strategy[]> {
    return this.execute('merrow.strategies', {});
  }

  report(id: string): Promise<SearchReport> {
    return this.execute('merrow.optimizationReport', { id });
  }

  better(id: string): Promise<BetterVersion> {
    return this.execute('merrow.showBetter', { id });
  }
}
