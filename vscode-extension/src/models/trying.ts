/**
 * Do work, and again where it fails and `again` says so for the reason; whether it was done in the end. A new try is part of the same
 * request: who asks for it again from within would wait for itself.
 */
export async function tried(work: () => Promise<unknown>, again: (reason: string) => Promise<boolean>): Promise<boolean> {
  for (;;) {
    try {
      await work();
      return true;
    } catch (problem) {
      if (!(await again(problem instanceof Error ? problem.message : String(problem)))) return false;
    }
  }
}
