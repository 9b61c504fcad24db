/** What answers on a control socket, by the path that is asked for. */
export type HostileAnswers = Readonly<Record<string, unknown>>;

export interface HostileOptions {
  /** Where a control socket is expected; made if missing, closed to others. */
  readonly directory: string;
  readonly answers: HostileAnswers;
  /** Whom the process runs as; ourselves when absent. */
  readonly uid?: number;
}

/**
 * Binds `default.sock` as an instance would, answers as it is told, and writes down who comes. It ends by itself: a test
 * that is killed leaves nothing behind.
 */
const script = `
use strict; use IO::Socket::UNIX;
alarm 120; $| = 1; umask 077; $SIG{PIPE} = "IGNORE";
my ($directory, %answers) = @ARGV;
-d $directory or mkdir $directory, 0700 or die "mkdir: $!";
open my $lock, ">", "$directory/default.lock" or die "lock: $!";
my $server = IO::Socket::UNIX->new(Local => "$directory/default.sock", Listen => 50) or die "bind: $!";
print "bound\\n";
while (my $client = $server->accept) {
  print "accepted\\n";
  my ($head, $line) = ("", "");
  while (defined($line = <$client>)) { $head .= $line; last if $line =~ /^\\r?\\n$/ }
  my ($path) = $head =~ /^\\S+ ([^? ]+)/;
  my $answer = $answers{$path // ""} // "{}";
  print $client "HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nConnection: close\\r\\n\\r\\n$answer";
  close $client;
  if (($path // "") eq "/v1/stop" && $answers{"ends"}) { unlink "$directory/default.sock"; exit }
}
`;

/** A process that plays an instance, with answers of the test's choice. */
export class HostileInstance implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #said: Promise<void>;
  #text = "";

  private constructor(child: Deno.ChildProcess, bound: () => void) {
    this.#child = child;
    this.#said = this.#read(bound);
  }

  static async start(perl: string, { directory, answers, uid }: HostileOptions): Promise<HostileInstance> {
    const words = Object.entries(answers).flatMap(([path, answer]) => [
      path,
      typeof answer === "string" ? answer : JSON.stringify(answer),
    ]);
    const child = new Deno.Command(perl, {
      args: ["-e", script, directory, ...words],
      ...(uid !== undefined && { uid, gid: uid }),
      clearEnv: true,
      cwd: "/",
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const bound = Promise.withResolvers<void>();
    const instance = new HostileInstance(child, bound.resolve);
    await Promise.race([bound.promise, instance.#said]);
    if (!instance.#text.startsWith("bound\n")) {
      throw new Error("the hostile instance has not bound its socket");
    }
    return instance;
  }

  /** How many have connected. */
  get accepted(): number {
    return this.#text.match(/^accepted$/gm)?.length ?? 0;
  }

  async #read(bound: () => void): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#child.stdout) {
      this.#text += decoder.decode(bytes, { stream: true });
      if (this.#text.startsWith("bound\n")) bound();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      // It was told to stop.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#child.status;
    await this.#said;
  }
}
