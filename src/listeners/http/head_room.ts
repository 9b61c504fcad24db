import type { Decode } from "../../core/mod.ts";
import { headDecoders, Http1Problem, type RequestHead, type ResponseHead } from "../../wire/mod.ts";
import type { HeadLimits } from "../listener.ts";

/** The size of a head that needs no room, in bytes. */
export const freeHead = 64 * 1024;

/** A decoder with a share of the room, and the limit of its message. */
interface SharedDecode<T> extends Disposable {
  readonly decode: Decode<T>;
  readonly limit: number;
}

/**
 * The memory for large heads that are still arriving, shared by all clients and servers: slow ones could otherwise hold
 * a whole head on each of thousands of connections. The first 64 KiB of a head are free.
 */
export class HeadRoom {
  readonly #most: number;
  #used = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** The bytes in use. */
  get used(): number {
    return this.#used;
  }

  /** `decode` with a share of the room, which lasts until the disposal; `status` is that of a refusal. */
  share<T>(decode: Decode<T>, { limit, status }: { limit: number; status: 502 | 503 }): SharedDecode<T> {
    let held = 0;
    return {
      limit,
      decode: (bytes) => {
        const decoded = decode(bytes);
        const more = decoded ? 0 : bytes.length - freeHead - held;
        if (more > 0) {
          if (this.#used + more > this.#most) throw this.#full(status);
          this.#used += more;
          held += more;
        }
        return decoded;
      },
      [Symbol.dispose]: () => {
        this.#used -= held;
        held = 0;
      },
    };
  }

  #full(status: number): Http1Problem {
    return new Http1Problem(status, "Cannot buffer another large head", {
      reason: `incomplete heads already use ${this.#most >> 20} MiB`,
      hint: "retry later, or send a smaller head",
    });
  }
}

/** The room of this process. */
export const headRoom = new HeadRoom(32 * 1024 * 1024);

/** Reads one request head within its limits and the room. */
export function requestHead(limits: HeadLimits): SharedDecode<RequestHead> {
  return headRoom.share(headDecoders.request(limits), { limit: limits.head, status: 503 });
}

/** Reads one response head within its limits and the room. */
export function responseHead(limits: HeadLimits): SharedDecode<ResponseHead> {
  return headRoom.share(headDecoders.response(limits), { limit: limits.head, status: 502 });
}
