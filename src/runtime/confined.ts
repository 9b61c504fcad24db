import { keepOnly } from "./permissions.ts";

/** Whether this is the worker of `runConfined`. */
export const isConfined: boolean = "DedicatedWorkerGlobalScope" in globalThis;

/** The permissions of a worker. A list replaces a grant without one, which Deno cannot narrow otherwise. */
export type WorkerPermissions = Deno.PermissionOptionsObject;

/**
 * Runs the program again in a worker with these permissions, drops our own, and resolves with the exit code
 * from the worker. Packages load only in the worker.
 */
export async function runConfined(main: string, permissions: WorkerPermissions): Promise<number> {
  const worker = new Worker(main, { type: "module", deno: { permissions } });
  // Deno checks our permission, not the worker's, to read the worker's modules.
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

/** Ends the program; in a worker, sends the exit code to the main thread. */
export function exit(code: number): void {
  if (isConfined) (globalThis as unknown as { postMessage(code: number): void }).postMessage(code);
  else Deno.exit(code);
}
