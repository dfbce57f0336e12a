import type { MerrowContext } from '../context';
import type { Head, PageRequest, ResultPage, TableName, Whole } from './protocol';
import { batchHead, comparisonHead, evaluationHead, searchHead, type BatchHead, type ComparisonHead, type EvaluationHead, type SearchHead } from './words';

/** A page of rows, with what stands above them where that was asked for, and the workflow that it is of. */
export interface Answer {
  readonly page: ResultPage;
  readonly head?: Head;
  readonly of?: Of;
}

/** Where a table's workflow is, and the file that a batch wrote. */
export interface Of {
  readonly workflow: string;
  readonly uri: string | null;
  readonly file?: string;
}

type Raw = ResultPage & { readonly head?: unknown };

/** The server's requests about rows. Each rejects with a sentence. */
export class ResultServer {
  constructor(private readonly context: MerrowContext) {}

  async page(name: TableName, asked: PageRequest, withHead: boolean): Promise<Answer> {
    const client = await this.context.readyClient();
    const { head, ...page } = await client.sendRequest<Raw>('merrow/results', { ...name, ...asked, head: withHead });
    return head === undefined ? { page } : { page, ...headOf(name, head) };
  }

  async whole(name: TableName, key: string): Promise<Whole> {
    const client = await this.context.readyClient();
    return client.sendRequest('merrow/result', { ...name, key });
  }
}

function headOf({ kind }: TableName, head: unknown): { readonly head: Head; readonly of: Of } {
  switch (kind) {
    case 'evaluation': {
      const known = head as EvaluationHead;
      return { head: evaluationHead(known), of: known };
    }
    case 'batch': {
      const known = head as BatchHead;
      return { head: batchHead(known), of: { workflow: known.workflow, uri: known.uri, file: known.output } };
    }
    case 'comparison': {
      const known = head as ComparisonHead;
      return { head: comparisonHead(known), of: known.after };
    }
    case 'search': {
      const known = head as SearchHead;
      return { head: searchHead(known), of: known };
    }
  }
}
