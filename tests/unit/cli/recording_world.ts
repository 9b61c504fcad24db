import type { Files, World } from "../../../src/world/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";

export interface RecordingWorldOptions {
  readonly isTerminal?: boolean;
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Partial<Files>;
}

/** A world that records a command's output. Using a part that the test did not provide throws. */
export class RecordingWorld implements World {
  readonly clock = new FakeClock();
  out = "";
  err = "";
  readonly process: World["process"];
  readonly terminal: World["terminal"];
  readonly files: Files;
  /** Interrupts the command, as Ctrl-C does. */
  interrupt: () => void = () => {};
  readonly #listeners = new Set<object>();

  constructor({ isTerminal = false, columns = 80, env = {}, files = {} }: RecordingWorldOptions = {}) {
    this.process = {
      ...absent<World["process"]>("process"),
      platform: "linux",
      arch: "x86_64",
      isCompiled: false,
      env: (name) => env[name],
      on: (signal, heard) => {
        if (signal === "SIGINT") this.interrupt = heard;
        const listener = {};
        this.#listeners.add(listener);
        return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
      },
    };
    this.terminal = {
      isInput: isTerminal,
      isOutput: isTerminal,
      isErrorOutput: isTerminal,
      isRead: true,
      columns,
      out: (text) => Promise.resolve(void (this.out += text)),
      err: (text) => Promise.resolve(void (this.err += text)),
      readInput: () => Promise.resolve(""),
      ask: () => Promise.resolve(undefined),
      conn: () => absent("conn"),
      takeScreen: () => undefined,
    };
    this.files = { ...absent<Files>("files"), ...files };
  }

  /** The number of signal listeners that are not disposed. */
  get listening(): number {
    return this.#listeners.size;
  }

  get network(): never {
    throw new Error("this command must not use the network");
  }

  get stores(): never {
    throw new Error("this command must not use stores");
  }

  get places(): never {
    throw new Error("this command must not use the directories");
  }
}

function absent<T extends object>(part: string): T {
  return new Proxy({} as T, {
    get: (_target, name) => {
      throw new Error(`the test does not provide ${part}.${String(name)}`);
    },
  });
}
