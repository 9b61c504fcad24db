import assert from "node:assert/strict";
import { kubeconfigOf } from "../support/kube_world.ts";
import { Household } from "../support/postern_process.ts";

/** A listener in place of an API server: counts connections and closes them. */
class ApiAddress implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #done = this.#count();
  came = 0;

  get server(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}`;
  }

  async #count(): Promise<void> {
    for await (const conn of this.#listener) {
      this.came++;
      conn.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#done;
  }
}

Deno.test("postern connect --socks uses and reports the cluster in KUBECONFIG", async (t) => {
  await using home = await Household.open();
  await using usual = new ApiAddress();
  await using named = new ApiAddress();
  for (const directory of [".kube", "other"]) await Deno.mkdir(`${home.directory}/${directory}`);
  const [config, other] = [`${home.directory}/.kube/config`, `${home.directory}/other/lab.yaml`];
  await Deno.writeTextFile(config, kubeconfigOf({ server: usual.server }));
  await Deno.writeTextFile(other, kubeconfigOf({ server: named.server }).replaceAll('"lab"', '"far"'));
  const missing = `${home.directory}/missing`;
  const instances: {
    name: string;
    args?: string[];
    env: Record<string, string>;
    is: string;
    goes: ApiAddress;
  }[] = [
    {
      name: "a relative list with a missing file",
      env: { KUBECONFIG: "missing:other/lab.yaml" },
      is: `context far of ${missing}, ${other}`,
      goes: named,
    },
    {
      name: "a kubeconfig that postern set",
      env: { KUBECONFIG: other, POSTERN_CLUSTER: "c-lab" },
      is: `context lab of ${config}`,
      goes: usual,
    },
    {
      name: "--kubeconfig before the environment",
      args: ["--kubeconfig", config],
      env: { KUBECONFIG: other },
      is: `context lab of ${config}`,
      goes: usual,
    },
  ];
  for (const { name, args = [], env, is, goes } of instances) {
    await t.step(name, async () => {
      const connect = ["connect", "--socks", "--socks-listen", "127.0.0.1:0", ...args];
      const { code, stderr } = await home.run(connect, { env });
      assert.equal(code, 0, stderr);
      assert.ok(stderr.split("\n")[0]?.includes(`), ${is}, log: `), stderr);
      try {
        // The reloading command has another environment.
        assert.equal((await home.run(["reload"])).code, 0);
        const status = await home.run(["status"]);
        assert.ok(status.stdout.includes(`kubernetes1: ${is}\n`), status.stdout);
        const before = { usual: usual.came, named: named.came };
        await home.run(["explain", "--dial", "web.shop.svc.cluster.local:80"]);
        assert.ok(goes.came > (goes === usual ? before.usual : before.named));
        assert.equal(goes === usual ? named.came : usual.came, goes === usual ? before.named : before.usual);
      } finally {
        await home.run(["stop"]);
      }
      assert.ok((await home.run(["logs"])).stdout.includes(`clusters="${is}"`));
    });
  }
  await t.step("only missing files", async () => {
    const env = { KUBECONFIG: "missing:none" };
    const { code, stderr } = await home.run(["proxy", "--kubernetes", "--background"], { env });
    assert.equal(code, 4, stderr);
    assert.ok(
      stderr.startsWith(
        `postern: error: Cannot read the kubeconfigs "${missing}", "${home.directory}/none": none of them exists\n`,
      ),
      stderr,
    );
  });
});
