import type { ObjectKind, ObjectPlace } from "../../kube/mod.ts";
import { type Clock, Counter, type Log, type Metric, Tasks } from "../../core/mod.ts";
import { describe, isPosternError } from "../../words/mod.ts";
import type { FencedObjects } from "./fenced_objects.ts";
import { fieldManager, kinds } from "./kinds.ts";

export interface NotesParts {
  readonly objects: FencedObjects;
  readonly clock: Clock;
  readonly log: Log;
  /** The name of this replica. */
  readonly instance: string;
}

/** A Kubernetes Event. */
export interface Note {
  readonly type: "Normal" | "Warning";
  /** One word. */
  readonly reason: string;
  readonly message: string;
}

/** The maximum number of objects whose last note is remembered, to avoid duplicates. */
const mostRemembered = 2_000;
/** The maximum number of queued Events. */
const mostWaiting = 200;

/** Reports each problem of an object once: a log line, and an Event for kubectl. */
export class Notes implements AsyncDisposable {
  readonly #parts: NotesParts;
  readonly #tasks: Tasks;
  readonly #said = new Map<string, string>();
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #failures = new Counter(
    "postern_egress_failures_total",
    "Objects that could not be written, by kind and reason.",
    ["kind", "reason"],
  );
  #isSending = false;

  constructor(parts: NotesParts, { signal }: { readonly signal: AbortSignal }) {
    this.#parts = parts;
    this.#tasks = new Tasks(
      signal,
      (error) => parts.log.warn("egress.event_failed", { reason: describe(error) }),
    );
  }

  /** Records a successful write and forgets the object's last problem. */
  done(kind: ObjectKind, place: ObjectPlace): void {
    this.#said.delete(keyOf(kind, place));
    this.#parts.log.debug("egress.written", { object: keyOf(kind, place) });
  }

  /** Reports a failed write, which will be retried. */
  failed(kind: ObjectKind, place: ObjectPlace, error: unknown): void {
    const reason = isPosternError(error, "not_allowed") ? "NotAllowed" : "WriteFailed";
    this.#failures.add(1, kind.kind, reason);
    // An unreachable API server is not a problem of this object and accepts no Events.
    if (isPosternError(error, "unreachable") || isPosternError(error, "timeout")) {
      this.#parts.log.warn("egress.write_delayed", {
        object: keyOf(kind, place),
        reason: describe(error),
      });
    } else this.say(kind, place, { type: "Warning", reason, message: describe(error) });
  }

  /** Reports that another manager owns the object. */
  foreign(kind: ObjectKind, place: ObjectPlace, why: string): void {
    const message = `Left unchanged: ${why}; to overwrite, run postern egress controller --take-over`;
    this.say(kind, place, { type: "Warning", reason: "OwnedByAnother", message });
  }

  /** Reports a skipped workload or an ineffective annotation. */
  notInjected(kind: ObjectKind, place: ObjectPlace, why: string): void {
    this.say(kind, place, { type: "Warning", reason: "ProxyNotInjected", message: why });
  }

  /** Reports a note about an object, unless it repeats the last one. */
  say(kind: ObjectKind, place: ObjectPlace, note: Note): void {
    const key = keyOf(kind, place);
    const said = `${note.reason}: ${note.message}`;
    if (this.#said.get(key) === said) return;
    this.#said.delete(key);
    this.#said.set(key, said);
    const [oldest] = this.#said.keys();
    if (this.#said.size > mostRemembered && oldest !== undefined) this.#said.delete(oldest);
    const { log } = this.#parts;
    const fields = { object: key, reason: note.reason, message: note.message };
    if (note.type === "Warning") log.warn("egress.note", fields);
    else log.info("egress.note", fields);
    if (this.#waiting.length >= mostWaiting) return;
    const at = this.#parts.clock.date().toISOString().replace(/\.\d+Z$/, "Z");
    this.#waiting.push(() => this.#send(kind, place, note, at));
    if (!this.#isSending) this.#tasks.spawn(() => this.#sendAll());
  }

  metrics(): Metric[] {
    return [this.#failures.metric()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tasks[Symbol.asyncDispose]();
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    try {
      for (let send = this.#waiting.shift(); send; send = this.#waiting.shift()) await send();
    } finally {
      this.#isSending = false;
    }
  }

  async #send(kind: ObjectKind, { namespace, name }: ObjectPlace, note: Note, at: string): Promise<void> {
    const { objects, instance, log } = this.#parts;
    const involvedObject = {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      name,
      ...(namespace !== undefined && { namespace }),
    };
    // By convention, Events of cluster-scoped objects are in this namespace.
    const where = namespace ?? "default";
    const { signal } = this.#tasks;
    try {
      const written = await objects.create(kinds.event, {
        namespace: where,
        manager: fieldManager,
        body: {
          metadata: { generateName: `${name.slice(0, 40)}.`, namespace: where },
          involvedObject,
          type: note.type,
          reason: note.reason,
          message: note.message.slice(0, 1024),
          source: { component: fieldManager },
          reportingComponent: fieldManager,
          reportingInstance: instance,
          firstTimestamp: at,
          lastTimestamp: at,
          count: 1,
        },
      }, { signal });
      if (written.outcome !== "written") log.warn("egress.event_failed", { reason: written.why });
    } catch (error) {
      signal.throwIfAborted();
      log.warn("egress.event_failed", { reason: describe(error) });
    }
  }
}

function keyOf({ kind }: ObjectKind, { namespace, name }: ObjectPlace): string {
  return `${kind}/${namespace === undefined ? name : `${namespace}/${name}`}`;
}
