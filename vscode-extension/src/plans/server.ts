import type { MerrowContext } from '../context';
import { JobServer } from '../jobs/server';
import type { Forecast, KeptPlan, Plans, Wish } from './protocol';

/** The server's requests about plans, by name. Each rejects with a sentence. */
export class PlanServer extends JobServer<'plan', KeptPlan, Wish, Forecast, Plans> {
  constructor(context: MerrowContext) {
    super(context, { kind: 'plan', begin: 'merrow.plan', list: 'merrow.plans', delete: 'merrow.deletePlan' });
  }

  report(id: string): Promise<KeptPlan> {
    return this.execute('merrow.planReport', { id });
  }
}
