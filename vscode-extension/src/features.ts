import type { Register } from './context';
import { register as compiling } from './compiling';
import { registerExtractions as extractions } from './extractions';
import { register as mutations } from './mutations';
import { register as plans } from './plans';
import { register as preview } from './preview';
import { register as run } from './run';

/** The parts of the extension that need nothing but a `MerrowContext`. */
export const features: readonly Register[] = [preview, run, mutations, plans, extractions, compiling];
