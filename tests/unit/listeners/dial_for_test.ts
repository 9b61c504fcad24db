import assert from "node:assert/strict";
import type { Dial, Dialed } from "../../../src/core/mod.ts";
import { isPosternError } from "../../../src/words/mod.ts";
import { serveMixed } from "../../../src/listeners/mod.ts";
import { settle } from "../../support/fake_clock.ts";
import { bytesOf, FakeDial, fromHex, readExactly, serveClient, toHex } from "../../support/fake_dial.ts";
import { readAll } from "../../support/memory_conn.ts";

/** Dials that end on request. */
class SlowDial {
  readonly #quick = new FakeDial();
  readonly #asked = Promise.withResolvers<void>();
  readonly #connected = Promise.withResolvers<Dialed>();
  signal: AbortSignal | undefined;
  #connect: () => Promise<Dialed> = () => Promise.reject(new Error("no dial has started"));

  readonly dial: Dial = (request, options) => {
    this.signal = options.signal;
    this.#connect = () => this.#quick.dial(request, options);
    options.signal.addEventListener("abort", () => this.#connected.reject(options.signal.reason));
    this.#asked.resolve();
    return this.#connected.promise;
  };

  /** Resolves when a dial has started. */
  get asked(): Promise<void> {
    return this.#asked.promise;
  }

  /** Lets the dial succeed; returns the target's side. */
  async connect() {
    this.#connected.resolve(await this.#connect());
    return (await this.#quick.nth(0)).target;
  }
}

const toName = `0501000309 ${toHex(bytesOf("a.example"))} 01bb`;
const requests = [
  { name: "SOCKS5", asks: [fromHex("050100"), fromHex(toName)], answers: 12 },
  { name: "SOCKS4", asks: [fromHex("04010050c000020100")], answers: 8 },
  { name: "CONNECT", asks: [bytesOf("CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n")], answers: 39 },
];
const plain = { name: "absolute form", asks: [bytesOf("GET http://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n")] };

async function asking({ asks }: { readonly asks: readonly Uint8Array<ArrayBuffer>[] }) {
  const dials = new SlowDial();
  const world = serveClient(serveMixed, { dial: dials.dial });
  for (const bytes of asks) await world.client.write(bytes);
  await dials.asked;
  return { ...world, slow: dials };
}

for (const request of [...requests, plain]) {
  Deno.test(`a reset by the client cancels a long dial (${request.name})`, async () => {
    const { client, served, clock, slow } = await asking(request);
    await clock.advance(1000);
    assert.equal(slow.signal?.aborted, false);
    client.abort(new Error("reset"));
    await served;
    assert.ok(isPosternError(slow.signal?.reason, "cancelled"));
    assert.equal(slow.signal?.reason.message, "The client closed the connection");
    assert.equal(clock.waiting, 0);
  });

  Deno.test(`dropping a client cancels its dial (${request.name})`, async () => {
    const { served, slow, stop } = await asking(request);
    const reason = new Error("enough");
    stop.abort(reason);
    await served;
    assert.equal(slow.signal?.reason, reason);
  });
}

for (const request of requests) {
  for (const late of [0, 1, 20_000]) {
    Deno.test(`bytes that a client sends during a long dial are kept, ${late} bytes and the end (${request.name})`, async () => {
      const { client, served, clock, slow } = await asking(request);
      await client.write(bytesOf("early"));
      await clock.advance(1000);
      const sent = new Uint8Array(late).fill(7);
      await client.write(sent);
      await client.closeWrite();
      await settle();
      assert.equal(slow.signal?.aborted, false);
      const target = await slow.connect();
      const heard = await readAll(target);
      assert.deepEqual(heard, new Uint8Array([...bytesOf("early"), ...sent]));
      await target.write(bytesOf("answer"));
      await target.closeWrite();
      await readExactly(client, request.answers);
      assert.deepEqual(await readAll(client), bytesOf("answer"));
      await served;
    });
  }

  Deno.test(`bytes sent after a long dial follow the earlier ones (${request.name})`, async () => {
    const { client, served, clock, slow } = await asking(request);
    await clock.advance(1000);
    const target = await slow.connect();
    await readExactly(client, request.answers);
    for (const text of ["one", "two", "three"]) {
      await client.write(bytesOf(text));
      assert.deepEqual(await readExactly(target, text.length), bytesOf(text));
    }
    await client.closeWrite();
    assert.deepEqual(await readAll(target), new Uint8Array());
    await target[Symbol.asyncDispose]();
    await served;
  });
}

Deno.test("a short dial does not read from the client", async () => {
  const dials = new SlowDial();
  const world = serveClient(serveMixed, { dial: dials.dial, capacity: 64 });
  await world.client.write(fromHex("04010050c000020100"));
  await dials.asked;
  await world.clock.advance(999);
  await world.client.write(new Uint8Array(64));
  let isTaken = false;
  const more = world.client.write(new Uint8Array(1)).then(() => isTaken = true);
  await settle();
  assert.equal(isTaken, false);
  await world.clock.advance(1);
  await more;
  const target = await dials.connect();
  assert.deepEqual(await readExactly(target, 65), new Uint8Array(65));
  await world.client[Symbol.asyncDispose]();
  await target[Symbol.asyncDispose]();
  await world.served;
});

Deno.test("a client that sends a lot during a long dial gets backpressure", async () => {
  const dials = new SlowDial();
  const world = serveClient(serveMixed, { dial: dials.dial, capacity: 1000 });
  await world.client.write(fromHex("04010050c000020100"));
  await dials.asked;
  await world.clock.advance(1000);
  let sent = 0;
  const sending = (async () => {
    for (; sent < 100_000; sent += 1000) await world.client.write(new Uint8Array(1000));
    await world.client.closeWrite();
  })();
  for (let turn = 0; turn < 50; turn++) await settle();
  assert.ok(sent >= 16_000 && sent <= 20_000, `${sent} bytes were read`);
  const target = await dials.connect();
  const answered = readExactly(world.client, 8);
  assert.equal((await readAll(target)).length, 100_000);
  await answered;
  await sending;
  await target[Symbol.asyncDispose]();
  await world.served;
});
