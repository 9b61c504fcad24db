import assert from "node:assert/strict";
import {
  type ChannelLink,
  firstWindow,
  largestWindow,
  SshChannel,
} from "../../../../src/ssh/session/ssh_channel.ts";

const packet = 32 * 1024;

/** A channel to a server that sends as much as allowed, with a round trip of 100 ms. */
function channel({ share }: { readonly share?: () => number } = {}): {
  channel: SshChannel;
  /** How many bytes the server may send. */
  allowed: () => number;
  closes: () => number;
  fill: () => void;
  pass: (ms: number) => void;
} {
  let [now, allowed, closes] = [0, share?.() ?? firstWindow, 0];
  const link: ChannelLink = {
    sendData: () => {},
    sendWindow: (_, amount) => void (allowed += amount),
    sendEnd: () => {},
    sendClose: () => void closes++,
    room: () => undefined,
    now: () => now,
    roundTrip: 100,
    get share() {
      return share?.();
    },
  };
  const made = new SshChannel(link, {
    peer: "target",
    remote: 0,
    window: 1_000_000,
    packetSize: packet,
    receives: allowed,
  });
  return {
    channel: made,
    allowed: () => allowed,
    closes: () => closes,
    fill: () => {
      for (; allowed >= packet; allowed -= packet) made.onData(new Uint8Array(packet));
    },
    pass: (ms) => void (now += ms),
  };
}

async function readAll({ channel }: { channel: SshChannel }): Promise<void> {
  const into = new Uint8Array(256 * 1024);
  while (channel.held > 0) await channel.read(into);
}

Deno.test("SshChannel buffers at most one window without a reader, and returns it when dropped", () => {
  const { channel: it, allowed, closes, fill } = channel();
  fill();
  assert.deepEqual([it.held, allowed()], [firstWindow, 0]);
  it.abort();
  assert.deepEqual([it.held, closes()], [0, 1]);
  it.onData(new Uint8Array(packet));
  assert.equal(it.held, 0);
});

Deno.test("SshChannel grows its window while a fast reader waits for the network, up to a limit", async () => {
  const far = channel();
  let largest = 0;
  for (let round = 0; round < 20; round++) {
    far.fill();
    largest = Math.max(largest, far.channel.held);
    far.pass(100);
    await readAll(far);
  }
  assert.ok(largest > largestWindow * 0.9 && largest <= largestWindow, `${largest}`);
  far.fill();
  assert.ok(far.channel.held <= largestWindow);
  assert.ok(far.allowed() < packet, "the server may not exceed the window");
});

Deno.test("SshChannel keeps its window with a slow reader", async () => {
  const far = channel();
  for (let round = 0; round < 20; round++) {
    far.fill();
    assert.ok(far.channel.held <= firstWindow);
    far.pass(1000);
    await readAll(far);
  }
});

Deno.test("SshChannel keeps to its share of a common window, and returns to the full one", async () => {
  let share = firstWindow / 8;
  const shared = channel({ share: () => share });
  assert.equal(shared.allowed(), share);
  for (let round = 0; round < 5; round++) {
    shared.fill();
    assert.equal(shared.channel.held, share);
    await readAll(shared);
    assert.equal(shared.allowed(), share);
  }
  share /= 2;
  for (let round = 0; round < 5; round++) {
    shared.fill();
    await readAll(shared);
  }
  assert.equal(shared.allowed(), share);
  share = firstWindow;
  shared.fill();
  await readAll(shared);
  assert.equal(shared.allowed(), firstWindow);
});

Deno.test("SshChannel ends when the server far exceeds the window", async () => {
  const { channel: it, closes, fill } = channel();
  fill();
  for (let more = 0; more < 200; more++) it.onData(new Uint8Array(packet));
  assert.ok(it.held <= firstWindow * 1.1, `${it.held} bytes buffered`);
  assert.equal(closes(), 1);
  await assert.rejects(it.read(new Uint8Array(1)), { code: "protocol" });
});
