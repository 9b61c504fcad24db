import assert from "node:assert/strict";
import { below, earlierVersions, moveIn } from "../support/earlier_home.ts";
import { DistantCompany, goOn, known } from "../support/lived_home.ts";
import { signInTurn } from "../support/sign_in_port.ts";
import { freePort } from "../support/peer_program.ts";
import { Household } from "../support/postern_process.ts";

for (const version of earlierVersions()) {
  Deno.test(`postern reads and uses the files of postern ${version}`, async () => {
    await using company = await DistantCompany.open();
    await using home = await Household.open();
    const before = await moveIn(home, version);
    const ports = { port: freePort(), dns: freePort() };
    await home.configure(company.configuration(ports));
    const stored = await storedForms(home);
    await using instance = home.start(["proxy"]);
    await instance.ready;
    assert.deepEqual(await known(home, ports), before);
    await goOn(home, company);
    assert.deepEqual(company.lieutenant.tokens, [stored.token]);
    assert.match(await Deno.readTextFile(`${home.directory}/.kube/config`), /^current-context: "?c-one"?$/m);
    assert.equal((await home.run(["stop"])).code, 0);
    assert.equal((await instance.ended).code, 0, instance.stderr);
    // postern set no file aside, and the older version can still read the files.
    assert.deepEqual(await storedForms(home), stored);
  });
}

/** The format markers of the stored files. */
async function storedForms({ places }: Household) {
  const json = async (path: string) => JSON.parse(await Deno.readTextFile(path));
  const [tokens = ""] = [...Deno.readDirSync(`${places.cache}/tokens`)].map(({ name }) => name);
  const { version, idToken } = await json(`${places.cache}/tokens/${tokens}`);
  using kv = await Deno.openKv(`${places.cache}/catalogue/catalogue.kv`);
  const { value } = await kv.get<Uint8Array>(["format"]);
  const [heading] = (await Deno.readTextFile(`${places.state}/dns/default.addresses`)).split("\n", 1);
  const files = (await Array.fromAsync(below(places.cache))).filter((path) =>
    !/lock$|-shm$|-wal$/.test(path)
  );
  return {
    catalogue: new TextDecoder().decode(value ?? undefined),
    copy: (await json(`${places.cache}/catalogue/snapshot.json`)).format,
    tokens: version,
    token: idToken,
    heading,
    files: files.sort(),
  };
}

Deno.test("postern reports the files of a newer version and does not change them", async (t) => {
  const [version = ""] = earlierVersions();
  await using company = await DistantCompany.open();
  await using home = await Household.open();
  await moveIn(home, version);
  await home.configure(company.configuration({ port: freePort(), dns: freePort() }));
  await makeNewer(home);
  const left = await everything(home);
  const sentence =
    /^postern: error: Cannot use "[^"]+catalogue\.kv": a newer postern wrote it \(format 99\)\npostern: hint: use the newer postern, or fetch the catalogue again with this one: postern update\n$/;
  for (const args of [["clusters"], ["kubeconfig"], ["proxy"]]) {
    await t.step(args.join(" "), async () => {
      const { code, stdout, stderr } = await home.run(args);
      assert.deepEqual([code, stdout], [4, ""]);
      assert.match(stderr, sentence);
      assert.deepEqual(await everything(home), left);
    });
  }
  await t.step("postern ignores an unreadable sign-in and keeps it", async () => {
    const { code, stderr } = await home.run(["update", "--no-sign-in"]);
    assert.equal(code, 5, stderr);
    assert.match(stderr, /cache_ignored file=\S+ reason="a newer postern wrote it"/);
    assert.match(stderr, /postern: error: Cannot sign in at \S+: the sign-in needs a user at a terminal\n/);
    assert.deepEqual(await everything(home), left);
  });
  await t.step(
    "a new sign-in works, and postern keeps the store of the newer version",
    async () => {
      using _turn = await signInTurn();
      await company.signIn(home.start(["login"], { env: { POSTERN_BROWSER: "true" } }));
      const { code, stderr } = await home.run(["update"]);
      assert.equal(code, 0, stderr);
      const [, aside = ""] = /postern renamed it to "([^"]+)" and created a new store\n$/.exec(stderr) ?? [];
      using kept = await Deno.openKv(aside);
      const { value } = await kept.get<Uint8Array>(["format"]);
      assert.equal(new TextDecoder().decode(value ?? undefined), "99");
      assert.equal((await home.run(["clusters"])).code, 0);
    },
  );
});

/** Every file of the cache and state directories. */
async function everything({ places }: Household): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const directory of [places.cache, places.state]) {
    for await (const path of below(directory)) {
      // SQLite's temporary files, and locks.
      if (/lock$|-shm$|-wal$/.test(path)) continue;
      found[path] = (await Deno.readFile(`${directory}/${path}`)).toBase64();
    }
  }
  return found;
}

/** Changes the format markers to those of a later version. */
async function makeNewer({ places }: Household): Promise<void> {
  const change = async (path: string, key: string) => {
    const content = JSON.parse(await Deno.readTextFile(path));
    await Deno.writeTextFile(path, JSON.stringify({ ...content, [key]: 99 }));
  };
  const [tokens = ""] = [...Deno.readDirSync(`${places.cache}/tokens`)].map(({ name }) => name);
  await change(`${places.cache}/tokens/${tokens}`, "version");
  await change(`${places.cache}/catalogue/snapshot.json`, "format");
  using kv = await Deno.openKv(`${places.cache}/catalogue/catalogue.kv`);
  await kv.set(["format"], new TextEncoder().encode("99"));
}
