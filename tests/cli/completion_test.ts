import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { compiled, Household } from "../support/postern_process.ts";

/** A function that stands in for the installed program, for the shell to call. */
function stand(answers: Readonly<Record<string, string>>): string {
  const cases = Object.entries(answers).map(([args, answer]) => `'${args}') printf '%s' '${answer}';;`);
  return `postern() { case "$*" in ${cases.join(" ")} esac; }\n`;
}

async function shell(path: string, args: readonly string[], script: string): Promise<string> {
  const child = new Deno.Command(path, { args: [...args], stdin: "piped", stdout: "piped", stderr: "piped" })
    .spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(script));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const text = new TextDecoder();
  assert.deepEqual([code, text.decode(stderr)], [0, ""]);
  return text.decode(stdout);
}

peerTest("completion: bash loads the script and completes by it", ["bash"], async ({ bash }) => {
  await using home = await Household.open();
  const { code, stdout } = await home.run(["completion", "bash"]);
  assert.equal(code, 0);
  const words = (await home.run(["completion", "bash", "con"])).stdout;
  const said = await shell(
    bash,
    ["--norc"],
    stand({ "completion bash con": words }) + `${stdout}
COMP_WORDS=(postern con) COMP_CWORD=1 COMP_LINE="postern con" COMP_POINT=11
_postern postern con postern
printf '%s\\n' "\${COMPREPLY[@]}"
complete -p postern
`,
  );
  assert.match(said, /^connections\nconsole\nconfig\nconnect\ncomplete .*-F _postern postern\n$/);
});

peerTest("completion: zsh loads the script", ["zsh"], async ({ zsh }) => {
  await using home = await Household.open();
  const { stdout } = await home.run(["completion", "zsh"]);
  const said = await shell(
    zsh,
    ["-f"],
    `autoload -Uz compinit && compinit -u -d "$(mktemp)"\n${stdout}\nprint -r -- $_comps[postern]\n`,
  );
  assert.match(said, /postern/);
});

peerTest("completion: fish loads the script and completes by it", ["fish"], async ({ fish }) => {
  await using home = await Household.open();
  const { stdout } = await home.run(["completion", "fish"]);
  const said = await shell(
    fish,
    ["--no-config"],
    `function postern; printf 'connections\\tx\\nconfig\\ty\\n'; end
${stdout}
complete -C 'postern con'
`,
  );
  assert.match(said, /^connections/m);
});

Deno.test("completion: the program answers a Tab in time for a person", async () => {
  await using home = await Household.open();
  const started = performance.now();
  const { stdout } = await home.run(["completion", "bash", "explain", "--"]);
  const took = performance.now() - started;
  assert.match(stdout, /^--dial$/m);
  // Generous: this machine may be busy. From source the type stripping is paid too.
  assert.ok(took < (compiled() ? 1500 : 4000), `took ${took} ms`);
});
