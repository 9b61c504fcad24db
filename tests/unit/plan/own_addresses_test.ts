import assert from "node:assert/strict";
import { isAmong } from "../../../src/plan/mod.ts";

for (
  const { host, bound, is } of [
    { host: "127.0.0.1", bound: "127.0.0.1", is: true },
    { host: "0x7f.1", bound: "127.0.0.1", is: true },
    { host: "[::FFFF:7f00:1]", bound: "127.0.0.1", is: true },
    { host: "0.0.0.0", bound: "127.0.0.1", is: true },
    { host: "0", bound: "127.0.0.1", is: true },
    { host: "::", bound: "::1", is: true },
    { host: "::", bound: "127.0.0.1", is: true },
    { host: "127.0.0.2", bound: "127.0.0.1", is: false },
    { host: "127.0.0.2", bound: "0.0.0.0", is: true },
    { host: "0.0.0.0", bound: "192.0.2.1", is: false },
    { host: "0.0.0.0", bound: "0.0.0.0", is: true },
    { host: "192.0.2.1", bound: "0.0.0.0", is: false },
    { host: "LocalHost.", bound: "127.0.0.1", is: true },
    { host: "a.localhost", bound: "127.0.0.1", is: true },
    { host: "example.test", bound: "127.0.0.1", is: false },
  ]
) {
  Deno.test(`isAmong() is ${is} for ${host} with a listener on ${bound}`, () => {
    assert.equal(isAmong({ host, port: 1 }, [{ host: bound, port: 1 }]), is);
    assert.equal(isAmong({ host, port: 2 }, [{ host: bound, port: 1 }]), false);
  });
}
