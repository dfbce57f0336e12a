// A server that no page may ever reach, and a watch over everything that a page does which leaves it.
import { createServer } from 'node:http';

/** Counts whoever comes; hostile texts name its address. */
export class Trap {
  visits = [];

  static async start() {
    const trap = new Trap();
    const server = createServer((request, response) => {
      trap.visits.push(request.url);
      response.writeHead(200, { 'content-type': 'image/svg+xml', 'access-control-allow-origin': '*' });
      response.end('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    server.unref();
    trap.url = `http://127.0.0.1:${server.address().port}`;
    return trap;
  }
}

/** What a page does from now on that hostile content must not make it do. */
export class Watch {
  constructor(workbench) {
    const { page, context, server } = workbench;
    this.page = page;
    this.address = page.url();
    this.requests = [];
    this.escapes = [];
    page.on('request', (request) => {
      const url = request.url();
      // Frames without an address of their own, what webviews are made of, and the gallery are the workbench's.
      const own = /^(?:data|blob|about):|^https:\/\/[\w+-]+\.vscode-resource\.vscode-cdn\.net\/|^https:\/\/open-vsx\.org\//;
      if (!url.startsWith(`${server.url}/`) && !own.test(url)) this.requests.push(request);
    });
    page.on('dialog', (dialog) => {
      this.escapes.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('download', (download) => this.escapes.push(`download: ${download.url()}`));
    context.on('page', (opened) => this.escapes.push(`page: ${opened.url()}`));
  }

  /** What got out: requests that the browser's policy did not stop, pages, dialogs, navigations, scripts that ran. */
  async found() {
    const sent = this.requests.filter((request) => request.failure()?.errorText !== 'csp').map((request) => `request: ${request.url()}`);
    const moved = this.page.url() === this.address ? [] : [`navigation: ${this.page.url()}`];
    const ran = [];
    for (const frame of this.page.frames()) {
      const pwned = await frame.evaluate(() => globalThis.pwned).catch(() => undefined);
      if (pwned !== undefined) ran.push(`script: ${pwned} in ${frame.url()}`);
    }
    return [...sent, ...this.escapes, ...moved, ...ran];
  }
}
