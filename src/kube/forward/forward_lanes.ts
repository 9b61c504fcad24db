import type { Clock } from "../../core/mod.ts";

export interface ForwardLanesOptions {
  readonly clock: Clock;
  /** Sends a ping; its number. */
  readonly ping: () => number;
}

/**
 * Windows towards a server that knows none. moby/spdystream, which is behind every port-forward, hands frames to five
 * workers by the number of their stream, and pings to each in turn. A worker waits while a pod does not read; fifty
 * frames later nothing is read any more, for no stream. So a lane to each worker takes only so much that was not seen
 * to be done: the answer to a ping, or the acceptance of a stream, says that all before it in its lane is. A pod that
 * does not read then holds up its own lane, and a server of another make just answers everything sooner.
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

  /** Whether a pod has not read for so long that others should not get behind it. */
  get isStuck(): boolean {
    return this.#stuck > 0;
  }

  get #stuck(): number {
    const now = this.#options.clock.now();
    return this.#lanes.filter((lane) => lane.isStuck(now)).length;
  }

  /** How many numbers to leave out so that a pair of streams is in lanes that take something. */
  free(stream: number): number {
    const isFree = (skipped: number) =>
      [0, 2].every((more) => !this.#laneOf(stream + skipped * 2 + more).isFull);
    const skipped = [0, 1, 2, 3, 4].find(isFree);
    return skipped ?? 0;
  }

  /** A stream was opened; its acceptance will say how far its lane is. */
  onOpened(stream: number): void {
    this.#laneOf(stream).add(0, { stream, at: this.#options.clock.now() });
  }

  /** Something was said on a stream. */
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

  /** Pings so that somebody answers, though some workers may wait for pods. */
  ping(): void {
    for (let left = Math.min(this.#stuck + 1, workers); left > 0; left--) this.#ping();
  }

  /** Undefined where more may be said on a stream; else waits until it may. */
  room(stream: number): Promise<void> | undefined {
    const lane = this.#laneOf(stream);
    if (!lane.isFull) return undefined;
    // Whoever waits needs something whose answer lets it go on.
    if (!lane.hasMark) this.#mark(lane);
    // Nothing can be asked any more without getting in the way: better no window than no end.
    return lane.hasMark ? lane.room() : undefined;
  }

  /** Lets all go on that wait, to see that it is over. */
  close(): void {
    for (const lane of this.#lanes) lane.open();
  }

  #reached(lane: Lane, is: (mark: Mark) => boolean): void {
    lane.reached(is, this.#options.clock.now());
    if (lane.isFull && !lane.hasMark) this.#mark(lane);
    if (!lane.isFull || !lane.hasMark) lane.open();
  }

  /** Pings until the turn has come to the lane. */
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

/** Something whose answer says that all before it is done. */
interface Mark {
  readonly stream?: number;
  readonly ping?: number;
  readonly at: number;
}

/** What was said to one worker, in order. */
class Lane {
  /** Said so far, and what of it is done. */
  #saidFrames = 0;
  #saidBytes = 0;
  #doneFrames = 0;
  #doneBytes = 0;
  #marks: (Mark & { readonly frames: number; readonly bytes: number })[] = [];
  #window = firstWindow;
  #room: PromiseWithResolvers<void> | undefined;

  /** How many frames are not known to be done. */
  get frames(): number {
    return this.#saidFrames - this.#doneFrames;
  }

  get isFull(): boolean {
    return this.frames >= fullFrames || this.#saidBytes - this.#doneBytes >= this.#window;
  }

  get hasMark(): boolean {
    return this.#marks.length > 0;
  }

  /** Whether so much was said after the last mark that its answer would not let more come in time. */
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
    // A window that was the limit of a way that is quick may be larger.
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
/** A worker's queue holds fifty; besides these, pings to others pass through it. */
const fullFrames = 32;
const mostFrames = 46;
const firstWindow = 1024 * 1024;
const largestWindow = 8 * 1024 * 1024;
const quick = 250;
const stuckAfter = 500;
