/**
 * How every postern runs, from source and compiled. A missing permission is an error and no question. The young
 * generation of the garbage collector is kept small: at 5,000 idle connections it held 7 kB of dead objects for each,
 * and its size makes no difference to speed that could be measured.
 */
export const runtimeFlags: readonly string[] = ["--no-prompt", "--v8-flags=--max-semi-space-size=4"];
