/** The form of a question to a person, read from its JSON Schema (MCP's elicitation), and whether a value fits a field. Pure. */

export type FieldKind = 'text' | 'number' | 'integer' | 'bool' | 'word' | 'words';

export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly title: string;
  readonly description: string;
  readonly required: boolean;
  /** Of `word` and `words`: what can be chosen, and how that is shown. */
  readonly words: readonly string[];
  readonly labels: readonly string[];
  readonly format: string;
  /** Bounds of a number, of the length of a text, or of how many words are chosen. */
  readonly least: number | undefined;
  readonly most: number | undefined;
  /** What is filled in before a person writes: of a text, that to edit. */
  readonly preset: string | undefined;
}

type Json = Readonly<Record<string, unknown>>;

/** The field in which a person may say more. */
export const NOTE = 'note';
const LONGEST_LABEL = 200;
const MOST_FIELDS = 101;

/** The fields in their order, the note last; undefined of what is no flat form. */
export function fieldsOf(schema: unknown): Field[] | undefined {
  if (!isObject(schema) || !isObject(schema['properties'])) return undefined;
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const entries = Object.entries(schema['properties']);
  if (entries.length === 0 || entries.length > MOST_FIELDS) return undefined;
  const fields: Field[] = [];
  for (const [name, body] of entries) {
    const field = isObject(body) ? fieldOf(name, body, required.includes(name)) : undefined;
    if (field === undefined) return undefined;
    fields.push(field);
  }
  const isNote = ({ name, kind, required: must }: Field) => name === NOTE && kind === 'text' && !must && fields.length > 1;
  return [...fields.filter((field) => !isNote(field)), ...fields.filter(isNote)];
}

/** What is wrong with a text as the value of a field, in a sentence; undefined where it fits. */
export function problemOf(field: Field, text: string): string | undefined {
  if (text.trim() === '' && !field.required) return undefined;
  if (field.kind === 'number' || field.kind === 'integer') {
    const value = text.trim() === '' ? NaN : Number(text);
    const kind = field.kind === 'integer' ? 'a whole number' : 'a number';
    if (!Number.isFinite(value) || (field.kind === 'integer' && !Number.isInteger(value))) return `Enter ${kind}.`;
    if (field.least !== undefined && value < field.least) return `Enter ${kind} of at least ${field.least}.`;
    if (field.most !== undefined && value > field.most) return `Enter ${kind} of at most ${field.most}.`;
    return undefined;
  }
  const length = lengthOf(text);
  if (field.least !== undefined && lengthOf(text.trim()) < field.least) return field.least === 1 ? 'Enter a text.' : `Enter at least ${field.least} characters.`;
  if (field.most !== undefined && length > field.most) return `Enter at most ${field.most} characters; this has ${length}.`;
  if (field.format === 'email' && !/^[^@\s]+@[^@\s]+$/.test(text.trim())) return 'Enter an e-mail address.';
  if (field.format === 'uri' && !/^[A-Za-z][A-Za-z0-9+.-]*:\S+$/.test(text.trim())) return 'Enter an address such as https://example.com.';
  if (field.format === 'date' && !/^\d{4}-\d{2}-\d{2}$/.test(text.trim())) return 'Enter a date such as 2026-12-24.';
  if (field.format === 'date-time' && Number.isNaN(Date.parse(text.trim()))) return 'Enter a date and time such as 2026-12-24T18:00:00Z.';
  return undefined;
}

/** What is wrong with how many words are chosen. */
export function countProblem({ least = 0, most }: Field, count: number): string | undefined {
  if (count < least) return `Choose at least ${least}.`;
  if (most !== undefined && count > most) return `Choose at most ${most}.`;
  return undefined;
}

/** The value that a text is, which fits; undefined of an optional field that is left out. */
export function valueOf({ kind, required }: Field, text: string): unknown {
  if (kind === 'number' || kind === 'integer') return text.trim() === '' ? undefined : Number(text);
  return text === '' && !required ? undefined : text;
}

/** Characters as the server counts them. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}

function fieldOf(name: string, body: Json, required: boolean): Field | undefined {
  const { type } = body;
  const choices = choicesOf(type === 'array' ? body['items'] : body);
  const isChoice = choices.length > 0;
  const [least, most] = type === 'array' ? ['minItems', 'maxItems'] : type === 'string' ? ['minLength', 'maxLength'] : ['minimum', 'maximum'];
  const kind: FieldKind | undefined =
    type === 'array' ? (isChoice ? 'words' : undefined) : isChoice ? 'word' : type === 'boolean' ? 'bool' : type === 'number' || type === 'integer' ? type : type === 'string' ? 'text' : undefined;
  if (kind === undefined) return undefined;
  return {
    name,
    kind,
    title: label(body['title'], name),
    description: label(body['description'], ''),
    required,
    words: choices.map(([word]) => word),
    labels: choices.map(([, shown]) => shown),
    format: typeof body['format'] === 'string' ? body['format'] : '',
    least: numberOf(body[least]),
    most: numberOf(body[most]),
    preset: typeof body['default'] === 'string' ? body['default'] : typeof body['default'] === 'number' ? String(body['default']) : undefined,
  };
}

function choicesOf(body: unknown): [word: string, shown: string][] {
  if (!isObject(body)) return [];
  const { enum: words, oneOf = body['anyOf'] } = body;
  const named: readonly unknown[] | undefined = Array.isArray(body['enumNames']) ? body['enumNames'] : undefined;
  if (Array.isArray(words)) {
    const texts = words.filter((word): word is string => typeof word === 'string');
    return texts.map((word, place) => [word, label(named?.[place], word)]);
  }
  if (!Array.isArray(oneOf)) return [];
  return oneOf.flatMap((option: unknown): [string, string][] => (isObject(option) && typeof option['const'] === 'string' ? [[option['const'], label(option['title'], option['const'])]] : []));
}

function label(value: unknown, otherwise: string): string {
  const text = typeof value === 'string' && value.trim() !== '' ? value : otherwise;
  return text.slice(0, LONGEST_LABEL);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
