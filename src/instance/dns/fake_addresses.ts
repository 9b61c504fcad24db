import { type AppendFile, directoryOf, type Files, type World } from "../../world/mod.ts";
import type { Clock, Log } from "../../core/mod.ts";
import { describe, PosternError } from "../../words/mod.ts";
import { addressAt, type FakeRange, placeIn } from "../../dns/mod.ts";
import { checkedId } from "../../instances/mod.ts";

/** The maximum number of names; the least recently used names are dropped first. */
const mostNames = 65_536;
/**
 * Minimum time in ms for which a name keeps its address after its last use: clients cache answers beyond
 * their TTL.
 */
const keptFor = 600_000;
/** Maximum number of lines before the file is rewritten. */
const mostLines = 3 * mostNames;

/** The file with the addresses of `dns.fakeRange`, of `dns.loopback`, or of `lookupRange`. */
export function addressFile(
  { places }: Pick<World, "places">,
  id: string,
  kind: "addresses" | "loopback" | "lookups",
): string {
  return `${places.state}/dns/${checkedId(id)}.${kind}`;
}

/** Whether a name in lower case may get an address. */
export function isHostName(name: string): boolean {
  return /^(?:[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?$/.test(name);
}

interface Named {
  readonly place: number;
  /** When a client last used the name. */
  usedAt: number;
}

/**
 * Addresses that stand for names. Each pair is written to a file, one per line, before a client gets the
 * answer. After a crash, the next instance therefore knows the addresses that clients still cache.
 */
export class FakeAddresses implements AsyncDisposable {
  readonly range: FakeRange;
  readonly #clock: Clock;
  /** In order of use, least recently used first. */
  readonly #byName = new Map<string, Named>();
  readonly #byPlace = new Map<number, string>();
  #nextPlace = 1;
  #file: AppendFile | undefined;
  #lines = 0;
  #path = "";
  #files: Files | undefined;
  #saving: Promise<void> = Promise.resolve();

  private constructor(range: FakeRange, clock: Clock) {
    this.range = range;
    this.#clock = clock;
  }

  /** Reads the stored addresses without changing the file. */
  static async read(
    { files, clock }: Pick<World, "files" | "clock">,
    path: string,
    { range, log }: { range: FakeRange; log: Log },
  ): Promise<FakeAddresses> {
    const addresses = new FakeAddresses(range, clock);
    let text: string | undefined;
    try {
      text = await files.readTextIfThere(path, { limit: mostLines * 300 });
    } catch (error) {
      // New addresses are better than an instance that does not start.
      log.error("dns.addresses_lost", { path, reason: describe(error) });
    }
    const bad = addresses.#load(text ?? "");
    if (bad > 0) log.warn("dns.addresses_damaged", { path, lines: bad });
    return addresses;
  }

  /** Reads the stored addresses and stores new ones. */
  static async open(
    world: Pick<World, "files" | "clock">,
    path: string,
    options: { range: FakeRange; log: Log },
  ): Promise<FakeAddresses> {
    const { files } = world;
    await files.privateDirectory(directoryOf(path));
    const addresses = await FakeAddresses.read(world, path, options);
    addresses.#files = files;
    addresses.#path = path;
    await addresses.#rewrite();
    return addresses;
  }

  /** The number of names with an address. */
  get size(): number {
    return this.#byName.size;
  }

  /** The names with an address. */
  get names(): Iterable<string> {
    return this.#byName.keys();
  }

  /** Returns the address of a name; assigns one if needed. */
  async addressOf(name: string): Promise<string> {
    const now = this.#clock.now();
    const known = this.#byName.get(name);
    if (known) {
      known.usedAt = now;
      this.#touch(name, known);
      // The line may still be written, and writing may fail.
      await this.#saving.catch(() => {});
      return this.#byName.has(name) ? addressAt(this.range, known.place) : await this.addressOf(name);
    }
    const place = this.#freePlace(now);
    this.#byName.set(name, { place, usedAt: now });
    this.#byPlace.set(place, name);
    const address = addressAt(this.range, place);
    const saving = this.#save(`${address} ${name}\n`, this.#saving);
    this.#saving = saving;
    try {
      await saving;
      return address;
    } catch (error) {
      this.#byName.delete(name);
      this.#byPlace.delete(place);
      throw error;
    }
  }

  /** The name of an address; undefined outside the range, "" for an address without a name. */
  nameOf(address: string): string | undefined {
    const place = placeIn(this.range, address);
    if (place === undefined) return undefined;
    const name = this.#byPlace.get(place);
    const known = name === undefined ? undefined : this.#byName.get(name);
    if (name === undefined || !known) return "";
    known.usedAt = this.#clock.now();
    this.#touch(name, known);
    return name;
  }

  /** Rewrites the file after addresses of another range were written to it. */
  async takeBack(): Promise<void> {
    const before = this.#saving.catch(() => {});
    this.#saving = before.then(() => this.#rewrite());
    await this.#saving;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#saving.catch(() => {});
    this.#file?.[Symbol.dispose]();
    this.#file = undefined;
  }

  #touch(name: string, named: Named): void {
    this.#byName.delete(name);
    this.#byName.set(name, named);
  }

  /** Without the first and last address of the network, which are not for hosts. */
  get #most(): number {
    return Math.min(mostNames, this.range.size - 2);
  }

  #freePlace(now: number): number {
    if (this.#byName.size < this.#most) {
      while (this.#byPlace.has(this.#nextPlace)) {
        this.#nextPlace = this.#nextPlace % (this.range.size - 2) + 1;
      }
      return this.#nextPlace;
    }
    const [[name, { place, usedAt }] = ["", { place: 0, usedAt: now }]] = this.#byName;
    if (now - usedAt < keptFor) {
      throw new PosternError(
        "internal",
        `Cannot assign an address to another name: all ${this.#most} are in use`,
        {
          detail: "overloaded",
          hint: "set dns.fakeRange or dns.loopback to a larger network",
        },
      );
    }
    this.#byName.delete(name);
    this.#byPlace.delete(place);
    return place;
  }

  async #save(line: string, before: Promise<void>): Promise<void> {
    await before.catch(() => {});
    if (++this.#lines > mostLines) await this.#rewrite();
    else await this.#file?.write(line);
  }

  /** Writes one line per name, in order of use. */
  async #rewrite(): Promise<void> {
    const files = this.#files;
    if (!files) return;
    let text = `${heading}\n`;
    for (const [name, { place }] of this.#byName) text += `${addressAt(this.range, place)} ${name}\n`;
    await files.replace(this.#path, text);
    const file = await files.append(this.#path);
    this.#file?.[Symbol.dispose]();
    this.#file = file;
    this.#lines = this.#byName.size;
  }

  /** Reads lines; a later line wins. Returns the number of damaged lines. */
  #load(text: string): number {
    let bad = 0;
    for (const line of text.split("\n")) {
      if (line === "" || line === heading) continue;
      const [, address = "", name = ""] = /^([0-9.]{7,15}) ([!-~]{1,255})$/.exec(line) ?? [];
      const place = placeIn(this.range, address);
      if (name === "") bad++;
      // An address outside the current range is dropped.
      else if (place !== undefined && place > 0 && place < this.range.size - 1) this.#assign(name, place);
    }
    return bad;
  }

  #assign(name: string, place: number): void {
    const other = this.#byPlace.get(place);
    if (other !== undefined) this.#byName.delete(other);
    const known = this.#byName.get(name);
    if (known) {
      this.#byPlace.delete(known.place);
      this.#byName.delete(name);
    }
    // The last use before a restart is unknown, so all names are kept for a while.
    this.#byName.set(name, { place, usedAt: this.#clock.now() });
    this.#byPlace.set(place, name);
    if (this.#byName.size <= this.#most) return;
    const [[oldest, first] = [name, { place }]] = this.#byName;
    this.#byName.delete(oldest);
    this.#byPlace.delete(first.place);
  }
}

const heading = "# What each address of postern's DNS helper stands for.";
