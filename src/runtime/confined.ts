import { keepOnly } from "./permissions.ts";

/** Whether this is the worker of `runConfined`. */
export const isConfined: boolean = "DedicatedWorkerGlobalScope" in globalThis;

/** What a worker may do: a list takes the place of a grant without one, which Deno lets nobody narrow otherwise. */
export type WorkerPermissions = Deno.PermissionOptionsObject;

/**
 * Runs the program again in a worker with these permissions, gives up our own, and resolves with the exit code that the
 * worker tells. No package is loaded outside the worker.
 */
export async function runConfined(main: string, permissions: WorkerPermissions): Promise<number> {
  const worker = new Worker(main, { type: "module", deno: { permissions } });
  // Deno asks us, and not the worker, whether it may read the modules that it loads.
  keepOnly(["read"]);
  const { promise, resolve } = Promise.withResolvers<number>();
  worker.addEventListener("message", ({ data }) => resolve(typeof data === "number" ? data : 1));
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    console.error(`postern: error: Unexpected failure: ${event.message}`);
    resolve(1);
  });
  return await promise;
}

/** Ends the program; a worker has that done for it. */
export function exit(code: number): void {
  if (isConfined) (globalThis as unknown as { postMessage(code: number): void }).postMessage(code);
  else Deno.exit(code);
}
