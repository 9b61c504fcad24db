/** Loads what speaks SPDY, with the library that inflates: only port-forwards need them. */
export function loadSpdy(): Promise<typeof import("./spdy_session.ts")> {
  return import("./spdy_session.ts");
}
