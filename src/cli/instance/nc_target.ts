import { parseTarget, PosternError, type Target } from "../../words/mod.ts";

/**
 * Reads the words of a target: `HOST PORT` or `HOST:PORT`. An IPv6 address may lack its brackets before a separate
 * port, as in `%h %p` of ssh.
 */
export function ncTarget(words: readonly string[]): Target {
  const [host = "", port, ...more] = words;
  if (more.length > 0) {
    throw new PosternError("usage", `Cannot connect: more than one target: "${more[0]?.slice(0, 60)}"`, {
      hint: "use: postern nc HOST PORT",
    });
  }
  if (port === undefined) return checked(parseTarget(host));
  if (!/^[0-9]{1,5}$/.test(port)) {
    throw new PosternError("usage", `Cannot use "${port.slice(0, 60)}" as a port: it is not a number`, {
      hint: "use a port from 1 to 65535",
    });
  }
  const written = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return checked(parseTarget(`${written}:${port}`));
}

function checked(target: Target): Target {
  if (target.port > 0) return target;
  throw new PosternError("usage", "Cannot connect to port 0", { hint: "use a port from 1 to 65535" });
}

/** Refuses an instance together with a file: an instance has its own configuration. */
export function demandOneSource(
  { id, config }: { readonly id: string | undefined; readonly config: string | undefined },
): void {
  if (id === undefined || config === undefined) return;
  throw new PosternError("usage", "Cannot use --id with --config: an instance has its own configuration", {
    hint: "omit one of them",
  });
}
