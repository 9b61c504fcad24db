/** Whether tests do the whole of what they usually do a part of: the nightly run says POSTERN_LONG=1. */
export function isLongRun(): boolean {
  const { state } = Deno.permissions.querySync({ name: "env", variable: "POSTERN_LONG" });
  return state === "granted" && Deno.env.get("POSTERN_LONG") === "1";
}
