import { findPeer, peerTest, skippedTest } from "./peers.ts";

/** What a test runs a program under; the program and its arguments follow. */
export type Under = readonly string[];

/**
 * Registers a test for a namespace of its own (`--net`: no network at all, `--mount`: mounts of its own), which needs
 * root or a kernel that lets users have one. `wrap` gives a way to run the program there, after a script of bash.
 */
export function namespaceTest(
  name: string,
  kind: "--net" | "--mount",
  test: (wrap: (script?: string) => Under, bash: string) => Promise<void>,
): void {
  const bash = findPeer("bash");
  if (!("path" in bash)) return peerTest(name, ["bash"], () => {});
  if (Deno.build.os !== "linux") return skippedTest(name, "only on linux");
  const { success } = new Deno.Command(bash.path, { args: ["-c", `unshare ${kind} true`], stderr: "null" })
    .outputSync();
  if (!success) return skippedTest(name, `needs unshare ${kind}: run it as root`);
  Deno.test(name, () => test((script) => wrapped(bash.path, kind, script), bash.path));
}

function wrapped(bash: string, kind: string, script = ":"): Under {
  return [bash, "-c", `exec unshare ${kind} "${bash}" -c '${script}; exec "$@"' bash "$@"`, "bash"];
}
