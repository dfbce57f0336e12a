import * as vscode from 'vscode';
import { plain } from '../plain';
import type { Given, Input, Typed } from './inputs';

/** Ask for the value of an input; undefined where the user leaves. */
export async function askFor(input: Input, last: Given | undefined, title: string, step: number, steps: number): Promise<Typed | undefined> {
  return input.type === 'Bool' ? askBool(input, last, title) : askText(input, last, title, step, steps);
}

async function askBool(input: Input, last: Given | undefined, title: string): Promise<Typed | undefined> {
  const before = last !== undefined && 'text' in last ? last.text : input.fallback;
  const choices = ['true', 'false'].map((label) => ({ label, description: label === before ? 'as before' : '' }));
  if (before === 'false') choices.reverse();
  const chosen = await vscode.window.showQuickPick(choices, { title, placeHolder: about(input), ignoreFocusOut: true });
  return chosen === undefined ? undefined : { text: chosen.label };
}

const fromFile: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('folder-opened'), tooltip: 'Take the Text of a File' };
const fromClipboard: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('clippy'), tooltip: 'Take the Text of the Clipboard, with Its Lines' };

function askText(input: Input, last: Given | undefined, title: string, step: number, steps: number): Promise<Typed | undefined> {
  return new Promise((resolve) => {
    const box = vscode.window.createInputBox();
    let given = last !== undefined && 'set' in last ? undefined : last;
    let choosing = false;
    const shown = () => (given === undefined ? '' : 'file' in given ? `file: ${given.file}` : given.text.replaceAll('\n', '⏎ '));
    box.title = title;
    if (steps > 1) [box.step, box.totalSteps] = [step, steps];
    box.prompt = about(input);
    box.placeholder = input.fallback === undefined ? `The value of ${input.name}` : `Empty: ${input.fallback}`;
    box.value = shown();
    box.ignoreFocusOut = true;
    box.buttons = [fromFile, fromClipboard];
    const take = (value: Typed) => {
      given = value;
      box.value = shown();
    };
    const choose = async () => {
      choosing = true;
      const chosen = await vscode.window.showOpenDialog({ title: `The value of ${input.name}`, openLabel: 'Take This File' });
      choosing = false;
      box.show();
      if (chosen?.[0] !== undefined) take({ file: chosen[0].toString() });
    };
    box.onDidTriggerButton(async (button) => {
      if (button === fromFile) await choose();
      else take({ text: await vscode.env.clipboard.readText() });
    });
    box.onDidAccept(() => {
      const typed = box.value === shown() && given !== undefined ? given : { text: box.value };
      if ('text' in typed && typed.text.trim() === '' && input.fallback === undefined) {
        box.validationMessage = `${input.name} needs a value.`;
        return;
      }
      resolve('text' in typed && typed.text === '' && input.fallback !== undefined ? { text: input.fallback } : typed);
      box.hide();
    });
    box.onDidChangeValue(() => {
      box.validationMessage = undefined;
    });
    box.onDidHide(() => {
      // The dialog for a file may be of the same kind, and take the box's place for as long as it is open.
      if (choosing) return;
      resolve(undefined);
      box.dispose();
    });
    box.show();
  });
}

function about({ name, title, type }: Input): string {
  return plain(title === name ? `${name}: ${type}` : `${name} (${title}): ${type}`);
}
