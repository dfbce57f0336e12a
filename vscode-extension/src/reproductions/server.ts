import type { MerrowContext } from '../context';
import { JobServer } from '../jobs/server';
import type { Reproduction, ReproductionForecast, ReproductionQuestion, ReproductionReport } from './protocol';

/** The server's requests about reproductions, by name. Each rejects with a sentence. */
export class ReproductionServer extends JobServer<'reproduction', Reproduction, ReproductionQuestion, ReproductionForecast> {
  constructor(context: MerrowContext) {
    super(context, { kind: 'reproduction', begin: 'merrow.reproduce', list: 'merrow.reproductions', delete: 'merrow.deleteReproduction' });
  }

  report(id: string): Promise<ReproductionReport> {
    return this.execute('merrow.reproductionReport', { id });
  }
}
