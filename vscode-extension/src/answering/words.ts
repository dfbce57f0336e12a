/** Who answers runs, in words. Pure. */
import { endpointName, offline, offlineName } from '../run/texts/figures';

/** The answer to `merrow/answering`. */
export interface Answering {
  /** The origin of the endpoint. */
  readonly endpoint: string;
  /** What named it. */
  readonly source: string;
  /** Whether a key is sent; never the key. */
  readonly key: boolean;
  readonly models: readonly string[];
}

/** What the status bar says: no word of it is an icon but the first. */
export function barText(answering: Answering): string {
  return answering.endpoint === offline ? '$(beaker) embedded model' : `$(hubot) ${whoAnswers(answering).replaceAll('$(', '$ (')}`;
}

/** The models and the endpoint, shortly. */
export function whoAnswers({ endpoint, models }: Answering): string {
  if (endpoint === offline) return offlineName;
  const [first = '', ...others] = models;
  return `${first}${others.length > 0 ? ` +${others.length}` : ''} @ ${endpoint.replace(/^https?:\/\//, '')}`;
}

const SOURCES: Readonly<Record<string, string>> = {
  environment: 'your settings or the environment',
  settings: 'your config.toml',
  workspace: 'the workspace, which you trust with it',
  default: 'the key that is set for it',
};

/** The same in sentences. */
export function barTooltip(answering: Answering): string {
  if (answering.endpoint === offline) {
    return 'Runs are answered by the embedded model: a free stub with canned answers, no real model. Click to choose a model or an endpoint.';
  }
  const { endpoint, key, models, source } = answering;
  const named = SOURCES[source];
  return [
    `Runs are answered by ${models.join(', ')} at ${endpointName(endpoint)}${named === undefined ? '' : `, chosen by ${named}`}.`,
    key ? 'An API key is sent to it.' : 'No API key is sent to it.',
    'Click to choose another.',
  ].join('\n');
}

interface Part {
  readonly ok: boolean;
  readonly lines: readonly { readonly ok: boolean | null; readonly text: string }[];
  /** Of the endpoint: model servers that were found on this machine, where none is set. */
  readonly found?: readonly { readonly url: string; readonly models: readonly string[] }[];
}

const TITLES: Readonly<Record<string, string>> = { installed: 'Installed', journal: 'Journal', endpoint: 'Endpoint', sandbox: 'Sandbox' };

/** The answer to `merrow.doctor` as Markdown. */
export function doctorPage(parts: Readonly<Record<string, Part>>): string {
  const lines = ['No model was called.', ''];
  for (const [name, part] of Object.entries(parts)) {
    lines.push(`### ${part.ok ? '✓' : '✗'} ${TITLES[name] ?? name}`, '');
    for (const { ok, text } of part.lines) lines.push(`- ${ok === null ? '' : ok ? '✓ ' : '✗ '}${literal(text)}`);
    lines.push('');
  }
  lines.push('*Merrow: Set Up Model Access* installs what reaches endpoints; *Merrow: Show Server Info* says which Python runs the server.');
  return lines.join('\n');
}

/** Words that Markdown takes as they are. */
function literal(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|]/g, String.raw`\$&`);
}
