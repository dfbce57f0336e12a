import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';

/** Seconds that drawing a picture may take before it is given up. */
const SECONDS = 20;

/** Where the scripts and styles of webviews are. */
export function webviewRoot(extension: vscode.ExtensionContext): vscode.Uri {
  return vscode.Uri.joinPath(extension.extensionUri, 'dist', 'webview');
}

/**
 * The HTML of a page that shows pictures: the script and the style `name` of `dist/webview`, and the drawing frame's script for it to
 * read (`body.dataset.engine`, with `body.dataset.nonce`; `body.dataset.seconds` is how long a drawing may take). The policy lets it load nothing but these; styles are in the pictures
 * themselves.
 */
export function page(webview: vscode.Webview, extension: vscode.ExtensionContext, name: string): string {
  const at = (file: string) => webview.asWebviewUri(vscode.Uri.joinPath(webviewRoot(extension), file)).toString();
  const nonce = randomBytes(18).toString('base64');
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource} 'unsafe-inline'`,
    `font-src ${webview.cspSource}`,
    'img-src data:',
    `connect-src ${webview.cspSource}`,
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${at(`${name}.css`)}">
</head>
<body data-engine="${at('engine.js')}" data-nonce="${nonce}" data-seconds="${SECONDS}">
<script nonce="${nonce}" src="${at(`${name}.js`)}"></script>
</body>
</html>`;
}
