import assert from "node:assert/strict";
import { PosternError } from "../../src/words/mod.ts";
import type { SshHost } from "../../src/ssh/mod.ts";
import type { RawClient } from "../support/raw_client.ts";
import { SshTransports } from "../support/ssh_transports.ts";
import { TargetServer } from "../support/target_server.ts";
import { sshHost } from "../support/ssh_host.ts";

const signal = new AbortController().signal;
const target = { host: "127.0.0.1", port: 1 };

const hostAt = (port: number, more: Partial<SshHost> = {}) =>
  sshHost("strange", { port, connectTimeout: 700, ...more });

/** A packet without encryption (RFC 4253, section 6), with any payload. */
function packet(payload: Uint8Array, { length }: { length?: number } = {}): Uint8Array {
  const padding = 8 + (8 - (payload.length + 5) % 8) % 8;
  const bytes = new Uint8Array(5 + payload.length + padding);
  new DataView(bytes.buffer).setUint32(0, length ?? bytes.length - 4);
  bytes[4] = padding;
  bytes.set(payload, 5);
  return bytes;
}

const text = (words: string) => new TextEncoder().encode(words);
const field = (words: string) => Uint8Array.of(0, 0, 0, words.length, ...text(words));
const name = "SSH-2.0-strange\r\n";

async function pause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20));
}

const servers: readonly {
  name: string;
  serve: (client: RawClient) => Promise<void>;
  codes: readonly string[];
  says?: RegExp;
}[] = [
  {
    name: "sends line after line but never its version",
    serve: async (client) => {
      while (true) await client.send("Welcome, dear guest, to this place of many words\r\n".repeat(1000));
    },
    codes: ["protocol", "timeout"],
  },
  {
    name: "sends its version one letter at a time",
    serve: async (client) => {
      for (const letter of "SSH-2.0-slow and slower and slower and slower and slower and slower") {
        await client.send(letter);
        await pause();
      }
      while (true) {
        await client.send("x");
        await pause();
      }
    },
    codes: ["protocol", "timeout"],
  },
  {
    name: "claims a packet of four gigabytes",
    serve: async (client) => {
      await client.send(name);
      await client.send(packet(Uint8Array.of(20), { length: 0xffff_ffff }));
      while (true) await client.send(new Uint8Array(64 * 1024));
    },
    codes: ["protocol"],
  },
  {
    name: "claims an empty packet",
    serve: async (client) => {
      await client.send(name);
      await client.send(packet(Uint8Array.of(20), { length: 0 }));
      while (await client.some());
    },
    codes: ["protocol"],
  },
  {
    name: "starts with an unexpected message",
    serve: async (client) => {
      await client.send(name);
      // SSH_MSG_USERAUTH_SUCCESS before the key exchange must not sign in the client.
      await client.send(packet(Uint8Array.of(52)));
      while (await client.some());
    },
    codes: ["protocol", "timeout"],
  },
  {
    name: "lists unknown algorithms",
    serve: async (client) => {
      await client.send(name);
      const lists = Array.from({ length: 10 }, () => [...field("strange-algorithm")]).flat();
      await client.send(packet(Uint8Array.of(20, ...new Uint8Array(16), ...lists, 0, 0, 0, 0, 0)));
      while (await client.some());
    },
    codes: ["protocol"],
    says: /no matching/i,
  },
  {
    name: "disconnects with terminal sequences in its message",
    serve: async (client) => {
      await client.send(name);
      const words = field("go\x1b[2Jaway\r\n");
      await client.send(packet(Uint8Array.of(1, 0, 0, 0, 2, ...words, 0, 0, 0, 0)));
      while (await client.some());
    },
    codes: ["unreachable"],
    says: /the server disconnected \(go\?\[2Jaway\?\?\)/,
  },
  {
    name: "sends ignore packets endlessly",
    serve: async (client) => {
      await client.send(name);
      const ignored = packet(Uint8Array.of(2, 0, 0, 0, 0));
      const many = new Uint8Array(ignored.length * 1000);
      for (let at = 0; at < many.length; at += ignored.length) many.set(ignored, at);
      while (true) await client.send(many);
    },
    codes: ["protocol", "timeout"],
  },
];

for (const { name, serve, codes, says } of servers) {
  Deno.test(`a jump host that ${name} causes a timely error, and uses little memory`, async () => {
    await using server = new TargetServer(serve);
    await using ssh = new SshTransports([hostAt(server.port)]);
    const before = Deno.memoryUsage().rss;
    const startedAt = performance.now();
    const error = await ssh.to("strange").dial(target, { signal }).then(() => undefined, (error) => error);
    const took = performance.now() - startedAt;
    assert.ok(error instanceof PosternError, String(error));
    assert.ok(codes.includes(error.code), `${error.code}: ${error.message}`);
    assert.match(error.message, /ssh strange/);
    if (says) assert.match(error.message, says);
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(error.message, /[\x00-\x1f]/);
    assert.ok(took < 3000, `${took} ms`);
    const more = (Deno.memoryUsage().rss - before) / 1e6;
    assert.ok(more < 100, `${more} MB`);
  });
}
