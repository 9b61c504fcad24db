import assert from "node:assert/strict";
import type { EnvironmentChange } from "../../../src/routing/shell_lines.ts";
import { shellLines } from "../../../src/routing/mod.ts";

const changes: readonly EnvironmentChange[] = [
  { copy: "HTTP_PROXY", to: "POSTERN_SAVED_HTTP_PROXY" },
  { set: "http_proxy", value: 'http://it\'s a \\ \u2019 $HOME `x` "q"' },
  { unset: "NO_PROXY" },
];

const texts = {
  sh: [
    `export POSTERN_SAVED_HTTP_PROXY="\${HTTP_PROXY-}"`,
    `export http_proxy='http://it'\\''s a \\ \u2019 $HOME \`x\` "q"'`,
    `unset NO_PROXY`,
    "",
  ].join("\n"),
  fish: [
    `set -gx POSTERN_SAVED_HTTP_PROXY "$HTTP_PROXY"`,
    `set -gx http_proxy 'http://it\\'s a \\\\ \u2019 $HOME \`x\` "q"'`,
    `set -e NO_PROXY`,
    "",
  ].join("\n"),
  powershell: [
    `$env:POSTERN_SAVED_HTTP_PROXY = $env:HTTP_PROXY`,
    `$env:http_proxy = 'http://it''s a \\ \u2019\u2019 $HOME \`x\` "q"'`,
    `Remove-Item Env:NO_PROXY -ErrorAction SilentlyContinue`,
    "",
  ].join("\n"),
  json: `{\n  "http_proxy": "http://it's a \\\\ \u2019 $HOME \`x\` \\"q\\"",\n  "NO_PROXY": null\n}\n`,
};

for (const shell of ["sh", "fish", "powershell", "json"] as const) {
  Deno.test(`shellLines() quotes for ${shell}`, () => assert.equal(shellLines(changes, shell), texts[shell]));
}

const odd = 'it\'s \\ \\\\ $HOME `id` "q" \u2019 !! %x% ; rm -rf / # & | \n second line \t ~ *';

for (const shell of ["sh", "fish"] as const) {
  Deno.test({
    name: `shellLines() works in a real ${shell} (needs --allow-run=${shell})`,
    ignore: Deno.permissions.querySync({ name: "run", command: shell }).state !== "granted" ||
      !isThere(shell),
    fn: async () => {
      const lines = shellLines(
        [{ set: "ODD", value: odd }, { copy: "ODD", to: "KEPT" }, { set: "ODD", value: "new" }, {
          copy: "KEPT",
          to: "ODD",
        }, { unset: "KEPT" }],
        shell,
      );
      const script = `${lines}printf '%s|%s' "$ODD" "$KEPT"`;
      const { code, stdout } = await new Deno.Command(shell, { args: ["-c", script], stdin: "null" })
        .output();
      assert.equal(code, 0);
      assert.equal(new TextDecoder().decode(stdout), `${odd}|`);
    },
  });
}

function isThere(shell: string): boolean {
  try {
    return new Deno.Command(shell, { args: ["-c", "exit 0"], stdin: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotCapable) return false;
    throw error;
  }
}
