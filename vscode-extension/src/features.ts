import type { Register } from './context';
import { register as preview } from './preview';

/** The parts of the extension that need nothing but a `MerrowContext`. */
export const features: readonly Register[] = [preview];
