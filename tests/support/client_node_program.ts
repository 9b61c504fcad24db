import { delimiter } from "node:path";
import process from "node:process";
import { PassThrough } from "node:stream";
import { pathToFileURL } from "node:url";
import type * as ClientNode from "./client_node.d.ts";

// `@kubernetes/client-node` as a program of its own: tests run it as they run curl, so that what it keeps open and what
// it loads stays out of their process. The first argument is the module, where `deno task peers` has put it.

/** A context of a kubeconfig, in words that our reader and this one share. */
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

/** PEM, the file that has it, or neither. */
export type ReadPem = { readonly pem: string } | { readonly file: string } | null;

export interface ReadExec {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What it makes of one kubeconfig, or why it refuses it. */
export type ReadFile =
  | { readonly current: string | null; readonly contexts: Readonly<Record<string, ReadContext>> }
  | { readonly refused: string };

const [module = "", verb, ...args] = Deno.args;
const { CoreV1Api, KubeConfig, PortForward, Watch }: typeof ClientNode = await import(
  pathToFileURL(module).href
);

// Several files of one list have a colon between them.
if (verb === "read") { for (const path of args) console.log(JSON.stringify(read(path))); }
else if (verb === "services") await listServices(...args);
else if (verb === "watch") await watch(...args);
else if (verb === "forward") await forward(...args);
else throw new Error(`no such verb: ${verb}`);
// It keeps its connections for later requests.
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
  // What every call of it does then.
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

/** Says of each event what it is, and ends with the watch, or after so many. */
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

/** Says what it reads to a port of a pod, and prints as much of the answer as that was. */
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
  // An empty message says that there was no error.
  errors.on("data", (bytes: Uint8Array) => bytes.length > 0 && over.reject(new Error(String(bytes))));
  const socket = await new PortForward(opened(path)).portForward(
    namespace,
    pod,
    [Number(port)],
    output,
    errors,
    input,
  );
  if (typeof socket === "function") throw new Error("it tries again, unasked");
  input.write(text);
  await over.promise;
  socket.close();
  await new Blob(answer).stream().pipeTo(Deno.stdout.writable);
}

/** One kubeconfig, or a list of them as `KUBECONFIG` has it. */
function opened(path: string): ClientNode.KubeConfig {
  const config = new KubeConfig();
  if (path.includes(delimiter)) {
    process.env["KUBECONFIG"] = path;
    config.loadFromDefault(undefined, true);
  } else config.loadFromFile(path);
  return config;
}
