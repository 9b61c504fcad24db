import {
  flag,
  formatPath,
  type Infer,
  integer,
  list,
  optional,
  port,
  record,
  rootContext,
  type Schema,
  text,
  transformed,
} from "../config/mod.ts";
import { jsonIn } from "../core/mod.ts";
import { isErrorCode, PosternError } from "../words/mod.ts";

// The answers of an instance on its control socket. They come from another process, so they are checked like
// any input. Unknown fields are kept, because the instance may run another version.

/** The maximum size of an answer in bytes. */
export const mostAnswer = 64 * 1024 * 1024;

/** The maximum nesting depth of an answer. */
const deepest = 32;

const words = text({ min: 0 });
const count = integer({ min: 0 });
const url = text({ max: 1000, pattern: /^[\x21-\x7e]+$/, describe: "a URL" });
const amount: Schema<number> = {
  expects: "a number of at least 0",
  shapes: ["number"],
  parse(value, context) {
    if (typeof value === "number" && value >= 0 && value < Infinity) return value;
    context.report("must be a number of at least 0");
    return undefined;
  },
  json: () => ({ type: "number", minimum: 0 }),
};

const hello = open({ version: text({ max: 100 }), id: text({ max: 100 }), pid: count, protocol: count });

const hop = open({
  host: words,
  address: words,
  state: words,
  since: words,
  roundTripMs: optional(amount),
  channels: count,
  sessions: count,
  reconnects: count,
  lastError: optional(words),
});

const cluster = open({
  name: words,
  server: words,
  version: optional(words),
  state: words,
  sessions: count,
  streams: count,
  watches: list(open({ namespace: words })),
  lastError: optional(words),
});

const transport = open({
  name: words,
  type: words,
  via: optional(words),
  state: words,
  dials: count,
  failures: count,
  lastError: optional(words),
  hint: optional(words),
  hops: optional(list(hop)),
  clusters: optional(list(cluster)),
  table: optional(open({ state: words, reason: optional(words), hint: optional(words) })),
});

const counts = {
  connections: open({ open: count, total: count, failed: count }),
  bytes: open({ up: count, down: count }),
  memory: open({ resident: count }),
};

const status = open({
  version: text({ max: 100 }),
  id: text({ max: 100 }),
  pid: count,
  startedAt: words,
  state: words,
  listeners: list(
    open({ kind: words, address: words, auth: flag(), target: optional(words), name: optional(words) }),
  ),
  transports: list(transport),
  config: open({ path: optional(words), loadedAt: words, problem: optional(words) }),
  catalogues: optional(
    list(open({ name: words, fetchedAt: optional(words), clusters: count, problem: optional(words) })),
  ),
  dns: optional(open({
    addresses: list(open({ host: words, port: port() })),
    domains: list(words),
    loopback: optional(open({ range: words, names: count, listeners: count })),
  })),
  udp: optional(open({ associations: count, refused: count, lastRefusal: optional(words) })),
  ...counts,
});

const connectionFields = {
  id: count,
  client: words,
  protocol: words,
  target: words,
  transport: words,
  because: words,
  startedAt: words,
  ageMs: amount,
  up: count,
  down: count,
  user: optional(words),
  forward: optional(words),
};
const connection = open(connectionFields);
const endedConnection = open({
  ...connectionFields,
  endedAt: words,
  outcome: words,
  reason: optional(words),
});

const logged = open({ number: count, time: words, level: words, event: words, fields: words });
const sample = open({ up: amount, down: amount, open: count });

const whole = open({
  time: words,
  every: amount,
  status,
  live: list(connection),
  ended: list(endedConnection),
  log: list(logged),
  traffic: list(sample),
});
const step = open({
  time: words,
  counts: open(counts),
  status: optional(status),
  begun: list(connection),
  moved: list(list(count)),
  gone: list(count),
  ended: list(endedConnection),
  log: list(logged),
  traffic: sample,
});

