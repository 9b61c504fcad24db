import { PosternError } from "../words/mod.ts";
import type { Process, World } from "../world/mod.ts";
import { splitCommand } from "./split_command.ts";

/** A started browser; `ended` resolves with the result of its program. */
export interface OpenedBrowser {
  readonly program: string;
  readonly ended: Promise<number>;
  /** Detaches the browser, which continues to run after postern ends. */
  release(): void;
}

/** The variables that name a browser; the first one that is set counts. */
const variables = ["POSTERN_BROWSER", "KHARON_BROWSER", "BROWSER"] as const;

/** Whether the user explicitly configured a browser for postern, with or without a terminal. */
export function isBrowserAsked(process: Pick<Process, "env">): boolean {
  return Boolean(process.env("POSTERN_BROWSER"));
}

/** Whether a browser can be opened: one is configured, or there is a display. */
export function hasBrowser(process: Pick<Process, "platform" | "env" | "mayRun">): boolean {
  const [program] = browserCommand(new URL("https://localhost/"), process) ?? [];
  return program !== undefined && process.mayRun(program);
}

/**
 * Opens a URL with the program in POSTERN_BROWSER, KHARON_BROWSER or BROWSER, otherwise with the platform's
 * opener. Undefined if there is none. The URL appears in the program's arguments, which other users of this
 * machine can see, so it must not contain a secret.
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
  // The browser belongs to the user from here on: the end of a sign-in does not close it.
  const { signal: never } = new AbortController();
  const { ended, release } = await process.background(command, {
    log: `${places.state}/browser.log`,
    signal: never,
  });
  return { program, ended, release };
}

/** The command that opens a URL; undefined without a display. */
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
  // On Windows a backslash separates directories.
  const words = splitCommand(line, { escapes: platform !== "windows" });
  if (words && words.length > 0) return words;
  throw new PosternError("config", `Cannot read the command in ${name}: a quote is not closed`, {
    hint: `quote it as in a shell, for example: ${name}='firefox --private-window %s'`,
  });
}

function withAddress(words: readonly string[], address: string): readonly string[] {
  if (!words.some((word) => word.includes("%s"))) return [...words, address];
  return words.map((word) => word.replaceAll("%s", () => address));
}

/**
 * Percent-encodes all characters that end quotes or expand in a shell, because such commands often have the
 * form `sh -c "… '%s'"`. Servers decode the URL to the same value.
 */
function harmlessAddress(url: URL): string {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new PosternError("protocol", "Cannot open a browser: the URL is not a web address");
  }
  const rest = `${url.pathname}${url.search}`.replace(
    /[^A-Za-z0-9\-._~/?&=%:@,+]/g,
    (char) => encodeURIComponent(char).replace(/[!'()*]/g, (kept) => `%${kept.charCodeAt(0).toString(16)}`),
  );
  return `${url.origin}${rest}`;
}
