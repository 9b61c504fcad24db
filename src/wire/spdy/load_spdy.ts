/** Loads the SPDY session with its inflate library; only port-forwards need them. */
export function loadSpdy(): Promise<typeof import("./spdy_session.ts")> {
  return import("./spdy_session.ts");
}
