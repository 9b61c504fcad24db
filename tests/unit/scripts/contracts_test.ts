import assert from "node:assert/strict";
import { transportKinds } from "../../../src/transports/mod.ts";
import { connKinds } from "../../contract/conn_kinds.ts";
import { transportsTried } from "../../contract/transport_kinds.ts";
import { classesOf, readSource, readSources, type SourceFile } from "../../support/declared_classes.ts";

/** What a contract is tried on, as far as this asks. */
interface Tried {
  readonly of: string;
  readonly madeBy: readonly string[];
}

interface TransportTried {
  readonly kind: string;
  readonly of: string;
  readonly madeBy?: readonly string[];
}

/** The places that make a connection on which its contract is not tried, and what else is amiss with either list. */
function connProblems(files: readonly SourceFile[], tried: readonly Tried[]): string[] {
  const conns = classesOf("Conn", files);
  const used = new Set(files.flatMap(({ classes }) => [...classes.values()].flat()));
  const problems: string[] = [];
  const made = new Set<string>();
  for (const { path, made: names, literals, asserted } of files) {
    for (const name of names) {
      if (!conns.has(name)) continue;
      made.add(`${name} of ${path}`);
      if (!tried.some(({ of, madeBy }) => of === name && madeBy.includes(path))) {
        problems.push(`${path} makes a ${name}, and no kind of connKinds is made there`);
      }
    }
    if (literals.some((keys) => keys.includes("closeWrite"))) {
      problems.push(`${path} makes a connection without a class: contracts find classes only`);
    }
    if (asserted.has("Conn")) problems.push(`${path} takes something for a Conn that may be none`);
  }
  for (const name of conns) {
    const isMade = [...made].some((one) => one.startsWith(`${name} of `));
    if (!isMade && !used.has(name)) problems.push(`${name} is a Conn, and nothing makes one`);
  }
  for (const { of, madeBy } of tried) {
    for (const path of madeBy) {
      if (!made.has(`${of} of ${path}`)) problems.push(`connKinds: ${path} makes no ${of}`);
    }
  }
  return problems;
}

const files = [...await readSources("src"), ...await readSources("tests/support")];

Deno.test("the contract of Conn is tried on every connection that the source makes", () => {
  assert.ok(classesOf("Conn", files).size > 10);
  assert.deepEqual(connProblems(files, connKinds), []);
});

const declared = "class New extends Middle {}\nabstract class Middle implements Other, Conn {}\n";
const cases = [
  {
    name: "a class that implements Conn and is not tried",
    source: `${declared}export const make = () => new New();`,
    says: /x\.ts makes a New/,
  },
  {
    name: "another place that makes one that is tried elsewhere",
    source: "import { SocketConn } from './y.ts';\nnew SocketConn(socket);",
    says: /x\.ts makes a SocketConn/,
  },
  { name: "a class that nothing makes", source: declared, says: /New is a Conn/ },
  {
    name: "a connection that is an object without a class",
    source: "export const make = (): Conn => ({ read, write, closeWrite, abort });",
    says: /without a class/,
  },
  {
    name: "an object that is asserted to be one",
    source: "export const make = () => Object.create(other) as Conn;",
    says: /may be none/,
  },
];
for (const { name, source, says } of cases) {
  Deno.test(`the law of contracts reports ${name}`, () => {
    const problems = connProblems([...files, readSource("src/core/x.ts", source)], connKinds);
    assert.match(problems.join("\n"), says);
  });
}

Deno.test("the law of contracts reports a kind that is not made where it says", () => {
  const [first = assert.fail("no kind")] = connKinds;
  const kinds = [...connKinds, { ...first, madeBy: ["src/core/log.ts"] }];
  assert.match(connProblems(files, kinds).join("\n"), /src\/core\/log\.ts makes no/);
});

/** The transports on which their contract is not tried, by their kinds, their classes and the places that need none. */
function transportProblems(
  files: readonly SourceFile[],
  kinds: readonly string[],
  tried: readonly TransportTried[],
): string[] {
  const classes = classesOf("Transport", files);
  const places = files.filter(({ literals }) =>
    literals.some((keys) => keys.includes("dial") && keys.includes("asyncDispose"))
  ).map(({ path }) => path);
  const missing = (what: string, all: Iterable<string>, known: readonly string[]) =>
    [...all].filter((one) => !known.includes(one)).map((one) => `transportsTried has no ${what} ${one}`);
  const triedPlaces = tried.flatMap(({ madeBy = [] }) => madeBy);
  return [
    ...missing("kind", kinds, tried.map(({ kind }) => kind)),
    ...missing("class", classes, tried.map(({ of }) => of)),
    ...missing("transport of", places, triedPlaces),
    ...triedPlaces.filter((path) => !places.includes(path)).map((path) => `${path} makes no transport`),
    ...tried.filter(({ kind }) => !kinds.includes(kind)).map(({ kind }) => `there is no kind ${kind}`),
  ];
}

const ownFiles = files.filter(({ path }) => path.startsWith("src/"));
// `direct` is there without a configuration.
const kinds = ["direct", ...transportKinds.map(({ type }) => type)];

Deno.test("the contract of Transport is tried on every kind and every class", () => {
  assert.ok(classesOf("Transport", ownFiles).size > 5);
  assert.deepEqual(transportProblems(ownFiles, kinds, transportsTried), []);
});

const newTransports = [
  {
    name: "a class that implements Transport and is not tried",
    source: "export class Tunnel implements Transport { dial() {} }",
    says: /no class Tunnel/,
  },
  {
    name: "a transport that is an object without a class",
    source:
      "export const make = () => ({ name, dial: (target) => go(target), async [Symbol.asyncDispose]() {} });",
    says: /no transport of src\/transports\/x\.ts/,
  },
];
for (const { name, source, says } of newTransports) {
  Deno.test(`the law of contracts reports ${name}`, () => {
    const problems = transportProblems(
      [...ownFiles, readSource("src/transports/x.ts", source)],
      kinds,
      transportsTried,
    );
    assert.match(problems.join("\n"), says);
  });
}

Deno.test("the law of contracts reports a kind of transport that is not tried, and one that is not there", () => {
  const problems = transportProblems(ownFiles, [...kinds, "tunnel"], [...transportsTried, {
    kind: "teleport",
    of: "Direct",
  }]);
  assert.deepEqual(problems, ["transportsTried has no kind tunnel", "there is no kind teleport"]);
});
