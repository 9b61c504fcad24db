import { PosternError } from "../words/mod.ts";
import type { Process, World } from "../world/mod.ts";
import { splitCommand } from "./split_command.ts";

/** A browser that was started; `ended` tells how its program ended. */
export interface OpenedBrowser {
  readonly program: string;
  readonly ended: Promise<number>;
  /** Lets go of it: it outlives us. */
  release(): void;
}

/** The variables that name a browser, the first one that is set counts. */
const variables = ["POSTERN_BROWSER", "KHARON_BROWSER", "BROWSER"] as const;

/** Whether somebody has asked this program by name to use a browser, terminal or not. */
export function isBrowserAsked(process: Pick<Process, "env">): boolean {
  return Boolean(process.env("POSTERN_BROWSER"));
}

/** Whether there is a browser to open: one that is named, or a screen to show one on. */
export function hasBrowser(process: Pick<Process, "platform" | "env" | "mayRun">): boolean {
  const [program] = browserCommand(new URL("https://localhost/"), process) ?? [];
  return program !== undefined && process.mayRun(program);
}

/**
 * Opens a web address as the person wants it: the program of POSTERN_BROWSER, KHARON_BROWSER or BROWSER, else the
 * platform's opener. Undefined where there is none. The address stands in the program's arguments, where others on
 * this machine can see it: it must hold no secret.
 */
export async function openBrowser(
  url: URL,
  { files, process, places }: Pick<World, "files" | "process" | "places">,
  { signal }: { signal: AbortSignal },
): Promise<OpenedBrowser | undefined> {
  const command = browserCommand(url, process);
  const [program] = command ?? [];
  if (command === undefined || program === undefined || !process.mayRun(program)) return undefined;
  await files.privateDirectory(places.state);
  signal.throwIfAborted();
  // From here on it is the person's: the end of a sign-in closes nobody's windows.
  const { signal: never } = new AbortController();
  const { ended, release } = await process.background(command, {
    log: `${places.state}/browser.log`,
    signal: never,
  });
  return { program, ended, release };
}

/** The command that opens an address; undefined where nobody could see the window. */
export function browserCommand(
  url: URL,
  { platform, env }: Pick<Process, "platform" | "env">,
): readonly string[] | undefined {
  const address = harmlessAddress(url);
  for (const name of variables) {
    const line = env(name)?.trim();
    if (line) return withAddress(chosenCommand(name, line, platform), address);
  }
  if (platform === "darwin") return ["open", address];
  if (platform === "windows") return ["rundll32", "url.dll,FileProtocolHandler", address];
  return env("DISPLAY") || env("WAYLAND_DISPLAY") ? ["xdg-open", address] : undefined;
}

function chosenCommand(name: string, line: string, platform: Process["platform"]): readonly string[] {
  // A backslash separates directories there.
  const words = splitCommand(line, { escapes: platform !== "windows" });
  if (words && words.length > 0) return words;
  throw new PosternError("config", `Cannot read the command in ${name}: a quote is not closed`, {
    hint: `write it as for a shell, for example: ${name}='firefox --private-window %s'`,
  });
}

function withAddress(words: readonly string[], address: string): readonly string[] {
  if (!words.some((word) => word.includes("%s"))) return [...words, address];
  return words.map((word) => word.replaceAll("%s", () => address));
}

/**
 * The address with everything percent-encoded that ends quotes or expands in a shell, since such commands are often of
 * the form `sh -c "… '%s'"`. For a server that reads it, nothing changes.
 */
function harmlessAddress(url: URL): string {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new PosternError("protocol", "Cannot open a browser: the address is no web address");
  }
  const rest = `${url.pathname}${url.search}`.replace(
    /[^A-Za-z0-9\-._~/?&=%:@,+]/g,
    (char) => encodeURIComponent(char).replace(/[!'()*]/g, (kept) => `%${kept.charCodeAt(0).toString(16)}`),
  );
  return `${url.origin}${rest}`;
}
