import { delimiter } from "node:path";
import process from "node:process";
import { PassThrough } from "node:stream";
import { pathToFileURL } from "node:url";
import type * as ClientNode from "./client_node.d.ts";

// `@kubernetes/client-node` as a separate program: tests run it like curl, so that its connections and
// modules stay out of their process. The first argument is the module installed by `deno task peers`.

/** A context of a kubeconfig, in a form common to our reader and this one. */
export interface ReadContext {
  readonly server: string;
  readonly ca: ReadPem;
  readonly isUnverified: boolean;
  readonly tlsServerName: string | null;
  readonly proxy: string | null;
  readonly namespace: string;
  readonly certificate: ReadPem;
  readonly key: ReadPem;
  readonly token: string | null;
  readonly username: string | null;
  readonly password: string | null;
  readonly exec: ReadExec | null;
  readonly as: string | null;
}

/** PEM text, a file with it, or neither. */
export type ReadPem = { readonly pem: string } | { readonly file: string } | null;

export interface ReadExec {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The result of reading one kubeconfig, or the reason of a refusal. */
export type ReadFile =
  | { readonly current: string | null; readonly contexts: Readonly<Record<string, ReadContext>> }
  | { readonly refused: string };

const [module = "", verb, ...args] = Deno.args;
const { CoreV1Api, KubeConfig, PortForward, Watch }: typeof ClientNode = await import(
  pathToFileURL(module).href
);

// Colons separate the files of one list.
if (verb === "read") { for (const path of args) console.log(JSON.stringify(read(path))); }
else if (verb === "services") await listServices(...args);
else if (verb === "watch") await watch(...args);
else if (verb === "forward") await forward(...args);
else throw new Error(`no such verb: ${verb}`);
// The library keeps its connections for later requests.
process.exit();

function read(path: string): ReadFile {
  try {
    const config = opened(path);
    const contexts = config.getContexts().map(({ name }) => [name, contextOf(config, name)]);
    return { current: config.getCurrentContext() || null, contexts: Object.fromEntries(contexts) };
  } catch (error) {
    return { refused: String(error) };
  }
}

function contextOf(config: ClientNode.KubeConfig, name: string): ReadContext {
  const context = config.getContextObject(name);
  const cluster = config.getCluster(context?.cluster ?? "");
  // Every call then follows the same path.
  if (!context || !cluster) throw new Error("No active cluster!");
  const user = config.getUser(context.user);
  const exec = user?.exec;
  return {
    server: new URL(cluster.server).href,
    ca: pem(cluster.caData, cluster.caFile),
    isUnverified: cluster.skipTLSVerify ?? false,
    tlsServerName: cluster.tlsServerName ?? null,
    proxy: cluster.proxyUrl ?? null,
    namespace: context.namespace ?? "default",
    certificate: pem(user?.certData, user?.certFile),
    key: pem(user?.keyData, user?.keyFile),
    token: user?.token ?? null,
    username: user?.username ?? null,
    password: user?.password ?? null,
    exec: exec
      ? {
        apiVersion: exec.apiVersion,
        command: exec.command,
        args: exec.args ?? [],
        env: Object.fromEntries((exec.env ?? []).map(({ name, value = "" }) => [name, value])),
      }
      : null,
    as: user?.impersonateUser ?? null,
  };
}

function pem(data: string | undefined, file: string | undefined): ReadPem {
  if (data) return { pem: atob(data) };
  return file ? { file } : null;
}

async function listServices(path = "", namespace = ""): Promise<void> {
  const { items } = await opened(path).makeApiClient(CoreV1Api).listNamespacedService({ namespace });
  for (const { metadata } of items) console.log(metadata?.name);
}

/** Prints each event; ends with the watch or after `count` events. */
async function watch(path = "", watched = "", count = "Infinity"): Promise<void> {
  const over = Promise.withResolvers<void>();
  let left = Number(count);
  const onEvent: Parameters<ClientNode.Watch["watch"]>[2] = (type, object) => {
    console.log(type, object.metadata.name);
    if (--left === 0) over.resolve();
  };
  await new Watch(opened(path)).watch(
    watched,
    {},
    onEvent,
    (error) => error ? over.reject(error) : over.resolve(),
  );
  await over.promise;
}

/** Sends stdin to a port of a pod and prints the same number of bytes of the answer. */
async function forward(path = "", namespace = "", pod = "", port = ""): Promise<void> {
  const text = await new Response(Deno.stdin.readable).bytes();
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const over = Promise.withResolvers<void>();
  const answer: Uint8Array<ArrayBuffer>[] = [];
  let left = text.length;
  output.on("data", (bytes: Uint8Array<ArrayBuffer>) => {
    answer.push(bytes);
    left -= bytes.length;
    if (left <= 0) over.resolve();
  });
  // An empty message means no error.
  errors.on("data", (bytes: Uint8Array) => bytes.length > 0 && over.reject(new Error(String(bytes))));
  const socket = await new PortForward(opened(path)).portForward(
    namespace,
    pod,
    [Number(port)],
    output,
    errors,
    input,
  );
  if (typeof socket === "function") throw new Error("it retries on its own");
  input.write(text);
  await over.promise;
  socket.close();
  await new Blob(answer).stream().pipeTo(Deno.stdout.writable);
}

/** Loads one kubeconfig, or a list as in `KUBECONFIG`. */
function opened(path: string): ClientNode.KubeConfig {
  const config = new KubeConfig();
  if (path.includes(delimiter)) {
    process.env["KUBECONFIG"] = path;
    config.loadFromDefault(undefined, true);
  } else config.loadFromFile(path);
  return config;
}
