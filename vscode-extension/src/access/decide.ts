/** Which endpoint a server may reach and which key goes there. Pure, so that what must never happen can be tested. */

import type { Environment } from '../context';
import { address, hosted, offline } from './origin';

export type Answer = 'granted' | 'refused';

/** All that bears on the decision. */
export interface Situation {
  readonly trusted: boolean;
  /** `OPENAI_API_KEY` and `OPENAI_BASE_URL` of the process that the editor runs in. */
  readonly environment: { readonly key: string | undefined; readonly endpoint: string | undefined };
  /** The endpoint of the user's own settings, and that of the workspace's. */
  readonly userEndpoint: string | undefined;
  readonly workspaceEndpoint: string | undefined;
  /** What the user answered when asked whether this workspace may use this origin. */
  answer(origin: string): Answer | undefined;
  /** The key that the user stored for an origin. */
  storedKey(origin: string): string | undefined;
}

export interface Decision {
  readonly endpoint: string | undefined;
  readonly endpointFrom: 'workspace' | 'user settings' | 'environment' | 'default' | 'nowhere';
  /** The origin that a stored key would be for. */
  readonly origin: string | undefined;
  readonly key: string | undefined;
  readonly keyFrom: 'secret storage' | 'environment' | 'nowhere';
  /** Whether the endpoint is the one that the environment's other variables, which may hold secrets, are for. */
  readonly inherits: boolean;
  /** An origin of the workspace's choosing that the user has not been asked about. */
  readonly ask: string | undefined;
  /** Sentences about settings that were left out. */
  readonly problems: readonly string[];
}

const nothing: Decision = {
  endpoint: undefined,
  endpointFrom: 'nowhere',
  origin: undefined,
  key: undefined,
  keyFrom: 'nowhere',
  inherits: false,
  ask: undefined,
  problems: [],
};

/**
 * What holds in this situation. A key is only ever given to the origin that the user gave it for: a stored one to its own, that
 * of the environment to the environment's endpoint. A workspace chooses an endpoint only where the user has agreed.
 */
export function decide(situation: Situation): Decision {
  if (!situation.trusted) return nothing;
  const problems: string[] = [];
  const own = ownEndpoint(situation, problems);
  let chosen = own;
  let ask: string | undefined;
  const wanted = read(situation.workspaceEndpoint, 'The endpoint of this workspace is not used', problems);
  if (wanted !== undefined) {
    const harmless = wanted.origin === own.origin || wanted.origin === offline.origin;
    const answer = harmless ? 'granted' : situation.answer(wanted.origin);
    if (answer === 'granted') chosen = { endpoint: wanted.url, origin: wanted.origin, from: 'workspace' };
    else if (answer === undefined) ask = wanted.origin;
  }
  const stored = situation.storedKey(chosen.origin);
  const inherits = chosen.origin === environmentOrigin(situation);
  const inherited = inherits ? situation.environment.key : undefined;
  const key = stored ?? inherited;
  return {
    endpoint: chosen.endpoint,
    endpointFrom: chosen.from,
    origin: chosen.origin,
    key,
    keyFrom: stored !== undefined ? 'secret storage' : key !== undefined ? 'environment' : 'nowhere',
    inherits,
    ask,
    problems,
  };
}

interface Chosen {
  readonly endpoint: string | undefined;
  readonly origin: string;
  readonly from: Decision['endpointFrom'];
}

function ownEndpoint(situation: Situation, problems: string[]): Chosen {
  const user = read(situation.userEndpoint, 'The endpoint of your settings is not used', problems);
  if (user !== undefined) return { endpoint: user.url, origin: user.origin, from: 'user settings' };
  const environment = read(situation.environment.endpoint, 'OPENAI_BASE_URL is not used', problems);
  if (environment !== undefined) return { endpoint: environment.url, origin: environment.origin, from: 'environment' };
  return { endpoint: undefined, origin: originOf(hosted), from: 'default' };
}

function read(given: string | undefined, subject: string, problems: string[]): { url: string; origin: string } | undefined {
  if (given === undefined || given.trim() === '') return undefined;
  if (given.trim().toLowerCase() === offline.url) return offline;
  const found = address(given);
  if ('origin' in found) return found;
  problems.push(`${subject}: ${found.problem}`);
  return undefined;
}

/** The only origin that the environment's key is for. Nobody knows whom it is for where that address can't be read. */
function environmentOrigin(situation: Situation): string | undefined {
  const given = situation.environment.endpoint;
  if (given === undefined || given.trim() === '') return originOf(hosted);
  if (given.trim().toLowerCase() === offline.url) return undefined;
  const found = address(given);
  return 'origin' in found ? found.origin : undefined;
}

function originOf(url: string): string {
  return new URL(url).origin;
}

/** What else the `openai` package reads, and sends along or keeps: for the environment's own endpoint only. */
const companions = ['OPENAI_ORG_ID', 'OPENAI_PROJECT_ID', 'OPENAI_CUSTOM_HEADERS', 'OPENAI_ADMIN_KEY', 'OPENAI_WEBHOOK_SECRET'];

/** The variables that tell a server of the decision; what it does not grant is taken away. */
export function variables(decision: Decision): Environment {
  const removed = decision.inherits ? [] : companions.map((name) => [name, undefined] as const);
  return { OPENAI_API_KEY: decision.key, OPENAI_BASE_URL: decision.endpoint, ...Object.fromEntries(removed) };
}
