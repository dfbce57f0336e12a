import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { PreviewManager } from './manager';

const managers = new WeakMap<MerrowContext, PreviewManager>();

/** The previews, for other parts of the extension; there are any once `register` was called. */
export function previews(context: MerrowContext): PreviewManager {
  const known = managers.get(context);
  if (known !== undefined) return known;
  const made = new PreviewManager(context);
  managers.set(context, made);
  return made;
}

export function register(context: MerrowContext): vscode.Disposable {
  const manager = previews(context);
  return new vscode.Disposable(() => {
    manager.dispose();
  });
}
