import { PosternError } from "../../words/mod.ts";
import {
  webSocketClientFrame,
  webSocketClosePayload,
  webSocketOpcodes,
  WebSocketReader,
} from "../../wire/mod.ts";

/** How SPDY is carried: as it is, or in the messages of a WebSocket. */
export interface ForwardFraming {
  /** What is SPDY of what the server said, in parts: what it said before it closed counts. */
  receive(bytes: Uint8Array<ArrayBuffer>): Iterable<Uint8Array<ArrayBuffer>>;
  /** Said to the server at the end, where it is not SPDY itself that says so. */
  readonly farewell: Uint8Array<ArrayBuffer> | undefined;
}

/** SPDY as it is. */
export const plainFraming: ForwardFraming = { receive: (bytes) => [bytes], farewell: undefined };

/** SPDY in the messages of a WebSocket, cut anywhere. */
export class WebSocketFraming implements ForwardFraming {
  readonly #reader = new WebSocketReader("client");
  readonly #pong: (frame: Uint8Array<ArrayBuffer>) => void;

  /** `pong` sends what the server wants to hear. */
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
        if (effect.isText) throw new PosternError("protocol", "Cannot read a port-forward: it is in text");
        yield effect.bytes;
      } else if (effect.kind === "ping") {
        const { bytes } = effect;
        const fill = (into: Uint8Array) => into.set(bytes);
        this.#pong(webSocketClientFrame(webSocketOpcodes.pong, bytes.length, fill));
      } else if (effect.kind === "close") {
        const why = `${effect.code}${effect.reason === "" ? "" : ` ${effect.reason}`}`;
        throw new PosternError("unreachable", `Cannot go on: the API server closed the WebSocket: ${why}`, {
          detail: "reset",
        });
      }
    }
  }
}
