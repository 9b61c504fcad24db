/** The answers on a control socket, by path. */
export type HostileAnswers = Readonly<Record<string, unknown>>;

export interface HostileOptions {
  /** The expected directory of a control socket; created with mode 0700 if missing. */
  readonly directory: string;
  readonly answers: HostileAnswers;
  /** The user id of the process (default: our own). */
  readonly uid?: number;
}

/**
 * Binds `default.sock` like an instance, sends the test's answers, and records its clients. It exits by
 * itself, so that a killed test leaves no process.
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

/** A process that imitates an instance with the test's answers. */
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

  /** The number of accepted clients. */
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
      // It received a stop request.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#child.status;
    await this.#said;
  }
}
