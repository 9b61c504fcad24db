import assert from "node:assert/strict";
import { PacketTunnel } from "../../src/konnectivity/packet_tunnel.ts";
import { ForwardStream } from "../../src/kube/forward/forward_stream.ts";
import type { MuxStream } from "../../src/mux/mod.ts";
import { type ChannelLink, firstWindow, SshChannel } from "../../src/ssh/session/ssh_channel.ts";
import { FakeClock } from "../support/fake_clock.ts";

/** A stream, and its messages to the peer. */
interface Carried {
  readonly stream: MuxStream;
  /** The number of bytes of each message, or "end" or "over". */
  readonly said: (number | "end" | "over")[];
  /** The number of bytes before the writer has to wait. */
  readonly room: number;
  /** Lets the writer continue. */
  makeRoom(): void;
}

const room = 1000;

function sshChannel(): Carried {
  const said: Carried["said"] = [];
  const link: ChannelLink = {
    sendData: (_, { length }) => void said.push(length),
    sendWindow: () => {},
    sendEnd: () => void said.push("end"),
    sendClose: () => void said.push("over"),
    room: () => undefined,
    now: () => 0,
    roundTrip: undefined,
    share: undefined,
  };
  const terms = { peer: "target", remote: 0, window: room, packetSize: 400, receives: firstWindow };
  const stream = new SshChannel(link, terms);
  return { stream, said, room, makeRoom: () => stream.onWindow(room) };
}

function forwardStream(): Carried {
  const said: Carried["said"] = [];
  let sent = 0;
  let waiting: PromiseWithResolvers<void> | undefined;
  const stream = new ForwardStream({
    send: ({ length }) => {
      said.push(length);
      sent += length;
    },
    sendEnd: () => void said.push("end"),
    sendReset: () => {},
    room: () => sent < part ? undefined : (waiting ??= Promise.withResolvers()).promise,
    onTaken: () => {},
    onOver: () => void said.push("over"),
  }, { peer: "shop/web-0:80" });
  const makeRoom = () => {
    sent = 0;
    waiting?.resolve();
    waiting = undefined;
  };
  return { stream, said, room: part, makeRoom };
}

/** The maximum size of a port-forward's frame in bytes. */
const part = 256 * 1024;

function packetTunnel(sending: () => Promise<void> = () => Promise.resolve()): Carried {
  const said: Carried["said"] = [];
  const stream: PacketTunnel = new PacketTunnel(1n, {
    stream: {
      isPostern: true,
      isSending: false,
      reset: () => assert.fail("the stream is shared"),
      send: (packet) => {
        if (packet.type === "data") said.push(packet.data.length);
        else if (packet.type === "end") said.push("end");
        return packet.type === "data" ? sending() : Promise.resolve();
      },
    },
    clock: new FakeClock(),
    side: "dialing",
    isShared: true,
    forget: () => void said.push("over"),
  }, "server");
  return { stream, said, room: 1 << 20, makeRoom: () => stream.onWindow(1 << 20) };
}

const implementations = { SshChannel: sshChannel, ForwardStream: forwardStream, PacketTunnel: packetTunnel };

for (const [name, make] of Object.entries(implementations)) {
  const check = (promise: string, body: (carried: Carried) => Promise<void>) =>
    Deno.test(`${name} ${promise}`, () => body(make()));

  check("sends the bytes that fit, and the rest when there is room", async (it) => {
    const writing = it.stream.write(new Uint8Array(it.room + 10));
    await settled();
    assert.equal(sumOf(it), it.room);
    it.makeRoom();
    await writing;
    assert.equal(sumOf(it), it.room + 10);
  });

  check("sends no message for an empty write", async (it) => {
    await it.stream.write(new Uint8Array(0));
    assert.deepEqual(it.said, []);
  });

  check("fails a waiting write on abort", async (it) => {
    const reason = new Error("enough");
    const writing = assert.rejects(it.stream.write(new Uint8Array(it.room + 1)), reason);
    await settled();
    it.stream.abort(reason);
    await writing;
  });

  check("fails a waiting write when its session is lost", async (it) => {
    const lost = new Error("lost");
    const writing = assert.rejects(it.stream.write(new Uint8Array(it.room + 1)), lost);
    await settled();
    it.stream.onFailure(lost);
    await writing;
  });

  check("fails a write after its own end, and sends the end once", async (it) => {
    await it.stream.closeWrite();
    await it.stream.closeWrite();
    await assert.rejects(it.stream.write(new Uint8Array(1)), /after the end/);
    assert.deepEqual(it.said, ["end"]);
  });

  check("fails a write after the peer has closed both directions", async (it) => {
    it.stream.onClose();
    await assert.rejects(it.stream.write(new Uint8Array(1)), { code: "unreachable", detail: "reset" });
    assert.equal(await it.stream.read(new Uint8Array(1)), null);
  });

  check("returns the bytes received before its session was lost, and then the failure", async (it) => {
    const lost = new Error("lost");
    it.stream.onData(new Uint8Array(3));
    it.stream.onFailure(lost);
    assert.equal(await it.stream.read(new Uint8Array(8)), 3);
    await assert.rejects(it.stream.read(new Uint8Array(8)), lost);
    await assert.rejects(it.stream.write(new Uint8Array(1)), lost);
  });

  check("keeps its end for the reader when its session is lost later", async (it) => {
    it.stream.onEnd();
    it.stream.onFailure(new Error("lost"));
    assert.equal(await it.stream.read(new Uint8Array(1)), null);
  });

  check("drops its bytes on abort and accepts no more", async (it) => {
    const reason = new Error("enough");
    it.stream.onData(new Uint8Array(3));
    it.stream.abort(reason);
    it.stream.onData(new Uint8Array(3));
    it.stream.onEnd();
    assert.equal(it.stream.held, 0);
    await assert.rejects(it.stream.read(new Uint8Array(1)), reason);
  });

  check("is over exactly once", async (it) => {
    it.stream.onEnd();
    await it.stream.closeWrite();
    await it.stream[Symbol.asyncDispose]();
    await it.stream[Symbol.asyncDispose]();
    it.stream.onClose();
    it.stream.onFailure(new Error("lost"));
    it.stream.abort(new Error("enough"));
    await settled();
    assert.deepEqual(it.said, ["end", "over"]);
  });

  check("is over when disposed with both directions open", async (it) => {
    await it.stream[Symbol.asyncDispose]();
    await settled();
    assert.deepEqual(it.said, ["over"]);
    await assert.rejects(it.stream.read(new Uint8Array(1)), { code: "cancelled" });
    await assert.rejects(it.stream.write(new Uint8Array(1)), { code: "cancelled" });
  });
}

Deno.test("PacketTunnel fails a write on abort while its packet waits for the stream", async () => {
  const reason = new Error("enough");
  const { stream } = packetTunnel(() => Promise.withResolvers<void>().promise);
  const writing = assert.rejects(stream.write(new Uint8Array(1)), reason);
  await settled();
  stream.abort(reason);
  await writing;
});

function sumOf({ said }: Carried): number {
  return said.reduce<number>((sum, one) => sum + (typeof one === "number" ? one : 0), 0);
}

/** Waits until all handlers of resolved promises have run. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
}
