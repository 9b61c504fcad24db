import type { Clock } from "../../core/mod.ts";

export interface ForwardLanesOptions {
  readonly clock: Clock;
  /** Sends a ping and returns its id. */
  readonly ping: () => number;
}

/**
 * Simulates flow-control windows for a server without them. moby/spdystream, which serves every port-forward,
 * distributes frames to five workers by stream id, and pings round-robin. A worker blocks while its pod does
 * not read; after fifty more frames the server stops reading from the whole connection. So each worker's lane
 * carries only a limited amount of unconfirmed data. A ping response or an accepted stream confirms
 * everything before it in its lane. A pod that does not read then blocks only its own lane; a server with
 * another design merely confirms sooner.
 */
export class ForwardLanes {
  readonly #options: ForwardLanesOptions;
  readonly #lanes: readonly Lane[];
  /** The lane of the next ping. */
  #next = 0;
  readonly #pings = new Map<number, Lane>();

  constructor(options: ForwardLanesOptions) {
    this.#options = options;
    this.#lanes = Array.from({ length: workers }, () => new Lane());
  }

  /** Whether a pod has not read for so long that new streams should avoid its lane. */
  get isStuck(): boolean {
    return this.#stuck > 0;
  }

  get #stuck(): number {
    const now = this.#options.clock.now();
    return this.#lanes.filter((lane) => lane.isStuck(now)).length;
  }

  /** How many stream ids to skip so that both streams of a pair get free lanes. */
  free(stream: number): number {
    const isFree = (skipped: number) =>
      [0, 2].every((more) => !this.#laneOf(stream + skipped * 2 + more).isFull);
    const skipped = [0, 1, 2, 3, 4].find(isFree);
    return skipped ?? 0;
  }

  /** Records a new stream; its acceptance confirms its lane up to this point. */
  onOpened(stream: number): void {
    this.#laneOf(stream).add(0, { stream, at: this.#options.clock.now() });
  }

  /** Records bytes sent on a stream. */
  onSaid(stream: number, bytes: number): void {
    const lane = this.#laneOf(stream);
    lane.add(bytes);
    if (lane.wantsMark) this.#mark(lane);
  }

  onAccepted(stream: number): void {
    this.#reached(this.#laneOf(stream), ({ stream: marked }) => marked === stream);
  }

  onPong(id: number): void {
    const lane = this.#pings.get(id);
    this.#pings.delete(id);
    if (lane) this.#reached(lane, ({ ping }) => ping === id);
  }

  /** Sends enough pings to reach a worker that is not blocked by a pod. */
  ping(): void {
    for (let left = Math.min(this.#stuck + 1, workers); left > 0; left--) this.#ping();
  }

  /** Undefined if the stream may send now; otherwise resolves when it may. */
  room(stream: number): Promise<void> | undefined {
    const lane = this.#laneOf(stream);
    if (!lane.isFull) return undefined;
    // A waiting stream needs a ping whose response lets it continue.
    if (!lane.hasMark) this.#mark(lane);
    // If no further ping may be sent, ignore the window rather than wait forever.
    return lane.hasMark ? lane.room() : undefined;
  }

  /** Releases all waiting streams, so that they notice the end. */
  close(): void {
    for (const lane of this.#lanes) lane.open();
  }

  #reached(lane: Lane, is: (mark: Mark) => boolean): void {
    lane.reached(is, this.#options.clock.now());
    if (lane.isFull && !lane.hasMark) this.#mark(lane);
    if (!lane.isFull || !lane.hasMark) lane.open();
  }

  /** Pings until a ping reaches the lane. */
  #mark(lane: Lane): void {
    while (this.#mayPing) {
      if (this.#ping() === lane) return;
    }
  }

  get #mayPing(): boolean {
    return this.#lanes.every(({ frames }) => frames < mostFrames);
  }

  #ping(): Lane | undefined {
    const lane = this.#lanes[this.#next];
    this.#next = (this.#next + 1) % workers;
    const ping = this.#options.ping();
    if (!lane) return undefined;
    this.#pings.set(ping, lane);
    lane.add(0, { ping, at: this.#options.clock.now() });
    return lane;
  }

  #laneOf(stream: number): Lane {
    return this.#lanes[stream % workers] as Lane;
  }
}

/** A ping or a stream whose confirmation covers everything before it. */
interface Mark {
  readonly stream?: number;
  readonly ping?: number;
  readonly at: number;
}

/** The data sent to one worker, in order. */
class Lane {
  /** Frames and bytes sent so far, and how many are confirmed. */
  #saidFrames = 0;
  #saidBytes = 0;
  #doneFrames = 0;
  #doneBytes = 0;
  #marks: (Mark & { readonly frames: number; readonly bytes: number })[] = [];
  #window = firstWindow;
  #room: PromiseWithResolvers<void> | undefined;

  /** The number of unconfirmed frames. */
  get frames(): number {
    return this.#saidFrames - this.#doneFrames;
  }

  get isFull(): boolean {
    return this.frames >= fullFrames || this.#saidBytes - this.#doneBytes >= this.#window;
  }

  get hasMark(): boolean {
    return this.#marks.length > 0;
  }

  /** Whether so much was sent after the last mark that its confirmation would come too late. */
  get wantsMark(): boolean {
    const last = this.#marks.at(-1);
    const frames = this.#saidFrames - (last?.frames ?? this.#doneFrames);
    const bytes = this.#saidBytes - (last?.bytes ?? this.#doneBytes);
    return frames >= fullFrames / 2 || bytes >= this.#window / 2;
  }

  isStuck(now: number): boolean {
    const [first] = this.#marks;
    return this.isFull && first !== undefined && now - first.at > stuckAfter;
  }

  add(bytes: number, mark?: Mark): void {
    this.#saidFrames++;
    this.#saidBytes += bytes;
    if (mark) this.#marks.push({ ...mark, frames: this.#saidFrames, bytes: this.#saidBytes });
  }

  reached(is: (mark: Mark) => boolean, now: number): void {
    const at = this.#marks.findIndex(is);
    const mark = this.#marks[at];
    if (!mark) return;
    // Enlarge the window if it was the limit on a fast path.
    const isFurther = mark.bytes > this.#doneBytes;
    if (isFurther && this.isFull && now - mark.at < quick) {
      this.#window = Math.min(this.#window * 2, largestWindow);
    }
    this.#marks = this.#marks.slice(at + 1);
    this.#doneFrames = mark.frames;
    this.#doneBytes = mark.bytes;
  }

  room(): Promise<void> {
    return (this.#room ??= Promise.withResolvers<void>()).promise;
  }

  open(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}

const workers = 5;
/** A worker's queue holds fifty frames; pings to other workers pass through it too. */
const fullFrames = 32;
const mostFrames = 46;
const firstWindow = 1024 * 1024;
const largestWindow = 8 * 1024 * 1024;
const quick = 250;
const stuckAfter = 500;
