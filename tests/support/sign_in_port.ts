/** A port that nobody listens on for anything else: whoever has it may sign in on 18000, which is only one too. */
const turnPort = 18001;
const patience = 180_000;

/** Takes a turn at port 18000, where browsers come back to; other runs of these tests on this machine wait. */
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
