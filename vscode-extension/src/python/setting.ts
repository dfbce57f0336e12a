import * as nodePath from 'node:path';

/** Where a relative interpreter path starts, and what `~` means. */
export interface Surroundings {
  readonly folder: string | undefined;
  readonly home: string;
}

/** What the setting `merrow.python` names: a path, or a bare name to look for on the PATH. */
export function namedPython(value: string, { folder, home }: Surroundings): { readonly path: string } | { readonly name: string } | undefined {
  const given = value.trim();
  if (given === '') return undefined;
  if (!/[\\/]/.test(given)) return { name: given };
  const expanded = given.replace(/^~(?=[\\/])/, home).replaceAll('${workspaceFolder}', folder ?? '').replaceAll('${userHome}', home);
  return { path: folder === undefined ? nodePath.resolve(home, expanded) : nodePath.resolve(folder, expanded) };
}
