import { malformed } from "../decoder.ts";
import {
  sealWebSocketFrame,
  type WebSocketEffect,
  webSocketFrameRoom,
  webSocketOpcodes,
} from "./websocket.ts";

// One forward over a WebSocket (subprotocol v4.channel.k8s.io): every message begins with its channel, 0 for
// data and 1 for errors. The server's first message on each channel contains the port in two bytes,
// little-endian.

/** An event of one forward. */
export type V4Effect =
  | { readonly kind: "data" | "error"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** The server sends nothing more. */
  | { readonly kind: "ended"; readonly code: number; readonly reason: string }
  | { readonly kind: "ping" | "pong"; readonly bytes: Uint8Array<ArrayBuffer> };

/** Converts effects of the WebSocket to effects of the forward; messages may arrive in any number of parts. */
export class PortForwardV4 {
  /** The channel of the incomplete message; undefined before its first byte. */
  #channel: number | undefined;
  /** The missing bytes of the port, per channel. */
  readonly #portLeft = [2, 2];

  receive(effect: WebSocketEffect): V4Effect[] {
    if (effect.kind === "close") return [{ kind: "ended", code: effect.code, reason: effect.reason }];
    if (effect.kind !== "data") return [effect];
    if (effect.isText) throw malformed("a port-forward sent a text message");
    if (effect.isStart) this.#channel = undefined;
    let { bytes } = effect;
    if (this.#channel === undefined) {
      const [channel] = bytes;
      if (channel === undefined) return [];
      if (channel > 1) throw malformed(`a port-forward uses the unknown channel ${channel}`);
      this.#channel = channel;
      bytes = bytes.subarray(1);
    }
    bytes = this.#withoutPort(this.#channel, bytes);
    return bytes.length > 0 ? [{ kind: this.#channel === 0 ? "data" : "error", bytes }] : [];
  }

  #withoutPort(channel: number, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const left = this.#portLeft[channel] ?? 0;
    if (left === 0) return bytes;
    const count = Math.min(left, bytes.length);
    this.#portLeft[channel] = left - count;
    return bytes.subarray(count);
  }
}

export function v4Data(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(webSocketFrameRoom + 1 + bytes.length);
  message.set(bytes, webSocketFrameRoom + 1);
  return sealWebSocketFrame(message, webSocketOpcodes.binary);
}
