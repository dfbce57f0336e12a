/** What a rejection of the server says. Pure. */

/** The sentence of a rejection. */
export function sentence(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}

/** What the server says that the user can do about a rejection. */
export function remedyOf(problem: unknown): string | undefined {
  const data: unknown = problem instanceof Error && 'data' in problem ? problem.data : undefined;
  const remedy = typeof data === 'object' && data !== null && 'remedy' in data ? data.remedy : undefined;
  return typeof remedy === 'string' ? remedy : undefined;
}

/** What a server of tools wrote to its standard error before it failed. */
export function toldOf(problem: unknown): string | undefined {
  const data: unknown = problem instanceof Error && 'data' in problem ? problem.data : undefined;
  return typeof data === 'object' && data !== null && 'told' in data && typeof data.told === 'string' && data.told !== '' ? data.told : undefined;
}

/** `LSPErrorCodes.RequestCancelled`. */
const CANCELLED = -32800;

/** Whether the user left a question of the server's without an answer, who need not be told. */
export function wasLeft(problem: unknown): boolean {
  return problem instanceof Error && 'code' in problem && problem.code === CANCELLED;
}

/** `ErrorCodes.PendingResponseRejected`; the protocol's library, which is large, is not imported before a server starts. */
const PENDING_REJECTED = -32097;

/** Whether the server itself rejected a request, and not the end of the connection to it. */
export function isAnswer(problem: unknown): boolean {
  return problem instanceof Error && 'code' in problem && typeof problem.code === 'number' && problem.code !== PENDING_REJECTED && problem.name !== 'ConnectionError';
}
