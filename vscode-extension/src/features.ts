import type { Register } from './context';

/** The parts of the extension that need nothing but a `MerrowContext`. */
export const features: readonly Register[] = [];
