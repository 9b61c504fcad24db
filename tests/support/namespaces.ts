import { findPeer, peerTest, skippedTest } from "./peers.ts";

/** A command prefix; the program and its arguments follow. */
export type Under = readonly string[];

/**
 * A function that wraps a program into a new namespace after a bash script, or the reason why this machine
 * cannot.
 */
export type Namespace = { readonly wrap: (script?: string) => Under } | { readonly missing: string };

/** `--net` has no network, `--mount` has separate mounts; both need root or a permissive kernel. */
export type NamespaceKind = "--net" | "--mount" | "--net --mount";

const found = new Map<NamespaceKind, Namespace>();

/** Returns a wrapper for a program in this kind of namespace. */
export function inNamespace(kind: NamespaceKind): Namespace {
  let namespace = found.get(kind);
  if (!namespace) found.set(kind, namespace = findNamespace(kind));
  return namespace;
}

/** Registers a test with a new namespace; `wrap` returns the command prefix. */
export function namespaceTest(
  name: string,
  kind: NamespaceKind,
  test: (wrap: (script?: string) => Under, bash: string) => Promise<void>,
): void {
  const namespace = inNamespace(kind);
  if ("missing" in namespace) return skippedTest(name, namespace.missing);
  peerTest(name, ["bash"], ({ bash }) => test(namespace.wrap, bash));
}

function findNamespace(kind: string): Namespace {
  const bash = findPeer("bash");
  if ("missing" in bash) return { missing: `needs bash: ${bash.missing}` };
  if (Deno.build.os !== "linux") return { missing: "only on linux" };
  const { success } = new Deno.Command(bash.path, { args: ["-c", `unshare ${kind} true`], stderr: "null" })
    .outputSync();
  if (!success) return { missing: `needs unshare ${kind}: run it as root` };
  return { wrap: (script) => wrapped(bash.path, kind, script) };
}

function wrapped(bash: string, kind: string, script = ":"): Under {
  return [bash, "-c", `exec unshare ${kind} "${bash}" -c '${script}; exec "$@"' bash "$@"`, "bash"];
}
