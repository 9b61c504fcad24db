/** Whether tests run in their long form: the nightly run sets POSTERN_LONG=1. */
export function isLongRun(): boolean {
  const { state } = Deno.permissions.querySync({ name: "env", variable: "POSTERN_LONG" });
  return state === "granted" && Deno.env.get("POSTERN_LONG") === "1";
}
