/** A port that serves as a lock: the process that listens on it may use port 18000 for sign-ins. */
const turnPort = 18001;
const patience = 180_000;

/** Waits for the exclusive use of port 18000, the redirect address, among all test runs on this machine. */
export async function signInTurn(): Promise<Disposable> {
  const end = performance.now() + patience;
  while (true) {
    try {
      const listener = Deno.listen({ hostname: "127.0.0.1", port: turnPort });
      return { [Symbol.dispose]: () => listener.close() };
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse) || performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
