import * as vscode from 'vscode';
import { Setting, defaults } from '../contributed';
import type { MerrowContext } from '../context';
import { canReachModels } from '../run/access';
import { offline } from '../run/texts/figures';
import { say } from '../say';

/** What a job would ask, and what there is to say of it; `asks`: whether somebody has to agree first. */
interface Cost {
  readonly endpoint: string;
  readonly asks: boolean;
  readonly details: readonly string[];
}

/** Whether a job may begin: what reaches its endpoint is there, and the user agrees by the button where somebody has to. */
export async function agreed(context: MerrowContext, { endpoint, asks, details }: Cost, question: string, button: string): Promise<boolean> {
  if (endpoint !== offline && !(await canReachModels(context))) return false;
  return !asks || (await say.info(question, { modal: true, detail: details.join('\n\n') }, button)) === button;
}

/** Whether the user wants to be asked before what costs something. */
export function confirms(): boolean {
  return vscode.workspace.getConfiguration('merrow').get(Setting.confirmRuns, defaults.confirmRuns);
}
