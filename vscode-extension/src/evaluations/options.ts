/** What else can be said of an evaluation or a batch, asked only where the user wants to. Pure. */
import type { Question } from './protocol';

/** How a value is asked for: of a list, as a number, as words, as a folder, or by choosing the option at all. */
type Form = 'part' | 'whole' | 'amount' | 'words' | 'ids' | 'folder' | 'yes';

export interface MoreOption {
  readonly key: 'part' | 'items' | 'repeat' | 'seed' | 'reader' | 'judgeModel' | 'concurrency' | 'fresh' | 'recipes' | 'usd' | 'tokens' | 'seconds';
  /** That of the command line. */
  readonly option: string;
  readonly label: string;
  readonly about: string;
  readonly form: Form;
  /** The least number. */
  readonly least?: number;
  /** Whether it is of use only where answers are scored. */
  readonly scored?: true;
}

export const MORE: readonly MoreOption[] = [
  { key: 'usd', option: '--budget-usd', label: 'Budget in US dollars', about: 'stop once this much is spent', form: 'amount', least: 0 },
  { key: 'tokens', option: '--budget-tokens', label: 'Budget in tokens', about: 'stop at this many', form: 'whole', least: 0 },
  { key: 'seconds', option: '--budget-seconds', label: 'Budget in seconds', about: 'stop after this time', form: 'amount', least: 0 },
  { key: 'part', option: '--part', label: 'Part of the data', about: 'validate, test or all', form: 'part' },
  { key: 'items', option: '--items', label: 'Only some items', about: 'by their ids', form: 'ids' },
  { key: 'repeat', option: '--repeat', label: 'Several answers to each item', about: 'how many', form: 'whole', least: 1, scored: true },
  { key: 'judgeModel', option: '--judge-model', label: 'Another model as the judge', about: 'for the metric judge; else the workflow’s', form: 'words', scored: true },
  { key: 'fresh', option: '--fresh', label: 'Ask again', about: 'also where answers are known, which costs calls', form: 'yes' },
  { key: 'concurrency', option: '--concurrency', label: 'Calls at the same time', about: 'how many', form: 'whole', least: 1 },
  { key: 'seed', option: '--seed', label: 'Seed', about: 'of the order of items and of shuffles; else 42', form: 'whole' },
  { key: 'reader', option: '--reader', label: 'Format of the data', about: 'that of a published set, such as gsm8k; else by the file’s name', form: 'words' },
  { key: 'recipes', option: '--recipes', label: 'Recipes of the environment textcraft', about: 'a folder with Minecraft’s as JSON, in the place of Merrow’s own', form: 'folder' },
];

/** Those that a question can have: without scores, what only they need is left out, and recipes without an environment. */
export function offered({ isScored, hasEnvironment }: { readonly isScored: boolean; readonly hasEnvironment: boolean }): MoreOption[] {
  return MORE.filter(({ key, scored }) => (isScored || scored !== true) && (hasEnvironment || key !== 'recipes'));
}

/** Why a text is no value of an option. */
export function optionProblem({ form, least }: MoreOption, text: string): string | undefined {
  const words = text.trim();
  if (words === '') return 'Write something, or press Escape.';
  if (form === 'whole' && !/^-?\d{1,15}$/.test(words)) return 'A whole number.';
  if (form === 'amount' && !Number.isFinite(Number(words))) return 'A number.';
  if (least !== undefined && Number(words) < least) return `A number from ${least}.`;
  return form === 'ids' && idsOf(words).length === 0 ? 'Ids of items, with commas between them.' : undefined;
}

/** What is asked, with the value of an option, which is as the user wrote it, or chose it. */
export function withOption<Asked extends Partial<Question>>(asked: Asked, { key, form }: MoreOption, text: string): Asked {
  const number = form === 'whole' || form === 'amount';
  const value = form === 'ids' ? idsOf(text) : form === 'yes' ? true : number ? Number(text) : text.trim();
  if (key === 'usd' || key === 'tokens' || key === 'seconds') return { ...asked, budget: { ...asked.budget, [key]: value } };
  return { ...asked, [key]: value };
}

function idsOf(text: string): string[] {
  return text.split(',').map((id) => id.trim()).filter((id) => id !== '');
}
