import * as vscode from 'vscode';
import { plain } from '../plain';
import { say } from '../say';
import { countProblem, NOTE, problemOf, valueOf, type Field } from './form';
import type { Answer } from './protocol';
import { inLine } from './words';

/** What a person does with a field: a value, undefined for none; or with the question. */
type Step = { readonly value: unknown } | 'decline' | 'cancel' | 'back';

const DECLINE = 'Decline to Answer';
const decline: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('circle-slash'), tooltip: DECLINE };
const edit: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('edit'), tooltip: 'Write It in an Editor' };
/** Characters of a text from which it is edited in an editor. */
const LONG = 150;

/** Have a person fill in the fields, one after the other; what was entered stays when they go back. */
export async function fillIn(fields: readonly Field[], title: string, token: vscode.CancellationToken): Promise<Answer> {
  const content: Record<string, unknown> = {};
  for (let place = 0; place < fields.length; ) {
    const field = fields[place];
    if (field === undefined) break;
    const step = await stepOf(field, content[field.name], { title, step: place + 1, steps: fields.length, token });
    if (step === 'cancel' || token.isCancellationRequested) return { action: 'cancel' };
    if (step === 'decline') return { action: 'decline' };
    if (step === 'back') place = Math.max(0, place - 1);
    else {
      if (step.value !== undefined) content[field.name] = step.value;
      else content[field.name] = undefined;
      place += 1;
    }
  }
  return { action: 'accept', content: Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined)) };
}

interface Shown {
  readonly title: string;
  readonly step: number;
  readonly steps: number;
  readonly token: vscode.CancellationToken;
}

function stepOf(field: Field, before: unknown, shown: Shown): Promise<Step> {
  if (field.kind === 'bool' || field.kind === 'word' || field.kind === 'words') return choose(field, before, shown);
  const preset = typeof before === 'string' ? before : field.preset;
  if (field.kind === 'text' && preset !== undefined && (preset.length > LONG || preset.includes('\n'))) return inEditor(preset, field, shown);
  return typed(field, before === undefined ? (field.preset ?? '') : textOf(before), shown);
}

interface Choice extends vscode.QuickPickItem {
  readonly value?: unknown;
  readonly declines?: true;
}

function choose(field: Field, before: unknown, shown: Shown): Promise<Step> {
  return new Promise((resolve) => {
    const picker = vscode.window.createQuickPick<Choice>();
    prepare(picker, shown);
    const several = field.kind === 'words';
    const labels = field.kind === 'bool' ? (field.name === 'answer' ? ['Approve', 'Reject'] : ['Yes', 'No']) : field.labels;
    const values: readonly unknown[] = field.kind === 'bool' ? [true, false] : field.words;
    const choices: Choice[] = labels.map((label, place) => ({ label: inLine(plain(label)), value: values[place] }));
    picker.canSelectMany = several;
    picker.placeholder = plain(prompt(field));
    picker.items = several ? choices : [...choices, ...(field.required ? [] : [{ label: 'None', value: undefined }]), { label: '', kind: vscode.QuickPickItemKind.Separator }, { label: `$(circle-slash) ${DECLINE}`, declines: true as const }];
    if (several) picker.selectedItems = choices.filter(({ value }) => Array.isArray(before) && before.includes(value));
    picker.buttons = [...back(shown), ...(several ? [decline] : [])];
    ended(picker, shown.token, resolve);
    picker.onDidTriggerButton((button) => { leave(button === decline ? 'decline' : 'back'); });
    const leave = (step: Step): void => {
      resolve(step);
      picker.hide();
    };
    picker.onDidAccept(() => {
      const chosen = picker.selectedItems;
      if (several) {
        const problem = countProblem(field, chosen.length);
        if (problem === undefined) leave({ value: chosen.map(({ value }) => value) });
        else picker.title = `${plain(shown.title)}: ${problem}`;
        return;
      }
      const [only] = chosen;
      if (only !== undefined) leave(only.declines === true ? 'decline' : { value: only.value });
    });
    picker.show();
  });
}

function typed(field: Field, before: string, shown: Shown): Promise<Step> {
  return new Promise((resolve) => {
    const box = vscode.window.createInputBox();
    prepare(box, shown);
    box.prompt = plain(prompt(field));
    box.value = before;
    box.placeholder = field.name === NOTE && !field.required ? 'Optional' : field.required ? '' : 'Empty for none';
    box.buttons = [...back(shown), ...(field.kind === 'text' ? [edit] : []), decline];
    let leftFor: 'editor' | undefined;
    const leave = (step: Step): void => {
      resolve(step);
      box.hide();
    };
    box.onDidTriggerButton((button) => {
      if (button === decline) leave('decline');
      else if (button === edit) {
        leftFor = 'editor';
        box.hide();
        void inEditor(box.value, field, shown).then(resolve);
      } else leave('back');
    });
    box.onDidChangeValue((value) => { box.validationMessage = value === '' ? undefined : problemOf(field, value); });
    box.onDidAccept(() => {
      const problem = problemOf(field, box.value);
      if (problem === undefined) leave({ value: valueOf(field, box.value) });
      else box.validationMessage = problem;
    });
    ended(box, shown.token, (step) => { if (leftFor === undefined) resolve(step); });
    box.show();
  });
}

/** A long text is edited in a document of its own, which stays open where the person puts the question off. */
async function inEditor(text: string, field: Field, { token }: Shown): Promise<Step> {
  const document = await vscode.workspace.openTextDocument({ content: text, language: 'plaintext' });
  await vscode.window.showTextDocument(document);
  for (;;) {
    const closed = new Promise<undefined>((resolve) => { token.onCancellationRequested(() => { resolve(undefined); }); });
    const pressed = await Promise.race([say.info(`Edit the text of “${inLine(field.title)}”, then send it.`, 'Send', DECLINE), closed]);
    if (pressed === DECLINE) return 'decline';
    if (pressed !== 'Send') return 'cancel';
    const value = document.getText();
    const problem = problemOf(field, value);
    if (problem === undefined) return { value };
    void say.warning(problem);
  }
}

function prepare(input: vscode.QuickInput, { title, step, steps }: Shown): void {
  input.title = plain(title);
  input.ignoreFocusOut = true;
  if (steps > 1) [input.step, input.totalSteps] = [step, steps];
}

function back({ step }: Shown): vscode.QuickInputButton[] {
  return step > 1 ? [vscode.QuickInputButtons.Back] : [];
}

/** What happens when the input is left, or the question is closed elsewhere. */
function ended(input: vscode.QuickInput, token: vscode.CancellationToken, resolve: (step: Step) => void): void {
  const listening = token.onCancellationRequested(() => { input.hide(); });
  input.onDidHide(() => {
    listening.dispose();
    resolve('cancel');
    input.dispose();
  });
}

function prompt({ title, description }: Field): string {
  return inLine(description === '' ? title : `${title}: ${description}`);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
