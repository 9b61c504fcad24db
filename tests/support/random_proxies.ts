import { seededRandom } from "./random_ssh_config.ts";

// Generated proxies and lists of pieces that the rules treat specially.

/** Returns an integer from 0 to below `below`. */
export type Dice = (below: number) => number;

/** Deterministic dice from a seed. */
export function seededDice(seed: number): Dice {
  const random = seededRandom(seed);
  return (below) => Math.floor(random() * below);
}

/** Picks one element. */
export function pick<T>(dice: Dice, from: readonly T[]): T {
  const item = from[dice(from.length)];
  if (item === undefined) throw new Error("Cannot pick from an empty list");
  return item;
}

/** Generates a list for spec.noProxy: usually one or two items, valid or nearly valid. */
export function randomNoProxy(dice: Dice): string {
  const items = Array.from({ length: 1 + dice(3) }, () => randomItem(dice));
  return mangled(dice, items.join(pick(dice, [",", ",", ",", ", ", ",,", " "])), 8);
}

/** Generates one item. */
export function randomItem(dice: Dice): string {
  const name = randomName(dice);
  const plain = pick(dice, [
    () => name,
    () => `.${name}`,
    () => `*.${name}`,
    () => `${name}.`,
    () => `${name}:${randomPort(dice)}`,
    () => randomFour(dice),
    () => `${randomFour(dice)}/${pick(dice, ["0", "7", "8", "08", "16", "31", "32", "33", "", "x"])}`,
    () => `${randomFour(dice)}:${randomPort(dice)}`,
    () => randomSix(dice),
    () => `${randomSix(dice)}/${pick(dice, ["0", "10", "32", "64", "96", "104", "128", "129"])}`,
    () => `[${randomSix(dice)}]`,
    () => `[${randomSix(dice)}]:${randomPort(dice)}`,
    () => pick(dice, ["*", "", ".", "..", "localhost", "127.0.0.0/8", "a_b.test", "EXAMPLE.test"]),
  ])();
  return pick(dice, [plain, plain, plain, ` ${plain}`, `${plain}\t`, plain.toUpperCase()]);
}

/** Generates a URL, possibly of a proxy. */
export function randomProxyUrl(dice: Dice): string {
  const scheme = pick(dice, ["http", "http", "https", "HTTP", "socks5", "ftp", "", "p", "1"]);
  const slashes = pick(dice, ["://", "://", "://", "://", ":", ":/", ":///", "//", ""]);
  const user = pick(dice, [
    "",
    "",
    "",
    "u:p@",
    "u@",
    "u:p%23@",
    "u:p@ss@",
    "u:p#@",
    "u:%zz@",
    "ü:p@",
    "u:p/@",
    ":@",
  ]);
  const port = pick(dice, [
    "",
    "",
    `:${randomPort(dice)}`,
    ":",
    ":0",
    ":65535",
    ":65536",
    ":abc",
    ":-1",
    ":00080",
  ]);
  const tail = pick(dice, ["", "", "/", "/x?y=1", "?q", "#f", "/%zz", "/%41", " ", "/a b"]);
  return mangled(dice, `${scheme}${slashes}${user}${randomHost(dice)}${port}${tail}`, 6);
}

/** Generates a requested URL. */
export function randomTarget(dice: Dice): string {
  const port = pick(dice, ["", "", `:${randomPort(dice)}`]);
  return `${pick(dice, ["http", "http", "https"])}://${randomHost(dice)}${port}/`;
}

function randomHost(dice: Dice): string {
  return pick(dice, [
    () => randomName(dice),
    () => randomName(dice).toUpperCase(),
    () => `${randomName(dice)}.`,
    () => randomFour(dice),
    () => `[${randomSix(dice)}]`,
    () => pick(dice, ["localhost", "LOCALHOST", "127.0.0.1", "127.5.5.5", "[::1]", "[::ffff:127.0.0.1]"]),
  ])();
}

const labels = ["a", "b", "test", "example", "svc", "x-1", "9", "10", "xn--bcher-kva", "constructor"];

function randomName(dice: Dice): string {
  return Array.from({ length: 1 + dice(3) }, () => pick(dice, labels)).join(".");
}

function randomFour(dice: Dice): string {
  const parts = [
    pick(dice, ["10", "127", "0", "192"]),
    dice(3),
    dice(3),
    pick(dice, ["0", "1", "3", "255", "256", "01"]),
  ];
  return dice(20) === 0 ? parts.slice(1).join(".") : parts.join(".");
}

function randomSix(dice: Dice): string {
  return pick(dice, [
    () => `2001:db8:${dice(3)}::${dice(4)}`,
    () => `2001:DB8::${dice(3)}`,
    () => `fe80::${dice(3)}`,
    () => "::",
    () => `::${dice(3)}`,
    () => `::ffff:${randomFour(dice)}`,
    () => `1:2:3:4:5:6:7:${pick(dice, [":", "8", "", "8:9"])}`,
  ])();
}

function randomPort(dice: Dice): string {
  return pick(dice, ["80", "443", "81", "8080", "1"]);
}

/** Sometimes changes, removes or doubles one character of a text. */
function mangled(dice: Dice, text: string, oneIn: number): string {
  if (dice(oneIn) !== 0 || text === "") return text;
  const at = dice(text.length);
  const odd = pick(dice, [
    "",
    "-",
    "_",
    ".",
    ":",
    "/",
    "@",
    "%",
    "[",
    "]",
    " ",
    "\u00a0",
    "\u0085",
    "é",
    "A",
    "0",
    "\t",
  ]);
  return text.slice(0, at) + odd + text.slice(at + dice(2));
}
