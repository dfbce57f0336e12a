import type { MerrowContext } from '../context';
import { say } from '../say';
import { offerTrust } from '../server/trust';
import { sentence, wasLeft } from './texts/rejection';

/** Do what may run workflows, in a workspace that is trusted; troubles are told. */
export async function attempt(context: MerrowContext, act: () => Promise<void>): Promise<void> {
  if (!context.trusted()) {
    offerTrust();
    return;
  }
  try {
    await act();
  } catch (problem) {
    if (!wasLeft(problem)) void say.error(sentence(problem));
  }
}

/** Carry something out; what goes wrong is told. */
export async function told(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (problem) {
    void say.error(sentence(problem));
  }
}
