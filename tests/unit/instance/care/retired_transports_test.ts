import assert from "node:assert/strict";
import { RetiredTransports } from "../../../../src/instance/care/retired_transports.ts";
import type { BuiltTransport } from "../../../../src/transports/mod.ts";
import { settle } from "../../../support/fake_clock.ts";
import { recordingLog } from "../../../support/recording_log.ts";

type Connections = ConstructorParameters<typeof RetiredTransports>[0];

function retiring(...connections: PromiseWithResolvers<void>[]) {
  const log = recordingLog();
  const needs = (transports: ReadonlySet<BuiltTransport>) =>
    ![...transports].some(({ name }) => name === "c");
  const live = connections.map(({ promise }) => ({
    ended: promise,
    needs,
  })) as unknown as Connections["live"];
  return { log, retired: new RetiredTransports({ live }, log) };
}

function transportOf(name: string, dispose: () => Promise<void> = () => Promise.resolve()) {
  const told = { disposals: 0 };
  const built: BuiltTransport = {
    name,
    type: "proxy",
    settings: undefined,
    transport: {
      name,
      dial: () => Promise.reject(new Error("unexpected dial")),
      [Symbol.asyncDispose]: () => {
        told.disposals++;
        return dispose();
      },
    },
  };
  return { built, told };
}

Deno.test("RetiredTransports waits for the last connection", async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { retired } = retiring(first, second);
  const { built, told } = transportOf("a");
  retired.add([built]);
  first.resolve();
  await settle();
  assert.equal(told.disposals, 0);
  second.resolve();
  await settle();
  assert.equal(told.disposals, 1);
  await retired[Symbol.asyncDispose]();
  assert.equal(told.disposals, 1);
});

Deno.test("RetiredTransports does not wait for connections through other transports", async () => {
  const { retired } = retiring(Promise.withResolvers<void>());
  const { built, told } = transportOf("c");
  retired.add([built]);
  await settle();
  assert.equal(told.disposals, 1);
});

Deno.test("RetiredTransports disposes immediately without connections, and on its own disposal", async () => {
  const { retired } = retiring();
  const { built, told } = transportOf("a");
  retired.add([built]);
  await settle();
  assert.equal(told.disposals, 1);
  const { retired: busy } = retiring(Promise.withResolvers<void>());
  const { built: other, told: ofOther } = transportOf("b");
  busy.add([other]);
  await busy[Symbol.asyncDispose]();
  assert.equal(ofOther.disposals, 1);
});

Deno.test("RetiredTransports logs a failed disposal and continues", async () => {
  const { retired, log } = retiring();
  const { built: broken } = transportOf("broken", () => Promise.reject(new Error("stuck")));
  const { built, told } = transportOf("a");
  retired.add([broken, built]);
  await settle();
  assert.equal(told.disposals, 1);
  assert.deepEqual(
    log.lines.map(({ event, transport, reason }) => [event, transport, reason]),
    [["transport.close_failed", "broken", "stuck"]],
  );
});
