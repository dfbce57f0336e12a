import type { MerrowContext } from '../context';
import { JobServer } from '../jobs/server';
import type { Extraction, ExtractionForecast, ExtractionQuestion, ExtractionReport } from './protocol';

/** The server's requests about extractions, by name. Each rejects with a sentence. */
export class ExtractionServer extends JobServer<'extraction', Extraction, ExtractionQuestion, ExtractionForecast> {
  constructor(context: MerrowContext) {
    super(context, { kind: 'extraction', begin: 'merrow.extract', list: 'merrow.extractions', delete: 'merrow.deleteExtraction' });
  }

  report(id: string): Promise<ExtractionReport> {
    return this.execute('merrow.extractionReport', { id });
  }
}
