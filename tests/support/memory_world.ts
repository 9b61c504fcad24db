import type { Endpoint } from "../../src/words/mod.ts";
import type { Listening, Needs, Process, SignalName, Terminal, World } from "../../src/world/mod.ts";
import { FakeClock } from "./fake_clock.ts";
import { memoryPair } from "./memory_conn.ts";
import { MemoryFiles } from "./memory_files.ts";
import { MemoryNetwork } from "./memory_network.ts";
import { MemoryStores } from "./memory_stores.ts";

export interface MemoryWorldOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly platform?: Process["platform"];
}

/** A world in memory: its clock is fake, its files and its network are tables of the test. */
export class MemoryWorld implements World {
  readonly clock = new FakeClock();
  readonly files: MemoryFiles;
  readonly network: MemoryNetwork;
  readonly stores: MemoryStores;
  readonly process: Process;
  readonly terminal: Terminal;
  readonly places = {
    home: "/home/me",
    config: "/config",
    state: "/state",
    cache: "/cache",
    runtime: "/run/me",
    temporary: "/tmp",
  };
  readonly env: Record<string, string>;
  /** The needs that the program declared each time it dropped permissions. */
  readonly kept: (Needs | "nothing")[] = [];
  /** Standard input and output as a connection, and its other end. */
  readonly stdio = memoryPair();
  /** The output on stdout. */
  out = "";
  readonly #heard = new Map<SignalName, Set<() => void>>();

  constructor({ files = {}, env = {}, platform = "linux" }: MemoryWorldOptions = {}) {
    this.files = new MemoryFiles(files);
    this.stores = new MemoryStores(this.files);
    this.network = new NetworkWithFiles(this.files);
    this.env = { ...env };
    this.process = {
      platform,
      arch: "x86_64",
      pid: 4711,
      uid: 1000,
      isCompiled: true,
      self: ["postern"],
      directory: "/here",
      hostName: "desk.example.net",
      account: () => Promise.resolve({ name: "me", home: "/home/me" }),
      env: (name) => this.env[name],
      on: (signal, heard) => {
        const listeners = this.#heard.get(signal) ?? new Set();
        this.#heard.set(signal, listeners.add(heard));
        return { [Symbol.dispose]: () => void listeners.delete(heard) };
      },
      mayRun: () => true,
      keepOnly: (needs) => void this.kept.push(needs),
      missing: () => undefined,
      run: () => Promise.reject(new Error("this test runs no program")),
      pipe: () => Promise.reject(new Error("this test starts no program")),
      attached: () => Promise.reject(new Error("this test starts no program")),
      background: () => Promise.reject(new Error("this test starts no program")),
      memory: () => 1000,
    };
    this.terminal = {
      isInput: false,
      isOutput: false,
      isErrorOutput: false,
      isRead: true,
      columns: 80,
      out: (text) => Promise.resolve(void (this.out += text)),
      err: () => Promise.resolve(),
      readInput: () => Promise.resolve(""),
      ask: () => Promise.resolve(undefined),
      conn: () => this.stdio[0],
      takeScreen: () => undefined,
    };
  }

  /** Sends a signal to the program. */
  kill(signal: SignalName): void {
    for (const heard of [...this.#heard.get(signal) ?? []]) heard();
  }

  /** The number of active signal listeners. */
  get listening(): number {
    return [...this.#heard.values()].reduce((sum, { size }) => sum + size, 0);
  }
}

/** A network whose bound unix sockets appear among the files. */
class NetworkWithFiles extends MemoryNetwork {
  readonly #files: MemoryFiles;

  constructor(files: MemoryFiles) {
    super();
    this.#files = files;
  }

  override listen(endpoint: Endpoint): Listening {
    const listening = super.listen(endpoint);
    if (!("path" in endpoint)) return listening;
    const { path } = endpoint;
    const remove = MemoryFiles.prototype.remove.bind(this.#files, path);
    this.#files.put(path, "");
    let isClosed = false;
    const close = () => {
      if (isClosed) return;
      isClosed = true;
      listening.close();
      void remove();
    };
    return {
      endpoint,
      accept: () => listening.accept(),
      close,
      [Symbol.asyncDispose]: () => Promise.resolve(close()),
    };
  }
}
