/** Servers of tools in the tree, and in words. Pure: what servers say of their tools is text, and no part of it is markup. */
import { inLine } from '../people/words';
import { ageText } from '../run/texts/figures';
import type { Icon } from '../jobs/item';
import type { ChangedTool, ListedServer, ListedTool, Listing, Trust } from './protocol';

/** A server, with its tools below it. */
export interface ServerItem {
  readonly kind: 'server';
  readonly server: string;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  readonly icon: Icon;
  /** For menus: what can be done with it. */
  readonly context: string;
  readonly tools: readonly ToolItem[];
}

export interface ToolItem {
  readonly kind: 'tool';
  /** Whom to ask for it (`web`, or `local` of a file), and how a workflow names it. */
  readonly server: string;
  readonly name: string;
  readonly tool: string;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  readonly icon: Icon;
  readonly context: string;
}

export type Item = ServerItem | ToolItem;

export const LOCAL = 'local';
const LONGEST = 600;

const TRUST: Readonly<Record<Trust, string>> = { yours: 'in your settings', trusted: 'trusted', untrusted: 'not trusted', unusable: 'can’t be used' };
const SERVER_ICONS: Readonly<Record<Trust, Icon>> = {
  yours: { name: 'server' },
  trusted: { name: 'server' },
  untrusted: { name: 'shield', color: 'list.warningForeground' },
  unusable: { name: 'error', color: 'list.errorForeground' },
};
const STATES: Readonly<Record<ListedTool['state'], string>> = { pinned: 'pinned', unpinned: 'not pinned', differs: 'differs from its pin', gone: 'gone from its server' };
const TOOL_ICONS: Readonly<Record<ListedTool['state'], Icon>> = {
  pinned: { name: 'pinned' },
  unpinned: { name: 'pin' },
  differs: { name: 'warning', color: 'list.warningForeground' },
  gone: { name: 'warning', color: 'list.warningForeground' },
};

/** The servers of a folder, then those that only have pins. A tool that is a file is an item of its own. */
export function toolTree({ servers, unknown, settings }: Listing, now: number): ServerItem[] {
  return [...servers.map((server) => serverItem(server, settings, now)), ...unknown.map(unknownItem)];
}

function serverItem(server: ListedServer, settings: string, now: number): ServerItem {
  const { name, source, trust, problem, notes, definition } = server;
  const tools = server.tools.map((tool) => toolItem(tool, server, now));
  const start = definition === null ? '' : JSON.stringify(definition, undefined, 2);
  const lines = [`${name}: ${TRUST[trust]}`, trust === 'yours' ? settings : source, problem ?? '', start, ...notes];
  return {
    kind: 'server',
    server: name,
    label: name,
    description: [TRUST[trust], problem === null ? '' : inLine(problem, 120)].filter((part) => part !== '').join(' · '),
    tooltip: plainText(lines),
    icon: name.startsWith(`${LOCAL}.`) && trust !== 'unusable' ? { ...SERVER_ICONS[trust], name: trust === 'untrusted' ? 'shield' : 'symbol-function' } : SERVER_ICONS[trust],
    context: `server.${trust}${name.startsWith(`${LOCAL}.`) ? '.file' : ''}`,
    tools,
  };
}

function unknownItem(name: string): ServerItem {
  return { kind: 'server', server: name, label: name, description: 'is pinned, and not in your settings', tooltip: `Workflows here use ${name}. Add it to your settings to call its tools.`, icon: { name: 'question' }, context: 'server.unknown', tools: [] };
}

function toolItem(tool: ListedTool, { name: server, trust }: ListedServer, now: number): ToolItem {
  const { state, allow, agreed, repeatable, last_used: used, sha256 } = tool;
  const may = allow ? 'allowed' : agreed ? 'allowed here' : state === 'pinned' ? 'asks before the first call' : '';
  const last = used === null ? '' : `last used ${ageText(used, now)}`;
  const lines = [tool.tool, inLine(tool.description, LONGEST), sha256 === null ? '' : `Pinned as ${sha256.slice(0, 12)}`, repeatable ? 'It may be called again with the same arguments.' : 'It is called once: what came of a call that was cut off, a person says.'];
  const forgets = agreed && !allow && trust !== 'untrusted' && !server.startsWith(`${LOCAL}.`) ? '.agreed' : '';
  return {
    kind: 'tool',
    server: server.startsWith(`${LOCAL}.`) ? LOCAL : server,
    name: tool.name,
    tool: tool.tool,
    label: tool.name,
    description: [STATES[state], may, repeatable ? 'repeatable' : '', last].filter((part) => part !== '').join(' · '),
    tooltip: plainText(lines),
    icon: TOOL_ICONS[state],
    context: `tool.${state}${forgets}`,
  };
}

/** Lines of foreign text: nothing in them hides, and none is empty. */
function plainText(lines: readonly string[]): string {
  return lines.filter((line) => line.trim() !== '').map((line) => line.split('\n').map((part) => part.replace(/^(\s*)(.*)$/, (_, indent: string, rest: string) => indent + inLine(rest, LONGEST))).join('\n')).join('\n');
}

/** What differs from pins, as a page of plain text. */
export function differencePage(changed: readonly ChangedTool[]): string {
  return changed.map(({ message, hidden, difference }) => [message, ...hidden.map((where) => `can't be seen: ${where}`), difference].join('\n')).join('\n\n') + '\n';
}

/** How pinning ended, in a sentence. */
export function pulledText({ server, count, changed, written }: { readonly server: string; readonly count: number; readonly changed: readonly unknown[]; readonly written: boolean }): string {
  if (changed.length === 0) return `What ${server} says of its tools is what is pinned.`;
  if (!written) return 'Nothing was pinned.';
  return `merrow.tools.json has ${count} tool${count === 1 ? '' : 's'} of ${server}.`;
}

/** The words of a command line: parts in quotes are one word, and a backslash takes the next character as it is. Undefined where a quote is left open. */
export function commandWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (quote !== '' && char === quote) quote = '';
    else if (char === '\\' && quote !== "'" && at + 1 < line.length) word = (word ?? '') + line.charAt((at += 1));
    else if (quote === '' && (char === '"' || char === "'")) [quote, word] = [char, word ?? ''];
    else if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== '') return undefined;
  return word === undefined ? words : [...words, word];
}
