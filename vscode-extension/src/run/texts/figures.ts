/** Time, tokens and money in words. Pure. */
import type { Bounds, NodeReport, Source, Usage } from '../protocol';

export const offline = 'merrow:offline';
export const offlineName = 'embedded model (offline)';

/** What users read of an endpoint. */
export function endpointName(origin: string): string {
  return origin === offline ? offlineName : origin;
}

/** Stands for the endpoint where a person set an output. */
const person = 'merrow:person';

/** Whether a person set an output of what these answered. */
export function isSetByPerson(sources: readonly Source[] = []): boolean {
  return sources.some(({ endpoint }) => endpoint === person);
}

/** The models that answered a node, or the embedded one, or a person in their place. */
export function modelName({ model, sources = [] }: Pick<NodeReport, 'model' | 'sources'>): string | undefined {
  const names: Readonly<Record<string, string>> = { [offline]: offlineName, [person]: 'a person' };
  if (!sources.some(({ endpoint }) => endpoint in names)) return model ?? undefined;
  return [...new Set(sources.map((source) => names[source.endpoint] ?? source.model))].join(', ');
}

/** Money; a price that is not known is said to be unknown, and an estimate to be one. */
export function costText(usage: Pick<Usage, 'cost_usd' | 'estimated'>): string {
  if (usage.cost_usd === null) return 'cost unknown';
  return `${usage.estimated === true ? 'about ' : ''}${dollars(usage.cost_usd)}`;
}

/** US dollars with as many digits as say something. */
export function dollars(amount: number): string {
  if (amount === 0) return '$0';
  if (amount < 0.0001) return '< $0.0001';
  return amount < 1 ? `$${amount.toFixed(4)}` : `$${amount.toFixed(2)}`;
}

export function tokensText(usage: Usage): string {
  return count(usage.prompt_tokens + usage.completion_tokens, 'token');
}

export function secondsText(seconds: number): string {
  if (seconds < 0.05) return '0 s';
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  const rest = `${Math.floor(seconds % 60)} s`;
  return minutes < 60 ? `${minutes} min ${rest}` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How long ago something was, both in seconds since the epoch. */
export function ageText(then: number, now: number): string {
  const seconds = Math.max(0, now - then);
  for (const [size, name] of [[86_400, 'd'], [3600, 'h'], [60, 'min']] as const) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${name} ago`;
  }
  return 'just now';
}

export function count(number: number, thing: string): string {
  return `${number.toLocaleString('en')} ${thing}${number === 1 ? '' : 's'}`;
}

/** What a node took; nothing for what took nothing. */
export function figures(usage: Usage | undefined, seconds: number | undefined): string {
  const parts: string[] = [];
  if (seconds !== undefined && seconds >= 0.05) parts.push(secondsText(seconds));
  if (usage !== undefined && usage.calls > 0) parts.push(tokensText(usage), costText(usage));
  return parts.join(' · ');
}

/** The same below a node in the diagram, where room is short: that a price is unknown is said of the run as a whole. */
export function drawnFigures(usage: Usage | undefined, seconds: number | undefined): string {
  const words = figures(usage, seconds);
  return usage?.cost_usd === null ? words.replace(` · ${costText(usage)}`, '') : words;
}

export function sum(one: Usage, other: Usage): Usage {
  return {
    prompt_tokens: one.prompt_tokens + other.prompt_tokens,
    completion_tokens: one.completion_tokens + other.completion_tokens,
    calls: one.calls + other.calls,
    cost_usd: one.cost_usd === null || other.cost_usd === null ? null : one.cost_usd + other.cost_usd,
    ...(one.estimated === true || other.estimated === true ? { estimated: true } : {}),
  };
}

export const nothing: Usage = { prompt_tokens: 0, completion_tokens: 0, calls: 0, cost_usd: 0 };

/** Bounds as a range. */
export function range(bounds: Bounds, show: (value: number) => string = (value) => Math.round(value).toLocaleString('en')): string {
  const least = show(bounds.least);
  const most = bounds.most === null ? 'unknown' : show(bounds.most);
  return least === most ? least : `${least} to ${most}`;
}

/** What a run may cost. */
export function costRange(cost: Bounds): string {
  if (cost.most === null) return 'not known, because a model has no known price';
  return cost.most === 0 ? 'nothing' : `about ${range(cost, dollars)}`;
}

/** Of a result that was validated, where that is any news: which attempt it is, and that it is not valid. */
export function attemptText({ attempt, valid }: { readonly attempt?: number | undefined; readonly valid?: boolean | undefined }): string {
  if (attempt === undefined || valid === undefined) return '';
  if (!valid) return `not valid, attempt ${attempt}`;
  return attempt > 1 ? `attempt ${attempt}` : '';
}

/** Of a verdict that an attempt is not valid, that and why, on one line; empty for one that is. */
export function judgedText({ attempt, sample, valid, reasons, feedback }: { readonly attempt?: number; readonly sample?: number; readonly valid?: boolean; readonly reasons?: readonly string[]; readonly feedback?: string }): string {
  if (valid !== false) return '';
  const which = sample === undefined ? '' : `, sample ${sample + 1}`;
  const why = (reasons ?? []).join('; ') || (feedback ?? '');
  return `attempt ${attempt ?? 1}${which} is not valid${why === '' ? '' : `: ${why.replaceAll(/\s+/g, ' ')}`}`;
}
