import assert from "node:assert/strict";
import { type Conn, Messages } from "../../src/core/mod.ts";
import type { Target } from "../../src/words/mod.ts";
import {
  decodeSocks5Datagram,
  decodeSocks5Reply,
  encodeSocks5Datagram,
  encodeSocks5Request,
  socks5Commands,
} from "../../src/wire/mod.ts";
import { settle } from "./fake_clock.ts";
import { bytesOf } from "./fake_dial.ts";
import { type RunningInstance, startInstance, take } from "./memory_instance.ts";
import type { MemoryDatagrams } from "./memory_network.ts";
import { MemoryWorld } from "./memory_world.ts";
import type { LoggedLine } from "./recording_log.ts";

const { signal } = new AbortController();
const text = new TextDecoder();
/** The configuration. */
export const configFile = "/config/config.yaml";
/** The address of the answering server. */
export const server = { host: "192.0.2.1", port: 53 };

/** What `openUdpLab` opened. */
export interface UdpLab {
  readonly world: MemoryWorld;
  readonly instance: RunningInstance;
  readonly answerer: AnsweringSocket;
  /** Stops everything; fails if a timer or a socket is left. */
  end(): Promise<void>;
}

/** A socket that answers, with the texts that it received. */
type AnsweringSocket = MemoryDatagrams & { readonly heard: string[] };

/** An instance in a memory world, and a server that answers each datagram in upper case. */
export async function openUdpLab(written: string): Promise<UdpLab> {
  const world = new MemoryWorld({ files: { [configFile]: written } });
  world.network.isPlaced = true;
  world.network.names.set("dns.example", ["192.0.2.1"]);
  const instance = await startInstance(world);
  const answerer = await serveUdp(world, server);
  return {
    world,
    instance,
    answerer,
    async end() {
      answerer.close();
      world.kill("SIGTERM");
      for (let turn = 0; turn < 40 && !instance.hasEnded(); turn++) {
        await settle();
        await world.clock.advance(600);
      }
      await instance.ended;
      assert.equal(world.clock.waiting, 0);
      assert.equal(world.network.openDatagrams, 0);
    },
  };
}

/** Answers each datagram in upper case. */
export async function serveUdp(
  { network }: MemoryWorld,
  at: Target,
): Promise<AnsweringSocket> {
  const socket = Object.assign(await network.datagrams(at), { heard: [] as string[] });
  void (async () => {
    for (let got; (got = await socket.receive());) {
      const heard = text.decode(got.bytes);
      socket.heard.push(heard);
      await socket.send(bytesOf(heard.toUpperCase()), got.from);
    }
  })();
  return socket;
}

/** A SOCKS5 client after its ASSOCIATE. */
export class UdpClient {
  readonly conn: Conn;
  readonly socket: MemoryDatagrams;
  readonly relay: Target;

  private constructor(conn: Conn, socket: MemoryDatagrams, relay: Target) {
    this.conn = conn;
    this.socket = socket;
    this.relay = relay;
  }

  static async associate(
    { network }: MemoryWorld,
    { host = "127.0.0.1", at = 1, port = 0 } = {},
  ): Promise<UdpClient | number> {
    const conn = await network.connect({ host, port: at }, { signal });
    const request = { command: socks5Commands.associate, target: { host: "0.0.0.0", port } };
    await conn.write(Uint8Array.of(5, 1, 0, ...encodeSocks5Request(request)));
    await take(conn, 2);
    const reply = await new Messages(conn).read(decodeSocks5Reply);
    assert(reply);
    if (reply.code !== 0) {
      await conn[Symbol.asyncDispose]();
      return reply.code;
    }
    return new UdpClient(conn, await network.datagrams({ host, port }), reply.bound);
  }

  static async open(world: MemoryWorld, options = {}): Promise<UdpClient> {
    const client = await UdpClient.associate(world, options);
    assert(client instanceof UdpClient, `reply ${client}`);
    return client;
  }

  async send(target: Target, data: string, fragment = 0): Promise<void> {
    const bytes = encodeSocks5Datagram(target, bytesOf(data));
    bytes[2] = fragment;
    await this.socket.send(bytes, this.relay);
    await settle();
  }

  /** Sends, and returns the answer with its source. */
  async ask(target: Target, data: string): Promise<string> {
    await this.send(target, data);
    const got = await this.socket.receive();
    const header = got && decodeSocks5Datagram(got.bytes);
    assert(got && header);
    assert.deepEqual(got.from, this.relay);
    const { target: { host, port } } = header.value;
    return `${text.decode(got.bytes.subarray(header.used))} from ${host}:${port}`;
  }

  async leave(): Promise<void> {
    await this.conn[Symbol.asyncDispose]();
    this.socket.close();
    await settle();
  }
}

/** The log lines of an event. */
export const lines = ({ lines }: RunningInstance, event: string): LoggedLine[] =>
  lines.filter((line) => line.event === event);

/** The logged refusals: `TARGET: REASON`. */
export function refusals(instance: RunningInstance): string[] {
  return lines(instance, "udp.refused").map((line) => `${line["target"]}: ${line["reason"]}`);
}
