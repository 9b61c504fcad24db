import assert from "node:assert/strict";
import { transportKinds } from "../../../src/transports/mod.ts";
import { connKinds } from "../../contract/conn_kinds.ts";
import { transportsTried } from "../../contract/transport_kinds.ts";
import { classesOf, readSource, readSources, type SourceFile } from "../../support/declared_classes.ts";

/** The fields of a tested implementation that this test needs. */
interface Tried {
  readonly of: string;
  readonly madeBy: readonly string[];
}

interface TransportTried {
  readonly kind: string;
  readonly of: string;
  readonly madeBy?: readonly string[];
}

/** Finds code that creates untested connections, and wrong entries of either list. */
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
        problems.push(`${path} creates a ${name}, but connKinds has no kind from there`);
      }
    }
    if (literals.some((keys) => keys.includes("closeWrite"))) {
      problems.push(`${path} creates a connection without a class: contracts find only classes`);
    }
    if (asserted.has("Conn")) problems.push(`${path} asserts the type Conn without a check`);
  }
  for (const name of conns) {
    const isMade = [...made].some((one) => one.startsWith(`${name} of `));
    if (!isMade && !used.has(name)) problems.push(`${name} is a Conn, but no code creates one`);
  }
  for (const { of, madeBy } of tried) {
    for (const path of madeBy) {
      if (!made.has(`${of} of ${path}`)) problems.push(`connKinds: ${path} creates no ${of}`);
    }
  }
  return problems;
}

const files = [...await readSources("src"), ...await readSources("tests/support")];

Deno.test("the contract of Conn runs against every connection that the source creates", () => {
  assert.ok(classesOf("Conn", files).size > 10);
  assert.deepEqual(connProblems(files, connKinds), []);
});

const declared = "class New extends Middle {}\nabstract class Middle implements Other, Conn {}\n";
const cases = [
  {
    name: "an untested class that implements Conn",
    source: `${declared}export const make = () => new New();`,
    says: /x\.ts creates a New/,
  },
  {
    name: "a second file that creates a tested connection",
    source: "import { SocketConn } from './y.ts';\nnew SocketConn(socket);",
    says: /x\.ts creates a SocketConn/,
  },
  { name: "a class that no code creates", source: declared, says: /New is a Conn/ },
  {
    name: "a connection that is an object without a class",
    source: "export const make = (): Conn => ({ read, write, closeWrite, abort });",
    says: /without a class/,
  },
  {
    name: "an object asserted to be a connection",
    source: "export const make = () => Object.create(other) as Conn;",
    says: /without a check/,
  },
];
for (const { name, source, says } of cases) {
  Deno.test(`the law of contracts reports ${name}`, () => {
    const problems = connProblems([...files, readSource("src/core/x.ts", source)], connKinds);
    assert.match(problems.join("\n"), says);
  });
}

Deno.test("the law of contracts reports a kind that its file does not create", () => {
  const [first = assert.fail("no kind")] = connKinds;
  const kinds = [...connKinds, { ...first, madeBy: ["src/core/log.ts"] }];
  assert.match(connProblems(files, kinds).join("\n"), /src\/core\/log\.ts creates no/);
});

/** Finds untested transports by kind, by class and by file. */
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
    ...triedPlaces.filter((path) => !places.includes(path)).map((path) => `${path} creates no transport`),
    ...tried.filter(({ kind }) => !kinds.includes(kind)).map(({ kind }) => `there is no kind ${kind}`),
  ];
}

const ownFiles = files.filter(({ path }) => path.startsWith("src/"));
// `direct` exists without a configuration.
const kinds = ["direct", ...transportKinds.map(({ type }) => type)];

Deno.test("the contract of Transport runs against every kind and every class", () => {
  assert.ok(classesOf("Transport", ownFiles).size > 5);
  assert.deepEqual(transportProblems(ownFiles, kinds, transportsTried), []);
});

const newTransports = [
  {
    name: "an untested class that implements Transport",
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

Deno.test("the law of contracts reports an untested kind of transport and an unknown one", () => {
  const problems = transportProblems(ownFiles, [...kinds, "tunnel"], [...transportsTried, {
    kind: "teleport",
    of: "Direct",
  }]);
  assert.deepEqual(problems, ["transportsTried has no kind tunnel", "there is no kind teleport"]);
});
