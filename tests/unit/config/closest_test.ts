import assert from "node:assert/strict";
import { closest } from "../../../src/config/mod.ts";

const words = ["listen", "transports", "routes", "routesFrom", "default", "direct", "dns", "ssh"];
const cases: [string, string | undefined][] = [
  ["lisen", "listen"],
  ["listenn", "listen"],
  ["lsiten", "listen"],
  ["LISTEN", "listen"],
  ["route", "routes"],
  ["routesfrom", "routesFrom"],
  ["shs", "ssh"],
  ["transport", "transports"],
  ["zzz", undefined],
  ["", undefined],
  ["x".repeat(100_000), undefined],
];
for (const [word, meant] of cases) {
  Deno.test(`closest() of ${JSON.stringify(word.slice(0, 12))} is ${meant}`, () => {
    assert.equal(closest(word, words), meant);
  });
}
