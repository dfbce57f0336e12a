import * as vscode from 'vscode';
import type { MerrowContext } from '../context';

export function register(_context: MerrowContext): vscode.Disposable {
  return vscode.Disposable.from();
}
