import type { Decision } from '../access/decide';
import { requirement } from '../models/packages';
import { explained, type Choice } from '../python/interpreter';
import type { Life } from '../server/supervisor';

/** All that there is to say about the server. */
export interface Facts {
  readonly extension: string;
  readonly editor: string;
  readonly platform: string;
  readonly trusted: boolean;
  readonly life: Life;
  readonly pid: number | undefined;
  readonly choice: Choice | undefined;
  readonly command: readonly string[] | undefined;
  readonly decision: Decision;
  readonly packages: string | undefined;
}

/** The server info as Markdown. Holds no key, only where one comes from. */
export function infoPage(facts: Facts): string {
  return [
    '# Merrow',
    '',
    `- Extension ${facts.extension}, editor ${facts.editor}, ${facts.platform}`,
    `- Workspace: ${facts.trusted ? 'trusted' : 'Restricted Mode (checking works; running, endpoints and keys are off)'}`,
    `- Server: ${lifeOf(facts.life)}${facts.pid === undefined ? '' : `, process ${facts.pid}`}`,
    '',
    '## Python',
    '',
    ...pythonLines(facts.choice),
    ...(facts.command === undefined ? [] : ['', 'Command line:', '', '```sh', commandLine(facts.command), '```']),
    '',
    '## Model access',
    '',
    ...modelLines(facts),
    '',
  ].join('\n');
}

/** A command as a shell takes it. */
function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

function lifeOf(life: Life): string {
  return 'reason' in life ? `${life.state}: ${life.reason}` : life.state;
}

function pythonLines(choice: Choice | undefined): string[] {
  if (choice === undefined) return ['Not looked for yet: the server starts with the first workflow.'];
  const passed = choice.rejected.map(({ candidate, problem }) => `- Passed over: ${candidate.path} (${candidate.because}): ${problem}`);
  return [explained(choice), ...(passed.length > 0 ? ['', ...passed] : [])];
}

function modelLines({ decision, packages, trusted }: Facts): string[] {
  if (!trusted) return ['Off in Restricted Mode.'];
  const lines = [
    `- Endpoint: ${decision.endpoint ?? 'the hosted service, where there is a key; else the embedded model'} (from: ${decision.endpointFrom})`,
    `- API key: ${decision.keyFrom === 'nowhere' ? 'none for this endpoint' : `from ${decision.keyFrom}`}`,
    `- Packages (${requirement}): ${packages ?? 'not set up; the embedded model needs none'}`,
  ];
  if (decision.ask !== undefined) lines.push(`- The workspace wants to use ${decision.ask}; that was not allowed yet`);
  return [...lines, ...decision.problems.map((problem) => `- ${problem}`)];
}
