// A server of the OpenAI protocol that others wrote, with the answers it is given.
//
// The first line of standard input is a JSON list of {match, response}; the address is printed when the server listens.
// Any further line is answered with a line of JSON: the requests so far, each {stream, messages, status}. The server ends
// with its input.

import { createInterface } from 'node:readline';
import { LLMock } from '@copilotkit/aimock';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { value: answers } = await lines.next();
const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent', chunkSize: 8 });
mock.addFixturesFromJSON(JSON.parse(answers));
await mock.start();
console.log(mock.url);
for await (const _ of lines) {
  const seen = mock.getRequests().map(({ body, response }) => ({
    stream: body.stream === true,
    messages: body.messages,
    status: response.status,
  }));
  console.log(JSON.stringify(seen));
}
await mock.stop();
