import assert from "node:assert/strict";
import { labCluster, storeClusters } from "../support/lab_clusters.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

const v1 = "client.authentication.k8s.io/v1";
/** Programs that a hostile fact may try to start; each records that it ran. */
const traps = ["evil", "kubelogin", "kubectl-oidc_login", "oc", "bash", "curl", "python3"];

peerTest(
  "kubectl starts no program from a hostile fact, for any form of auth info",
  ["kubectl", "sh"],
  async ({ kubectl, sh }, t) => {
    await using home = await Household.open();
    const bin = `${home.directory}/bin`;
    const started = `${home.directory}/started`;
    await Deno.mkdir(bin);
    await Deno.mkdir(started);
    for (const trap of traps) {
      const script = `#!${sh}\n: > "${started}/${trap}"\nexit 1\n`;
      await Deno.writeTextFile(`${bin}/${trap}`, script, { mode: 0o755 });
    }
    const evil = `${bin}/evil`;
    const exec = (command: string, ...args: string[]) => ({ exec: { apiVersion: v1, command, args } });
    const withEnv = (name: string, value: string) => ({
      exec: { ...exec("kubelogin", "get-token").exec, env: [{ name, value }] },
    });
    const hostile: Readonly<Record<string, unknown>> = {
      "an absolute path": exec(evil),
      "a relative path": exec("./bin/evil"),
      "a path upwards": exec("../../../bin/evil"),
      "a name that is not allowed": exec("evil"),
      "a shell": exec("sh", "-c", evil),
      "a shell of another name": exec("bash", "-c", evil),
      "a name with an argument": exec("kubelogin evil"),
      "a name in capitals": exec("KUBELOGIN"),
      "a name with a zero": exec("kubelogin\u0000"),
      "a name with a line end": exec("kubelogin\n"),
      "kubectl with other work": exec("kubectl", "delete", "namespace", "default"),
      "a browser that is a program": exec("kubelogin", "get-token", `--browser-command=${evil}`),
      "a log that overwrites a user's file": exec("kubelogin", "get-token", `--log_file=${started}/log`),
      "a library to load first": withEnv("LD_PRELOAD", evil),
      "another PATH": withEnv("PATH", bin),
      "another home": withEnv("HOME", "/"),
      "an auth provider": { "auth-provider": { name: "gcp", config: { "cmd-path": evil } } },
      "a token from a file": { tokenFile: "/etc/passwd" },
      "a key from a file": { "client-key": "/etc/passwd", "client-certificate": "/etc/passwd" },
      "JSON in JSON": JSON.stringify(JSON.stringify(exec("evil"))),
      "a prototype": JSON.parse(`{"__proto__": ${JSON.stringify(exec("evil"))}}`),
      "two of the same name": `{"exec":${JSON.stringify(exec("kubelogin").exec)},"exec":${
        JSON.stringify(exec("evil").exec)
      }}`,
      "a list": [exec("evil")],
    };
    const cases = Object.entries(hostile);
    await storeClusters(home, [
      ...cases.map(([name, login], at) => ({
        ...labCluster(`c-${at}`, name, { login }),
        // No server listens there: the sign-in comes first.
        dynamicFacts: { talosApiURL: "https://127.0.0.1:1" },
      })),
      {
        ...labCluster("c-allowed", "Allowed", { login: exec("kubelogin", "get-token") }),
        dynamicFacts: { talosApiURL: "https://127.0.0.1:1" },
      },
    ]);
    await home.configure(
      "catalogues: [{ lieutenant: https://api.syn.example.net, authInfoFact: login }]\n" +
        "listen: { mixed: 127.0.0.1:3141 }\n",
    );
    const path = `${home.directory}/k.yaml`;
    const written = await home.run(["kubeconfig", "--file", path]);
    assert.equal(written.code, 0, written.stderr);
    for (const at of cases.keys()) assert.match(written.stderr, new RegExp(`note: c-${at} has no user: `));
    const text = await Deno.readTextFile(path);
    const ask = (context: string) =>
      new Deno.Command(kubectl, {
        args: ["--kubeconfig", path, "--context", context, "--request-timeout=5s", "get", "namespaces"],
        env: { HOME: home.directory, PATH: bin },
        cwd: home.directory,
        clearEnv: true,
      }).output();
    for (const [at, [name]] of cases.entries()) {
      await t.step(name, async () => {
        assert.notEqual((await ask(`c-${at}`)).code, 0);
        assert.deepEqual([...Deno.readDirSync(started)].map(({ name }) => name), []);
      });
    }
    await t.step("the kubeconfig contains none of them", () => {
      assert.doesNotMatch(text, /evil|passwd|LD_PRELOAD|browser-command/);
      assert.deepEqual([...text.matchAll(/command: "(.*)"/g)].map(([, command]) => command), ["kubelogin"]);
    });
    await t.step("an allowed program starts: the traps work", async () => {
      await ask("c-allowed");
      assert.deepEqual([...Deno.readDirSync(started)].map(({ name }) => name), ["kubelogin"]);
    });
  },
);
