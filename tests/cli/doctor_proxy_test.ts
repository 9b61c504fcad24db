import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { type Ended, Household } from "../support/postern_process.ts";
import { startTinyproxy } from "../support/real_proxies.ts";

// Four mistakes about a page: listed in NO_PROXY or not, and reachable only the other way or not at all.

const bind = "127.0.0.2";

/**
 * A site whose URL path names the allowed route: direct, proxied or both. The proxy connects from a separate address,
 * at which 0.0.0.0 also works.
 */
function site(): { readonly port: number } & AsyncDisposable {
  const serve = (hostname: string, port: number, route: string) =>
    Deno.serve({ hostname, port, onListen: () => {} }, ({ url }) => {
      const { pathname } = new URL(url);
      return new Response("", { status: pathname === "/both" || pathname === route ? 200 : 403 });
    });
  const direct = serve("127.0.0.1", 0, "/direct");
  const { port } = direct.addr;
  const proxied = serve(bind, port, "/proxied");
  return {
    port,
    async [Symbol.asyncDispose]() {
      await Promise.all([direct.shutdown(), proxied.shutdown()]);
    },
  };
}

function findings({ stdout }: Ended): { name: string; state: string; detail: string; hint?: string }[] {
  return JSON.parse(stdout).filter(({ name }: { name: string }) => name.startsWith("proxy for "));
}

peerTest(
  "postern doctor --url fetches pages with and without tinyproxy, and compares the results with NO_PROXY",
  ["tinyproxy"],
  async ({ tinyproxy }, t) => {
    await using home = await Household.open();
    await using proxy = await startTinyproxy(tinyproxy, home.directory, { user: "me", password: "hunter2" }, {
      bind,
    });
    await using web = site();
    // Go never uses a proxy for loopback addresses, but this spelling does not count as one.
    const page = (name: string) => `http://0.0.0.0:${web.port}/${name}`;
    const doctor = async (
      list: string,
      names: readonly string[],
      more: Readonly<Record<string, string>> = {},
    ) => {
      const env = { HTTP_PROXY: `http://me:hunter2@${proxy.address}`, NO_PROXY: list, ...more };
      const urls = names.flatMap((name) => ["--url", page(name)]);
      const ended = await home.run(["doctor", ...urls, "-o", "json"], { env });
      assert.doesNotMatch(ended.stdout + ended.stderr, /hunter2/);
      return { ...ended, found: findings(ended) };
    };

    await t.step("a page that is reachable as NO_PROXY says passes", async () => {
      const listed = await doctor("0.0.0.0", ["both", "direct"]);
      const unlisted = await doctor("other.example.net", ["both", "proxied"]);
      assert.deepEqual([listed.code, unlisted.code], [0, 0], listed.stdout + unlisted.stdout);
      const says = ({ found }: typeof listed) => found.map(({ state, detail }) => `${state}: ${detail}`);
      assert.deepEqual(says(listed), Array(2).fill("ok: reachable directly, as NO_PROXY says"));
      assert.deepEqual(says(unlisted), Array(2).fill("ok: reachable through the proxy"));
    });

    const wrong = [
      {
        list: "0.0.0.0",
        name: "proxied",
        detail: "NO_PROXY lists it, but it is reachable only through the proxy: directly, it answered 403",
        hint: "remove it from NO_PROXY",
      },
      {
        list: "0.0.0.0",
        name: "neither",
        detail:
          "NO_PROXY lists it, but it is unreachable with and without the proxy: directly, it answered 403",
      },
      {
        list: "",
        name: "direct",
        detail:
          "NO_PROXY does not list it, but it is reachable only directly: through the proxy, it answered 403",
        hint: "add it to NO_PROXY",
      },
      {
        list: "",
        name: "neither",
        detail:
          "NO_PROXY does not list it, and it is unreachable with and without the proxy: through the proxy, it answered 403",
      },
    ];
    for (const { list, name, detail, hint } of wrong) {
      await t.step(`${list === "" ? "not listed" : "listed"}, /${name}: ${hint ?? "no hint"}`, async () => {
        const { code, found } = await doctor(list, [name]);
        assert.equal(code, 7);
        const expected = { name: `proxy for ${page(name)}`, state: "failed", detail };
        assert.deepEqual(found, [hint === undefined ? expected : { ...expected, hint }]);
      });
    }

    await t.step("a wrong proxy password appears as its status code", async () => {
      const { found } = await doctor("", ["both"], { HTTP_PROXY: `http://me:hunter3@${proxy.address}` });
      assert.match(found[0]?.detail ?? "", /reachable only directly: through the proxy, it answered 40[17]$/);
    });

    await t.step("without a proxy variable, postern skips the check", async () => {
      const { code, found } = await doctor("", ["both"], { HTTP_PROXY: "" });
      assert.equal(code, 0);
      assert.deepEqual(found.map(({ state }) => state), ["skipped"]);
    });
  },
  // Other platforms have only one loopback address.
  { platforms: ["linux"] },
);
