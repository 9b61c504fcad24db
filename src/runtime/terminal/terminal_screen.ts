import type { Screen, ScreenEvents } from "../../world/mod.ts";
import { listenForSignal } from "../programs/signals.ts";

// Switch to the alternate screen and hide the cursor, and back (xterm's control sequences, which all current
// terminals support).
const enter = "\x1b[?1049h\x1b[?25l\x1b[2J";
const leave = "\x1b[?25h\x1b[?1049l";

/** The terminal of stdin and stdout in raw mode on the alternate screen, until disposed. */
export class TerminalScreen implements Screen {
  readonly #write: (text: string) => Promise<void>;
  readonly #events: ScreenEvents;
  readonly #ears: readonly Disposable[];
  #isOver = false;

  constructor(write: (text: string) => Promise<void>, events: ScreenEvents) {
    this.#write = write;
    this.#events = events;
    this.#ears = (["SIGTERM", "SIGHUP", "SIGQUIT"] as const).map((name) =>
      listenForSignal(name, () => events.stopped(`by ${name}`))
    ).concat(listenForSize(events.resized));
    Deno.stdin.setRaw(true);
    void write(enter).catch(() => {});
    void this.#listen();
  }

  get columns(): number {
    return sizeNow().columns;
  }

  get rows(): number {
    return sizeNow().rows;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const ear of this.#ears) ear[Symbol.dispose]();
    try {
      Deno.stdin.setRaw(false);
    } catch {
      // The terminal is closed; its mode no longer matters.
    }
    // A failure to write cannot be reported anywhere.
    await this.#write(leave).catch(() => {});
  }

  /** Reads keys. A read of a terminal cannot be canceled: the last one ends with the program. */
  async #listen(): Promise<void> {
    const buffer = new Uint8Array(256);
    const decoder = new TextDecoder();
    while (!this.#isOver) {
      const count = await Deno.stdin.read(buffer).catch(() => null);
      if (this.#isOver) return;
      if (count === null) return this.#events.stopped("because its terminal was closed");
      this.#events.typed(decoder.decode(buffer.subarray(0, count), { stream: true }));
    }
  }
}

/** Windows reports no change of size: there the next picture has the new size. */
function listenForSize(resized: () => void): Disposable {
  if (Deno.build.os === "windows") return { [Symbol.dispose]: () => {} };
  Deno.addSignalListener("SIGWINCH", resized);
  return { [Symbol.dispose]: () => Deno.removeSignalListener("SIGWINCH", resized) };
}

function sizeNow(): { readonly columns: number; readonly rows: number } {
  try {
    const { columns, rows } = Deno.consoleSize();
    // Some terminals report no size.
    return { columns: columns || 80, rows: rows || 24 };
  } catch {
    // The terminal was just closed.
    return { columns: 80, rows: 24 };
  }
}