const errorInfo = open({
  // A newer postern may use unknown codes.
  code: transformed(text({ max: 100 }), (code) => isErrorCode(code) ? code : "internal"),
  message: words,
  hint: optional(words),
});

const boundForward = open({ address: words, target: words, name: optional(words) });

const explanation = open({
  target: words,
  transport: words,
  because: words,
  hops: list(open({
    name: words,
    type: words,
    detail: optional(words),
    problem: optional(words),
    hint: optional(words),
  })),
  losers: list(open({ rule: words, source: words, transport: words, why: words })),
  forward: optional(boundForward),
  loopback: optional(words),
  held: optional(errorInfo),
  dial: optional(open({
    ms: amount,
    steps: list(open({ step: words, ms: amount })),
    error: optional(errorInfo),
  })),
});

const environment = open({
  http: url,
  socks: url,
  proxyUrl: optional(url),
  noProxy: list(text({ pattern: /^[^\s\p{Cc},;"'`$\\]+$/u, describe: "a name, an address or a network" })),
  notes: list(words),
  needsAuth: flag(),
});

const forward = open({
  kind: text({ max: 20 }),
  id: optional(count),
  forwards: optional(list(boundForward, { max: 10_000 })),
  error: optional(errorInfo),
});

/** The schema of each answer, by request. */
export const answers = {
  hello,
  status,
  connections: list(connection),
  whole,
  step,
  reload: open({ changed: flag(), changes: list(words), warnings: list(words) }),
  stop: open({ drain: optional(amount) }),
  closed: open({}),
  // The lines end up in a file of the system, so names and addresses are exact.
  hosts: open({
    range: words,
    hosts: list(
      open({
        address: text({ max: 15, pattern: /^127(?:\.[0-9]{1,3}){3}$/, describe: "a loopback address" }),
        name: text({ max: 253, pattern: /^[a-z0-9][a-z0-9._-]*$/, describe: "a host name" }),
        ports: list(port()),
      }),
      { max: 10_000 },
    ),
    problems: list(open({ name: words, reason: words })),
  }),
  explanation,
  forward,
  page: open({ url }),
  environment,
  end: errorInfo,
  sshHosts: open({
    routed: list(open({
      // They become lines of a file that ssh obeys.
      patterns: list(text({ max: 300, pattern: /^!?[A-Za-z0-9_.:*-]+$/, describe: "an ssh pattern" })),
      transport: words,
      because: words,
    })),
    left: list(open({ rule: words, why: words })),
  }),
};

/** Reads an answer of the instance `id`; throws `protocol` if the answer is invalid. */
export function readAnswer<S extends Schema<unknown>>(
  answer: string | Uint8Array,
  schema: S,
  { id, to }: { readonly id: string; readonly to: string },
): Infer<S> {
  const written = typeof answer === "string" ? answer : new TextDecoder().decode(answer);
  const refuse = (why: string, cause?: unknown) =>
    new PosternError("protocol", `Cannot use the answer of instance "${id}" to ${to}: ${why}`, {
      cause,
      hint: `restart the instance, which may run another version: postern stop ${id}`,
    });
  if (isTooDeep(written)) throw refuse(`nested more than ${deepest} levels deep`);
  const value = jsonIn(written);
  if (value === undefined) throw refuse("not JSON");
  const context = rootContext({ base: "/" });
  const read = schema.parse(value, context);
  const [problem] = context.problems;
  if (read !== undefined && !problem) return read as Infer<S>;
  throw refuse(problem ? `${formatPath(problem.path)} ${problem.message}`.trim() : "empty");
}

function open<const F extends Readonly<Record<string, Schema<unknown>>>>(fields: F) {
  return record(fields, { describe: "a mapping", isOpen: true });
}

/** Counts brackets outside of strings, before the text is parsed. */
function isTooDeep(json: string): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) isText = !isText;
    else if (isText) {
      if (code === 0x5c) at++;
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > deepest) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}
