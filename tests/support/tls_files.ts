/** The certificates of the tests (`tests/support/tls/make.sh`). Reading them needs `--allow-read`. */
export const testTls = {
  ca: read("ca.crt"),
  server: { cert: read("server.crt"), key: read("server.key") },
  client: { cert: read("client.crt"), key: read("client.key") },
};

function read(name: string): string {
  return Deno.readTextFileSync(new URL(`./tls/${name}`, import.meta.url));
}
