import type { Register } from './context';
import { register as compiling } from './compiling';
import { register as mutations } from './mutations';
import { register as preview } from './preview';
import { register as run } from './run';
import { register as tools } from './tools';

/** The parts of the extension that need nothing but a `MerrowContext`. */
export const features: readonly Register[] = [preview, run, tools, mutations, compiling];
