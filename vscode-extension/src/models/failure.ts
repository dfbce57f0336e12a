/** Why an installation failed, from what the programs wrote: one sentence that says what to do. */
const causes: readonly (readonly [RegExp, string])[] = [
  [
    /No module named (?:pip|venv|ensurepip)|ensurepip is not available/i,
    'This Python can install no packages: it has neither pip nor venv. Install them (on Debian and Ubuntu: apt install python3-venv), or select another Python.',
  ],
  [/No space left on device|Errno 28|WinError 112/i, 'There is no room left on the disk.'],
  [/Permission denied|Errno 13|Access is denied|WinError 5\b/i, "The extension's storage folder can't be written to."],
  [
    /CERTIFICATE_VERIFY_FAILED|SSLError/i,
    "The package index was reached, but its certificate isn't trusted by this Python; a proxy may stand between. Set pip's option cert, then try again.",
  ],
  [/ProxyError|407 Proxy/i, "The proxy refused the connection to the package index. Set pip's option proxy, then try again."],
  [
    /name resolution|getaddrinfo|Name or service not known|nodename nor servname|Connection refused|ConnectTimeout|timed out|Network is unreachable|No route to host|NewConnectionError|Max retries exceeded|\(from versions: none\)/i,
    "The package index can't be reached. Connect to the network, or point pip at an index that can be reached (pip config set global.index-url ADDRESS), then try again.",
  ],
  [
    /No matching distribution found|Could not find a version/i,
    'The package index has no packages for this Python and this machine. Select another Python (3.11 to 3.14 are well supported), then try again.',
  ],
  [/ResolutionImpossible/i, 'The packages of the index do not get along with the bundled ones. Please report this with the log.'],
];

export function explainFailure(output: string): string {
  const cause = causes.find(([pattern]) => pattern.test(output));
  if (cause !== undefined) return cause[1];
  const last = output.trim().split(/\r?\n/).at(-1) ?? '';
  return last === '' ? 'The installation failed without a word.' : `The installation failed: ${withoutSecrets(last).slice(0, 300)}`;
}

/** A line of a program's output without the user names and passwords of addresses. */
export function withoutSecrets(line: string): string {
  return line.replaceAll(/(\w+:\/\/)[^\s/@]*@/g, '$1***@');
}
