/** The number of the day, or MERROW_SEED: says what runs today of what takes turns in `make test` (MERROW_PUSH). */
export const seed = Number(process.env.MERROW_SEED ?? Math.floor(Date.now() / 86_400_000));
/** In how many days all have had their turn. */
export const days = process.env.MERROW_PUSH ? 8 : 1;

/** What runs today of `all`, which are alike or dear: in `make test` an eighth, of neighbours, which often share a server; elsewhere all. */
export function byTurns(all) {
  return all.filter((_, number) => Math.floor((number * days) / all.length) === seed % days);
}
