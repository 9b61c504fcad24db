import assert from "node:assert/strict";
import { learnAuthority, trustedAuthority } from "../../../../src/kube/mod.ts";
import type { Conn } from "../../../../src/core/mod.ts";
import { isPosternError, PosternError } from "../../../../src/words/mod.ts";
import type { SecureOptions, ShownCertificate } from "../../../../src/world/mod.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const { signal } = new AbortController();
const api = new URL("https://api.c-a.example.net:6443");
const pemOf = (text: string) => `-----BEGIN CERTIFICATE-----\n${btoa(text)}\n-----END CERTIFICATE-----\n`;
const [leaf, authority, other] = [pemOf("leaf"), pemOf("authority"), pemOf("other")];

/** An API server whose certificate is signed by `signer`, and the chain that it sends. */
class Server {
  readonly memory = new MemoryWorld();
  signer = authority;
  chain: readonly ShownCertificate[] = [
    { pem: leaf, isAuthority: false },
    { pem: authority, isAuthority: true },
  ];
  /** Whether the system trusts the certificate. */
  isKnown = false;
  dialled = 0;

  learn() {
    const { memory } = this;
    const network = Object.assign(Object.create(memory.network), {
      secure: (conn: Conn, options: SecureOptions) => Promise.resolve(this.#shake(conn, options)),
    });
    const world = { clock: memory.clock, files: memory.files, places: memory.places, network };
    const dial = () => {
      this.dialled++;
      return Promise.resolve(memoryPair()[0]);
    };
    return learnAuthority(api, { world, dial }, { signal });
  }

  trusted() {
    return trustedAuthority(this.memory, api);
  }

  #shake(conn: Conn, { trust = "system", ca, onChain, serverName }: SecureOptions): Conn {
    assert.equal(serverName, "api.c-a.example.net");
    const isSigned = trust === "any" || ca === this.signer || (trust === "system" && this.isKnown);
    if (!isSigned) throw new PosternError("auth", "Cannot trust it");
    onChain?.(this.chain);
    return conn;
  }
}

Deno.test("learnAuthority() trusts the authority of an API server on first use, and returns its fingerprint", async () => {
  const server = new Server();
  assert.equal(await server.trusted(), undefined);
  const learnt = await server.learn();
  assert.equal(learnt?.pem, authority);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("authority")));
  const hex = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join(":").toUpperCase();
  assert.equal(learnt?.fingerprint, hex);
  assert.equal(await server.trusted(), authority);
  assert.equal(await server.learn(), undefined);
});

Deno.test("learnAuthority() stores nothing if the system trusts the API server", async () => {
  const server = new Server();
  server.isKnown = true;
  assert.equal(await server.learn(), undefined);
  assert.equal(await server.trusted(), undefined);
});

Deno.test("learnAuthority() refuses another authority later, even if the system trusts it", async () => {
  const server = new Server();
  await server.learn();
  server.signer = other;
  server.isKnown = true;
  server.chain = [{ pem: other, isAuthority: true }];
  await assert.rejects(server.learn(), (error) => {
    assert.ok(isPosternError(error, "auth"));
    assert.match(error.hint ?? "", /remove "\/state\/first-use\/api\.c-a\.example\.net_6443\.pem"$/);
    return true;
  });
  assert.equal(await server.trusted(), authority);
});

const unusable: readonly { name: string; chain: readonly ShownCertificate[] }[] = [
  { name: "nothing", chain: [] },
  { name: "only its own certificate", chain: [{ pem: leaf, isAuthority: false }] },
  { name: "an authority that did not sign it", chain: [{ pem: other, isAuthority: true }] },
];
for (const { name, chain } of unusable) {
  Deno.test(`learnAuthority() trusts no server that sends ${name}`, async () => {
    const server = new Server();
    server.chain = chain;
    await assert.rejects(server.learn(), (error) => isPosternError(error, "auth"));
    assert.equal(await server.trusted(), undefined);
  });
}
