import { maskedUrl } from "../config/mod.ts";
import { PosternError } from "../core/mod.ts";
import { doorKinds } from "../listeners/mod.ts";
import { parsePattern } from "../routing/mod.ts";
import { transportKinds } from "../transports/mod.ts";

/** What the command line changes in the configuration. */
export interface Overrides {
  readonly listen?: readonly string[];
  readonly listenSocks?: readonly string[];
  readonly listenHttp?: readonly string[];
  readonly listenUnix?: readonly string[];
  /** `PATTERN=TRANSPORT`, the transport by its name or in place: `any=proxy:http://127.0.0.1:3128`. */
  readonly routes?: readonly string[];
  readonly allowOpen?: boolean;
}

type Raw = Readonly<Record<string, unknown>>;

/**
 * A configuration with the command line's changes in it, before anything is checked. Routes of the command line
 * come after those of the file, so that the file's keep their places for messages; `fileRoutes` tells them apart.
 */
export function overridden(value: unknown, overrides: Overrides): { value: unknown; fileRoutes: number } {
  if (!isRaw(value)) return { value, fileRoutes: Infinity };
  const routes = Array.isArray(value.routes) ? value.routes : [];
  const added = routesOf(overrides.routes ?? [], isRaw(value.transports) ? value.transports : {});
  const listen = listenOf(value.listen, overrides);
  return {
    value: {
      ...value,
      ...(listen !== undefined && { listen }),
      ...(added.routes.length > 0 && {
        routes: [...routes, ...added.routes],
        transports: { ...(isRaw(value.transports) ? value.transports : {}), ...added.transports },
      }),
    },
    fileRoutes: routes.length,
  };
}

function listenOf(listen: unknown, overrides: Overrides): unknown {
  const { listen: mixed, listenSocks: socks, listenHttp: http, listenUnix: unix, allowOpen } = overrides;
  const doors = { mixed, socks, http, unix };
  const given = Object.entries(doors).filter(([, addresses]) =>
    addresses !== undefined && addresses.length > 0
  );
  const kept = isRaw(listen) ? listen : {};
  if (given.length === 0) return allowOpen ? { ...kept, allowOpen } : listen;
  // Doors named on the command line stand for all doors of the file; who may use them and how much stays.
  const others = Object.entries(kept).filter(([key]) => !doorKinds.some((kind) => kind === key));
  return { ...Object.fromEntries([...others, ...given]), ...(allowOpen && { allowOpen }) };
}

function routesOf(
  written: readonly string[],
  known: Raw,
): { routes: unknown[]; transports: Record<string, unknown> } {
  const transports: Record<string, unknown> = {};
  const routes = written.map((text) => {
    // Patterns have no "=" but in front.
    const at = text.indexOf("=", 1);
    if (at < 1 || at === text.length - 1) {
      throw new PosternError("usage", `Cannot read "${maskedUrl(text).slice(0, 200)}" as PATTERN=TRANSPORT`, {
        hint: "write for example --route .corp.example=proxy:http://127.0.0.1:3128",
      });
    }
    const to = text.slice(0, at);
    const parsed = parsePattern(to);
    if ("problem" in parsed) {
      throw new PosternError("usage", `Cannot use "${to.slice(0, 200)}" for --route: it ${parsed.problem}`);
    }
    const way = text.slice(at + 1);
    return { to, via: inPlace(way, { ...known, ...transports }, transports) ?? way };
  });
  return { routes, transports };
}

/** The name of a transport made for `KIND:VALUE`; undefined for a plain name. */
function inPlace(way: string, taken: Raw, made: Record<string, unknown>): string | undefined {
  const colon = way.indexOf(":");
  const kind = transportKinds.find(({ type }) => type === way.slice(0, colon))?.type;
  if (colon < 0 || kind === undefined) return undefined;
  let count = 1;
  while (Object.hasOwn(taken, `${kind}${count}`)) count++;
  const value = way.slice(colon + 1);
  made[`${kind}${count}`] = { [kind]: kind === "proxy" ? { url: value } : value };
  return `${kind}${count}`;
}

function isRaw(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
