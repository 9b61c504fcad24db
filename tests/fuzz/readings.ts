import { PortForwardV4, WebSocketReader } from "../../src/wire/mod.ts";
import { SpdySession } from "../../src/wire/spdy/spdy_session.ts";
import type { Bytes } from "./fuzz_target.ts";

/** A reader whose output is one line per event, with joined parts. */
export interface Reading {
  readonly receive: (bytes: Bytes) => readonly { readonly key: string; readonly bytes?: Uint8Array }[];
}

/** Returns the events of a reader for some pieces. */
export function readAll({ receive }: Reading, chunks: readonly Bytes[]): string[] {
  const lines: string[] = [];
  for (const chunk of chunks) {
    for (const { key, bytes } of receive(chunk)) {
      const hex = bytes ? bytes.toHex() : "";
      const last = lines.at(-1);
      if (bytes && last?.startsWith(`${key} `)) lines[lines.length - 1] = last + hex;
      else lines.push(`${key} ${hex}`);
    }
  }
  return lines;
}

/** A reader of WebSocket frames. */
export function webSocketReading(role: "client" | "server"): Reading {
  const reader = new WebSocketReader(role);
  let message = 0;
  return {
    receive: (bytes) =>
      reader.receive(bytes).map((effect) => {
        if (effect.kind === "close") return { key: `close ${effect.code} ${effect.reason}` };
        if (effect.kind !== "data") return { key: `${effect.kind} ${message}.${effect.bytes.toHex()}` };
        if (effect.isStart) message++;
        return { key: `${message}.${effect.isText}`, bytes: effect.bytes };
      }),
  };
}

/** A SPDY session; the client role has a few open streams. */
export function spdyReading(role: "client" | "server"): Reading {
  const session = new SpdySession(role);
  if (role === "client") { for (let index = 0; index < 4; index++) session.open([["port", "80"]]); }
  return {
    receive: (bytes) =>
      session.receive(bytes).map((effect) => {
        if (effect.kind === "data") return { key: `data ${effect.stream}`, bytes: effect.bytes };
        if (effect.kind === "opened") return { key: `opened ${JSON.stringify([...effect.headers])}` };
        return {
          key: JSON.stringify({ ...effect, ...("bytes" in effect && { bytes: effect.bytes.toHex() }) }),
        };
      }),
  };
}

/** A port-forward with v4.channel.k8s.io over a WebSocket. */
export function forwardReading(): Reading {
  const reader = new WebSocketReader("client");
  const forward = new PortForwardV4();
  return {
    receive: (bytes) =>
      reader.receive(bytes).flatMap((part) => forward.receive(part)).map((effect) =>
        effect.kind === "ended"
          ? { key: `ended ${effect.code} ${effect.reason}` }
          : { key: effect.kind, bytes: effect.bytes }
      ),
  };
}
