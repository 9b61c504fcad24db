import assert from "node:assert/strict";
import { firstWindow } from "../../../../src/ssh/session/ssh_channel.ts";
import { type ChannelEngine, SshChannels } from "../../../../src/ssh/session/ssh_channels.ts";
import { readExactly } from "../../../support/fake_dial.ts";

const { signal } = new AbortController();
const target = { host: "db.example", port: 5432 };
const packet = 32 * 1024;

/** A session whose channels share one window, with the bytes that the server may send on each. */
function session() {
  const allowed = new Map<number, number>();
  const none = () => {};
  const engine: ChannelEngine = {
    openTcp: (id, { window }) => void allowed.set(id, window),
    sendWindow: (id, amount) => void allowed.set(id, (allowed.get(id) ?? 0) + amount),
    sendData: none,
    sendEnd: none,
    sendClose: none,
    refuseChannel: none,
    refuseChannelRequest: none,
  };
  const channels = new SshChannels({
    label: "jump1",
    engine: () => engine,
    room: () => undefined,
    now: () => 0,
    roundTrip: () => 0,
    sharedWindow: () => firstWindow,
  });
  const connect = async () => {
    const id = allowed.size;
    const opened = channels.connect(target, { engine, signal });
    channels.handlers.CHANNEL_OPEN_CONFIRMATION(undefined, {
      recipient: id,
      sender: id,
      window: 1_000_000,
      packetSize: packet,
    });
    const conn = await opened;
    return {
      /** The server sends a packet, and the reader takes it. */
      async takes() {
        allowed.set(id, (allowed.get(id) ?? 0) - packet);
        channels.handlers.CHANNEL_DATA(undefined, id, new Uint8Array(packet));
        await readExactly(conn, packet);
      },
    };
  };
  const total = () => [...allowed.values()].reduce((sum, bytes) => sum + bytes, 0);
  return { connect, total };
}

Deno.test("SshChannels never lets 32 channels together receive more than the shared window", async () => {
  const { connect, total } = session();
  const channels = [];
  for (let count = 0; count < 32; count++) channels.push(await connect());
  assert.ok(total() <= firstWindow, `${total()} bytes`);
  for (let round = 0; round < 3; round++) {
    for (const channel of channels) await channel.takes();
    assert.ok(total() <= firstWindow, `${total()} bytes`);
  }
});

Deno.test("SshChannels gives a lone channel the whole shared window once it receives", async () => {
  const { connect, total } = session();
  const channel = await connect();
  await channel.takes();
  assert.equal(total(), firstWindow);
});
