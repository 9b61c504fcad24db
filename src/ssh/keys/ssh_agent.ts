import { type Clock, type Conn, type Decode, Messages, whenAborted, within } from "../../core/mod.ts";
import type { Network } from "../../world/mod.ts";
import { PosternError, withContext } from "../../words/mod.ts";
import { SshReader, SshWriter } from "../session/ssh_writer.ts";

export interface SshAgentDeps {
  readonly network: Pick<Network, "connect">;
  readonly clock: Clock;
}

/** A key that an agent holds. */
export interface AgentKey {
  readonly blob: Uint8Array<ArrayBuffer>;
  readonly comment: string;
}

/**
 * A client of an ssh agent (draft-miller-ssh-agent). It opens the socket for each request, so that a
 * restarted agent or a new key is seen immediately.
 */
export class SshAgent {
  readonly path: string;
  readonly #deps: SshAgentDeps;

  constructor(path: string, deps: SshAgentDeps) {
    this.path = path;
    this.#deps = deps;
  }

  /** Returns the keys in the agent's order; rejects when the agent does not answer within two seconds. */
  async keys({ signal }: { readonly signal: AbortSignal }): Promise<AgentKey[]> {
    const { clock } = this.#deps;
    const error = () => new PosternError("timeout", `Cannot ask the ssh agent at ${this.path}: no answer`);
    const answer = await within(
      { clock, ms: listingTime, signal, error },
      (signal) => this.#ask(Uint8Array.of(requestIdentities), signal),
    );
    const reader = new SshReader(answer);
    const count = reader.byte() === identitiesAnswer ? reader.u32() : undefined;
    if (count === undefined) throw this.#nonsense("the agent does not list its keys");
    const keys: AgentKey[] = [];
    for (let at = 0; at < count; at++) {
      const blob = reader.string();
      const comment = reader.text();
      if (!blob || comment === undefined) throw this.#nonsense("the agent's list of keys is truncated");
      keys.push({ blob, comment });
    }
    return keys;
  }

  /** Signs with a key. The agent may ask the user to confirm, so only the signal limits the time. */
  async sign(
    blob: Uint8Array,
    data: Uint8Array,
    { algorithm, signal }: { readonly algorithm: string; readonly signal: AbortSignal },
  ): Promise<Uint8Array<ArrayBuffer>> {
    const message = new SshWriter().byte(signRequest).string(blob).string(data).u32(flags(algorithm)).bytes();
    const reader = new SshReader(await this.#ask(message, signal));
    const signature = reader.byte() === signResponse ? reader.string() : undefined;
    if (!signature) {
      throw new PosternError(
        "auth",
        `Cannot use a key of the ssh agent at ${this.path}: the agent refused to sign`,
        {
          hint: "unlock the agent (ssh-add -X), or confirm the use of the key (ssh-add -c)",
        },
      );
    }
    return signature;
  }

  async #ask(message: Uint8Array, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    await using conn = await this.#connect(signal);
    using _drop = whenAborted(signal, () => conn.abort(signal.reason));
    await conn.write(new SshWriter().string(message).bytes());
    const answer = await new Messages(conn, { limit: mostBytes }).read(decodeMessage);
    if (!answer) throw this.#nonsense("the agent closed the connection");
    return answer;
  }

  async #connect(signal: AbortSignal): Promise<Conn> {
    try {
      return await this.#deps.network.connect({ path: this.path }, { signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw withContext(`Cannot reach the ssh agent at ${this.path}`, error, {
        code: "auth",
        hint: "restart the agent, or select another one with IdentityAgent or SSH_AUTH_SOCK",
      });
    }
  }

  #nonsense(what: string): PosternError {
    return new PosternError("protocol", `Cannot use the ssh agent at ${this.path}: ${what}`);
  }
}

const listingTime = 2000;
/** OpenSSH's limit. */
const mostBytes = 256 * 1024;
const requestIdentities = 11;
const identitiesAnswer = 12;
const signRequest = 13;
const signResponse = 14;

function flags(algorithm: string): number {
  if (algorithm.startsWith("rsa-sha2-256")) return 2;
  return algorithm.startsWith("rsa-sha2-512") ? 4 : 0;
}

const decodeMessage: Decode<Uint8Array<ArrayBuffer>> = (bytes) => {
  if (bytes.length < 4) return undefined;
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  if (length > mostBytes) {
    throw new PosternError("protocol", "Cannot read a message of the ssh agent: too long");
  }
  if (bytes.length < 4 + length) return undefined;
  return { value: bytes.slice(4, 4 + length), used: 4 + length };
};
