import { maskedUrl, parseListenAddress } from "../config/mod.ts";
import { formatEndpoint, PosternError } from "../words/mod.ts";
import { parseForwardTarget } from "./forward_settings.ts";

/** A forward as an entry of `listen.forward`. */
export interface WrittenForward {
  readonly listen: string;
  readonly target: string;
}

export interface ForwardWordsOptions {
  /** The namespace of Services that the words name without one. */
  readonly namespace?: string | undefined;
  /** Makes the path of a socket absolute. */
  readonly absolute: (path: string) => string;
}

const path = String.raw`(?:unix:[^:]+|(?:[/~]|\.\.?/)[^:]*)`;
/** `[ADDR:]PORT:HOST:PORT` as in ssh(1); a path replaces the address or the target. */
const sshForm = new RegExp(
  String.raw`^(?:(${path})|(?:(\[[^\]]*\]|[^:[\]/]*):)?([0-9]{1,5})):` +
    String.raw`(?:(${path})|((?:\[[^\]]*\]|[^:[\]]+):[0-9]{1,5}))$`,
);
const resourceForm = /^([a-z]+(?:\.[a-z.]+)?)\/([^/:]+)$/i;
const portsForm = /^(?:([0-9]{1,5})?:)?([0-9]{1,5})$/;
const services = ["svc", "service", "services"];

/**
 * Reads forwards as ssh and kubectl spell them: `[ADDR:]PORT:HOST:PORT`, or `svc/NAME [LOCAL:]REMOTE...`. Throws
 * `usage` for other words.
 */
export function parseForwards(written: readonly string[], given: ForwardWordsOptions): WrittenForward[] {
  const { words, namespace = given.namespace } = withoutNamespace(written);
  const options = { ...given, namespace };
  const found: WrittenForward[] = [];
  let service: { readonly word: string; readonly host: string; count: number } | undefined;
  for (const word of words) {
    const ports = portsForm.exec(word);
    if (service && ports) {
      service.count++;
      const [, local, remote = ""] = ports;
      const listen = local ?? (word.startsWith(":") ? "0" : remote);
      found.push({ listen: checkedListen(listen), target: checkedTarget(`${service.host}:${remote}`) });
    } else if (resourceForm.test(word) && !/^[~.]/.test(word)) {
      demandPorts(service);
      service = { word, host: hostOf(word, options), count: 0 };
    } else {
      found.push(parsePair(word, options));
    }
  }
  demandPorts(service);
  return found;
}

/** Takes `-n NAMESPACE` out of the words of one option: `-L "svc/db 5432:5432 -n shop"`. */
function withoutNamespace(written: readonly string[]): { words: string[]; namespace?: string } {
  const words = [...written];
  const at = words.findIndex((word) => /^(?:-n|--namespace)(?:=|$)/.test(word));
  if (at < 0) return { words };
  const [word = "", next] = words.slice(at, at + 2);
  const isJoined = word.includes("=");
  const namespace = isJoined ? word.slice(word.indexOf("=") + 1) : next;
  words.splice(at, isJoined ? 1 : 2);
  if (namespace) return { words, namespace };
  throw new PosternError("usage", `Cannot read "${word}": missing namespace`, {
    hint: "write: -n NAMESPACE",
  });
}

function parsePair(word: string, options: ForwardWordsOptions): WrittenForward {
  const match = sshForm.exec(word);
  if (!match) {
    throw new PosternError("usage", `Cannot read "${maskedUrl(word).slice(0, 200)}" as a forward`, {
      hint: "use [ADDR:]PORT:HOST:PORT, for example 5432:db.example:5432; or svc/NAME PORT:PORT -n NAMESPACE",
    });
  }
  const [, from, address, port = "", to, target = ""] = match;
  const place = (written: string) => `unix:${options.absolute(written.replace(/^unix:/, ""))}`;
  return {
    listen: from !== undefined
      ? place(from)
      : checkedListen(address === undefined ? port : `${address}:${port}`),
    target: to !== undefined
      ? place(to)
      : checkedTarget(target.replace(/^[^:[]*/, (host) => host.includes("/") ? hostOf(host, options) : host)),
  };
}

function checkedListen(text: string): string {
  return parseListenAddress(text).text;
}

function checkedTarget(text: string): string {
  return formatEndpoint(parseForwardTarget(text));
}

/** The name that the rules route for a Service; other kinds have no name that outlives their pods. */
function hostOf(word: string, { namespace }: ForwardWordsOptions): string {
  const [, kind = "", name = ""] = resourceForm.exec(word) ?? [];
  if (!services.includes(kind.toLowerCase())) {
    throw new PosternError(
      "usage",
      `Cannot forward to "${word.slice(0, 200)}": postern routes names of Services`,
      {
        hint: "use a Service: svc/NAME PORT:PORT -n NAMESPACE, or PORT:NAME.NAMESPACE.svc:PORT",
      },
    );
  }
  if (namespace !== undefined) return `${name}.${namespace}.svc`;
  return name.includes(".") ? `${name}.svc` : name;
}

function demandPorts(service: { readonly word: string; readonly count: number } | undefined): void {
  if (!service || service.count > 0) return;
  throw new PosternError("usage", `Cannot forward to "${service.word.slice(0, 200)}": missing port`, {
    hint: `add a port: ${service.word.slice(0, 200)} 5432:5432, or :5432 for a free local port`,
  });
}
