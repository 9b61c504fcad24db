import { asPosternError, describe, formatEndpoint, isPosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { listenerKinds, type ListenerSettings } from "../listeners/mod.ts";
import type { Status } from "../control/mod.ts";
import { type ConfigReport, type ConfigSource, listenOf, readConfig, Transports } from "../plan/mod.ts";
import { clusterFindings } from "./doctor_clusters.ts";
import { dnsFileFindings, dnsPortFindings } from "./doctor_dns.ts";
import { systemProxyFindings } from "./doctor_system_proxy.ts";
import { proxyFindings, proxyPathFindings } from "./doctor_proxy.ts";
import { sshFindings } from "./doctor_ssh.ts";
import { connectInstance, withOwner } from "../instances/mod.ts";

/** The result of one check, with a hint for a problem. */
export interface Finding {
  readonly name: string;
  readonly state: "ok" | "warning" | "failed" | "skipped";
  readonly detail: string;
  readonly hint?: string | undefined;
  /** The exit code for this failure, if not 7. */
  readonly exit?: number;
}

export interface DoctorOptions extends ConfigSource {
  readonly id: string;
  readonly version: string;
  /** URLs to fetch with and without the environment's proxy. */
  readonly urls?: readonly string[];
}

/** Checks everything that an instance needs, one finding after the other. */
export async function* doctor(
  world: World,
  { id, version, urls = [], ...source }: DoctorOptions,
  { signal }: { signal: AbortSignal },
): AsyncGenerator<Finding> {
  const report = await readConfig(world, source).catch((error: unknown) => error);
  yield* configFindings(report);
  const config = isReport(report) ? report : undefined;
  yield await directoryFinding(world);
  if (config?.loaded) {
    await using transports = new Transports(world, config.loaded);
    yield* sshFindings(world, transports, { signal });
    yield* clusterFindings(transports, { signal });
  }
  const status = await runningInstance(world, id, signal);
  const known = Object.keys(config?.loaded?.settings.transports ?? {});
  yield* instanceFindings(id, status, { known, version });
  if (config?.loaded) yield* portFindings(world, config, status);
  yield* dnsFileFindings(world, { signal });
  yield* systemProxyFindings(world, { signal });
  yield* proxyFindings(world, isStatus(status) ? status.listeners.map(({ address }) => address) : []);
  yield* proxyPathFindings(world, urls, { signal });
  yield clockFinding(world);
}

function isReport(value: unknown): value is ConfigReport {
  return typeof value === "object" && value !== null && "errors" in value;
}

function* configFindings(report: unknown): Generator<Finding> {
  const name = "configuration";
  if (!isReport(report)) {
    const { message, hint } = asPosternError(report);
    // An unreadable file could not be checked at all: exit code 4 instead of 7.
    yield { name, state: "failed", detail: message, hint, exit: 4 };
    return;
  }
  const { path, isThere, errors, warnings, loaded } = report;
  for (const detail of errors) {
    yield { name, state: "failed", detail, hint: "check the configuration: postern config check" };
  }
  for (const detail of warnings) yield { name, state: "warning", detail };
  if (!isThere) {
    yield {
      name,
      state: "warning",
      detail: `"${path}" does not exist`,
      hint: "write one for this machine: postern setup",
    };
  } else if (loaded) {
    const transports = Object.keys(loaded.settings.transports).length;
    yield { name, state: "ok", detail: `${path}: ${loaded.rules.length} rules, ${transports} transports` };
  }
}

async function directoryFinding({ files, places }: World): Promise<Finding> {
  const name = "directory for sockets";
  try {
    await files.privateDirectory(places.runtime);
    await files.owned(places.runtime, "directory");
    return { name, state: "ok", detail: `only you have access to ${places.runtime}` };
  } catch (error) {
    const { message, hint } = asPosternError(error);
    return { name, state: "failed", detail: message, hint };
  }
}

async function runningInstance(world: World, id: string, signal: AbortSignal): Promise<Status | unknown> {
  try {
    const client = await connectInstance(world, id, { signal });
    return await client.status({ signal });
  } catch (error) {
    if (signal.aborted) throw error;
    return error;
  }
}

function isStatus(value: unknown): value is Status {
  return typeof value === "object" && value !== null && "listeners" in value;
}

/** Findings about the running instance; `known` are the configured transports, which were checked before. */
function* instanceFindings(
  id: string,
  status: unknown,
  { known, version: ours }: { readonly known: readonly string[]; readonly version: string },
): Generator<Finding> {
  const name = `instance "${id}"`;
  if (!isStatus(status)) {
    const isAbsent = isPosternError(status, "refused");
    yield isAbsent
      ? { name, state: "skipped", detail: "not running", hint: "start it: postern proxy" }
      : { name, state: "failed", detail: describe(status), hint: "restart the instance" };
    return;
  }
  const { state, version, pid, config, transports } = status;
  const detail = `${state}, version ${version}, pid ${pid}`;
  // After an upgrade, a running instance still uses the old program.
  const again = {
    state: "warning",
    hint: `restart the instance to run version ${ours}`,
  } as const;
  yield { name, detail, ...(version === ours ? { state: "ok" } : again) };
  if (config.problem !== undefined) {
    yield {
      name,
      state: "failed",
      detail: `the instance still uses the previous configuration: ${config.problem}`,
      hint: "check the configuration: postern config check",
    };
  }
  for (const { name: transport, table } of transports) {
    if (table?.state !== "unknown" || table.reason === undefined) continue;
    yield {
      name: `cluster of "${transport}"`,
      state: "failed",
      detail:
        `postern rejects targets that may belong to the cluster, because its Services are unknown: ${table.reason}`,
      hint: table.hint,
    };
  }
  for (const { name: transport, state, lastError, hint } of transports) {
    if (state !== "failing" && (state !== "unusable" || known.includes(transport))) continue;
    const detail = lastError ?? state;
    yield {
      name: `transport "${transport}"`,
      state: "failed",
      detail,
      hint,
    };
  }
}

/** Whether each port is free, or used by the running instance. */
async function* portFindings(
  world: World,
  { loaded }: ConfigReport,
  status: unknown,
): AsyncGenerator<Finding> {
  if (!loaded) return;
  const listen = listenOf(loaded.settings);
  const own = isStatus(status) ? status.listeners.map(({ address }) => address) : [];
  yield* dnsPortFindings(world, listen, own);
  for (
    const { address } of [...listenerKinds, "forward" as const].flatMap<ListenerSettings>((kind) =>
      listen[kind] ?? []
    )
  ) {
    for (const { endpoint, mayBeMissing } of address.sockets) {
      const text = formatEndpoint(endpoint);
      const name = `address ${text}`;
      if (own.includes(text)) {
        yield { name, state: "ok", detail: "used by the running instance" };
      } else if ("path" in endpoint) {
        yield {
          name,
          state: "skipped",
          detail: "a socket file, which postern checks when the instance starts",
        };
      } else {
        try {
          await using _listening = world.network.listen(endpoint);
          yield { name, state: "ok", detail: "free" };
        } catch (error) {
          const { message, hint, detail } = asPosternError(await withOwner(world, error).catch(() => error));
          if (mayBeMissing && detail === "network") continue;
          yield { name, state: "failed", detail: message, hint };
        }
      }
    }
  }
}

/** With a wrong clock, certificates and sign-ins fail with misleading errors. */
function clockFinding({ clock }: World): Finding {
  const name = "clock";
  const year = clock.date().getUTCFullYear();
  if (year < 2026) {
    return {
      name,
      state: "failed",
      detail: `the year is ${year}`,
      hint: "set the clock: certificates depend on it",
    };
  }
  return { name, state: "ok", detail: clock.date().toISOString() };
}
