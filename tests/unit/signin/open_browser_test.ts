import assert from "node:assert/strict";
import { browserCommand } from "../../../src/signin/open_browser.ts";
import { openBrowser } from "../../../src/signin/mod.ts";
import { splitCommand } from "../../../src/signin/split_command.ts";
import { isPosternError } from "../../../src/words/mod.ts";
import type { Process } from "../../../src/world/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const address = "https://idp.example.net/auth?a=1&b=2";

interface Case {
  readonly name: string;
  readonly platform?: Process["platform"];
  readonly env?: Readonly<Record<string, string>>;
  readonly command: readonly string[] | undefined;
}

const cases: readonly Case[] = [
  { name: "Linux with X11", env: { DISPLAY: ":0" }, command: ["xdg-open", address] },
  { name: "Linux with Wayland", env: { WAYLAND_DISPLAY: "wayland-0" }, command: ["xdg-open", address] },
  { name: "Linux without a display", command: undefined },
  { name: "macOS", platform: "darwin", command: ["open", address] },
  { name: "Windows", platform: "windows", command: ["rundll32", "url.dll,FileProtocolHandler", address] },
  { name: "BROWSER", env: { BROWSER: "firefox" }, command: ["firefox", address] },
  {
    name: "KHARON_BROWSER before BROWSER",
    env: { BROWSER: "a", KHARON_BROWSER: "b" },
    command: ["b", address],
  },
  {
    name: "POSTERN_BROWSER before all",
    env: { BROWSER: "a", KHARON_BROWSER: "b", POSTERN_BROWSER: "c" },
    command: ["c", address],
  },
  { name: "an empty variable", env: { POSTERN_BROWSER: " ", BROWSER: "a" }, command: ["a", address] },
  {
    name: "a placeholder for the URL",
    env: { BROWSER: "b --url=%s --new" },
    command: ["b", `--url=${address}`, "--new"],
  },
  {
    name: "quotes",
    env: { BROWSER: `"/opt/my browser" -P 'a b' %s` },
    command: ["/opt/my browser", "-P", "a b", address],
  },
  {
    name: "a directory on Windows",
    platform: "windows",
    env: { BROWSER: '"C:\\Program Files\\b.exe" %s' },
    command: ["C:\\Program Files\\b.exe", address],
  },
];
for (const { name, platform = "linux", env = {}, command } of cases) {
  Deno.test(`browserCommand() with ${name}`, () => {
    const variables: Readonly<Record<string, string | undefined>> = env;
    assert.deepEqual(browserCommand(new URL(address), { platform, env: (key) => variables[key] }), command);
  });
}

Deno.test("browserCommand() gives a shell nothing to execute", () => {
  const env = (name: string) => name === "BROWSER" ? "sh -c 'echo %s'" : undefined;
  const url = new URL("https://idp.example.net/a$(id)`id`;id|id?x='\"&y=$HOME\\!*~#id");
  const [, , line = ""] = browserCommand(url, { platform: "linux", env }) ?? [];
  assert.match(line, /^echo https:\/\/idp\.example\.net\/[A-Za-z0-9\-._~/?&=%:@,+]*$/);
  assert.equal(decodeURIComponent(line), "echo https://idp.example.net/a$(id)`id`;id|id?x='\"&y=$HOME\\!*~");
});

Deno.test("browserCommand() names an invalid variable, and opens only web addresses", () => {
  const env = (name: string) => name === "BROWSER" ? "firefox 'x" : undefined;
  assert.throws(() => browserCommand(new URL(address), { platform: "linux", env }), (error) => {
    assert.ok(isPosternError(error, "config"));
    assert.match(error.message, /BROWSER/);
    return true;
  });
  for (const other of ["file:///bin/sh", "javascript:alert(1)", "mailto:me@example.net"]) {
    assert.throws(() => browserCommand(new URL(other), { platform: "linux", env: () => undefined }));
  }
});

Deno.test("openBrowser() starts only permitted programs", async () => {
  const world = new MemoryWorld({ env: { BROWSER: "firefox" } });
  const { signal } = new AbortController();
  const process = { ...world.process, mayRun: () => false };
  assert.equal(await openBrowser(new URL(address), { ...world, process }, { signal }), undefined);
});

Deno.test("openBrowser() leaves the browser open after the sign-in", async () => {
  const world = new MemoryWorld({ env: { BROWSER: "firefox" } });
  const stop = new AbortController();
  const signals: AbortSignal[] = [];
  const background: Process["background"] = (_command, { signal }) => {
    signals.push(signal);
    return Promise.resolve({ pid: 1, ended: Promise.resolve(0), release: () => {} });
  };
  const parts = { ...world, process: { ...world.process, background } };
  await openBrowser(new URL(address), parts, stop);
  stop.abort();
  assert.deepEqual(signals.map(({ aborted }) => aborted), [false]);
  await assert.rejects(openBrowser(new URL(address), parts, stop), { name: "AbortError" });
  assert.equal(signals.length, 1);
});

const lines = [
  { line: "", words: [] },
  { line: "  a  b\tc ", words: ["a", "b", "c"] },
  { line: `a'b c'd "e f"`, words: ["ab cd", "e f"] },
  { line: `'' ""`, words: ["", ""] },
  { line: `a\\ b \\' "\\"\\$x\\y" '\\'`, words: ["a b", "'", '"$x\\y', "\\"] },
  { line: "'open", words: undefined },
  { line: '"open', words: undefined },
];
for (const { line, words } of lines) {
  Deno.test(`splitCommand() reads ${JSON.stringify(line)}`, () =>
    assert.deepEqual(splitCommand(line), words));
}
