import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tooLong, MOST_CHARACTERS } from '../../webview/preview/limits';
import { notWorkflow } from '../../webview/preview/words';

const NODES = [{}] as never[];

describe('The words of the preview', () => {
  it('say why a flowchart is only drawn', () => {
    const graph = { kind: 'flowchart', nodes: NODES, workflow: false, why: 'it has no PROBLEM or RETURN' } as const;

    assert.equal(notWorkflow(graph), 'Not a workflow: it has no PROBLEM or RETURN.');
    assert.equal(notWorkflow({ ...graph, workflow: true, why: null }), undefined);
    assert.equal(notWorkflow({ ...graph, kind: 'other' }), undefined);
    assert.equal(notWorkflow({ ...graph, nodes: [] }), undefined);
  });

  it('decline a text beyond the limit, whatever is in it', () => {
    assert.equal(tooLong('x'.repeat(MOST_CHARACTERS)), undefined);
    assert.match(tooLong('x'.repeat(MOST_CHARACTERS + 1)) ?? '', /characters; above/);
  });
});
