import { PosternError } from "../../words/mod.ts";
import type { BoundListener } from "./listener_set.ts";
import type { LentForwards } from "./lent_forwards.ts";

interface Lent<B> {
  readonly bound: readonly B[];
  /** Aborts when they no longer listen. */
  readonly closed: AbortController;
  /** Aborts to drop their connections. */
  readonly ended: AbortController;
}

/** The maximum number of commands with forwards. */
const most = 64;

/** The listeners of commands, each until its command ends. */
export class LentListeners<B extends BoundListener> {
  readonly #close: (bound: readonly B[]) => Promise<void>;
  readonly #lent = new Map<number, Lent<B>>();
  #last = 0;

  /** `close` closes the sockets; it must do so before its first await. */
  constructor(close: (bound: readonly B[]) => Promise<void>) {
    this.#close = close;
  }

  get bound(): readonly B[] {
    return [...this.#lent.values()].flatMap(({ bound }) => bound);
  }

  demandRoom(): void {
    if (this.#lent.size < most) return;
    throw new PosternError("refused", `Cannot forward: ${most} commands already use this instance`, {
      hint: "end one of them, or add the forward to listen.forward",
    });
  }

  /** Adds the listeners of one command. `until` aborts to drop their connections. */
  add(bound: readonly B[]): LentForwards & { readonly until: AbortSignal } {
    const id = ++this.#last;
    const [closed, ended] = [new AbortController(), new AbortController()];
    this.#lent.set(id, { bound, closed, ended });
    return { id, bound, closed: closed.signal, until: ended.signal, end: () => this.end(id) };
  }

  /** Closes the listeners of a command and drops their connections. */
  async end(id: number): Promise<void> {
    const lent = this.#lent.get(id);
    if (!lent) return;
    this.#lent.delete(id);
    lent.closed.abort();
    const closing = this.#close(lent.bound);
    lent.ended.abort(new PosternError("cancelled", "The command that requested the forward has ended"));
    await closing;
  }

  /** Forgets all listeners, which the instance has closed. Their connections drain. */
  release(): void {
    const all = [...this.#lent.values()];
    this.#lent.clear();
    for (const { closed } of all) closed.abort();
  }
}
