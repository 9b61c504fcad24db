import { PosternError } from "../../words/mod.ts";
import {
  webSocketClientFrame,
  webSocketClosePayload,
  webSocketOpcodes,
  WebSocketReader,
} from "../../wire/mod.ts";

/** The framing around SPDY: none, or WebSocket messages. */
export interface ForwardFraming {
  /** Returns the SPDY bytes in the server's data, in chunks; includes those that precede a close. */
  receive(bytes: Uint8Array<ArrayBuffer>): Iterable<Uint8Array<ArrayBuffer>>;
  /** The closing bytes for the server, if SPDY itself does not send them. */
  readonly farewell: Uint8Array<ArrayBuffer> | undefined;
}

export const plainFraming: ForwardFraming = { receive: (bytes) => [bytes], farewell: undefined };

/** SPDY inside WebSocket messages, split at any byte. */
export class WebSocketFraming implements ForwardFraming {
  readonly #reader = new WebSocketReader("client");
  readonly #pong: (frame: Uint8Array<ArrayBuffer>) => void;

  /** `pong` sends the replies to the server's pings. */
  constructor(pong: (frame: Uint8Array<ArrayBuffer>) => void) {
    this.#pong = pong;
  }

  get farewell(): Uint8Array<ArrayBuffer> {
    const payload = webSocketClosePayload(1000);
    return webSocketClientFrame(webSocketOpcodes.close, payload.length, (into) => into.set(payload));
  }

  *receive(bytes: Uint8Array<ArrayBuffer>): Generator<Uint8Array<ArrayBuffer>, void> {
    for (const effect of this.#reader.receive(bytes)) {
      if (effect.kind === "data") {
        if (effect.isText) {
          throw new PosternError(
            "protocol",
            "Cannot read the port-forward: the API server sends text messages",
          );
        }
        yield effect.bytes;
      } else if (effect.kind === "ping") {
        const { bytes } = effect;
        const fill = (into: Uint8Array) => into.set(bytes);
        this.#pong(webSocketClientFrame(webSocketOpcodes.pong, bytes.length, fill));
      } else if (effect.kind === "close") {
        const why = `${effect.code}${effect.reason === "" ? "" : ` ${effect.reason}`}`;
        throw new PosternError(
          "unreachable",
          `Cannot keep the port-forward: the API server closed the WebSocket: ${why}`,
          {
            detail: "reset",
          },
        );
      }
    }
  }
}
