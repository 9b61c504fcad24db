import assert from "node:assert/strict";
import { PosternError } from "../../../src/words/mod.ts";
import { parseForwards } from "../../../src/listeners/mod.ts";

const options = { absolute: (path: string) => path.startsWith("/") ? path : `/here/${path}` };
const read = (words: string, namespace?: string) =>
  parseForwards(words.split(" "), { ...options, namespace }).map(({ listen, target }) =>
    `${listen} > ${target}`
  );

const spellings: Readonly<Record<string, readonly string[]>> = {
  "5432:db.example:5432": ["localhost:5432 > db.example:5432"],
  "0:db.example:5432": ["localhost:0 > db.example:5432"],
  "localhost:5432:DB.example.:5432": ["localhost:5432 > DB.example.:5432"],
  "127.0.0.1:5432:db.example:5432": ["127.0.0.1:5432 > db.example:5432"],
  "127.0.0.1:5432:10.0.0.1:80": ["127.0.0.1:5432 > 10.0.0.1:80"],
  "[::1]:5432:[2001:db8::1]:5432": ["[::1]:5432 > [2001:db8::1]:5432"],
  "5432:[2001:db8::1]:5432": ["localhost:5432 > [2001:db8::1]:5432"],
  "/run/db.sock:db.example:5432": ["unix:/run/db.sock > db.example:5432"],
  "unix:db.sock:db.example:5432": ["unix:/here/db.sock > db.example:5432"],
  "./db.sock:db.example:5432": ["unix:/here/./db.sock > db.example:5432"],
  "5432:/run/db.sock": ["localhost:5432 > unix:/run/db.sock"],
  "/a.sock:/b.sock": ["unix:/a.sock > unix:/b.sock"],
  "unix:/a.sock:unix:/b.sock": ["unix:/a.sock > unix:/b.sock"],
  "svc/db 5432:5432 -n shop": ["localhost:5432 > db.shop.svc:5432"],
  "-n shop svc/db 5432": ["localhost:5432 > db.shop.svc:5432"],
  "--namespace=shop service/db :5432": ["localhost:0 > db.shop.svc:5432"],
  "svc/db 5432 8080:80 svc/web :80": [
    "localhost:5432 > db:5432",
    "localhost:8080 > db:80",
    "localhost:0 > web:80",
  ],
  "svc/db.shop 5432": ["localhost:5432 > db.shop.svc:5432"],
  "5432:svc/db:5432 -n shop": ["localhost:5432 > db.shop.svc:5432"],
};

for (const [words, forwards] of Object.entries(spellings)) {
  Deno.test(`parseForwards() reads ${words}`, () => assert.deepEqual(read(words), forwards));
}

Deno.test("parseForwards() uses the given namespace for Services only", () => {
  assert.deepEqual(read("svc/db 5432 6000:web.example:80", "shop"), [
    "localhost:5432 > db.shop.svc:5432",
    "localhost:6000 > web.example:80",
  ]);
});

const refused: Readonly<Record<string, RegExp>> = {
  "db.example:5432": /Cannot read "db.example:5432" as a forward.*\[ADDR:\]PORT:HOST:PORT/s,
  "5432": /as a forward/,
  "": /as a forward/,
  "5432:db.example": /as a forward/,
  "5432:db.example:http": /as a forward/,
  ":5432:db.example:5432": /invalid address.*name the interface/s,
  "*:5432:db.example:5432": /invalid address.*name the interface/s,
  "gateway:5432:db.example:5432": /invalid address/,
  "5432:db.example:0": /port 0 is not a target/,
  "5432:db.example:70000": /over 65535/,
  "70000:db.example:1": /invalid address/,
  "pod/web-0 8080:80": /postern routes names of Services.*svc\/NAME/s,
  "deployment/web 8080:80": /postern routes names of Services/,
  "web-0 8080:80": /Cannot read "web-0" as a forward/,
  "svc/db": /missing port/,
  "svc/db svc/web 80": /"svc\/db": missing port/,
  "svc/db 5432:postgres": /as a forward/,
  "svc/db 5432 -n": /missing namespace/,
};

for (const [words, says] of Object.entries(refused)) {
  Deno.test(`parseForwards() refuses ${JSON.stringify(words)}`, () => {
    assert.throws(() => read(words), (error) => {
      assert.ok(error instanceof PosternError);
      assert.equal(error.code, "usage");
      assert.match(`${error.message}\n${error.hint}`, says);
      return true;
    });
  });
}
