import { runPeer } from "./peer_program.ts";

/** A step at a terminal: wait for a text on the screen, then press keys, send a signal or change the size. */
export type AtTerminal =
  & { readonly until: string }
  & ({ readonly press: string } | { readonly signal: "INT" | "TERM" | "QUIT" | "HUP" } | {
    readonly size: { readonly columns: number; readonly rows: number };
  });

export interface TerminalSession {
  /** The whole screen output. */
  readonly screen: string;
  /** The exit code; a negative number for a signal. */
  readonly code: number;
  /** The terminal's echo and line modes while the program waits in each step. */
  readonly during: readonly TerminalMode[];
  /** The modes after the program's exit. */
  readonly after: TerminalMode;
}

export interface TerminalMode {
  readonly echo: boolean;
  readonly lines: boolean;
}

/** Runs a program in a new terminal, which python creates. */
export async function atTerminal(
  python: string,
  command: readonly string[],
  { steps, env = {} }: {
    readonly steps: readonly AtTerminal[];
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<TerminalSession> {
  const { code, stdout, stderr } = await runPeer(
    python,
    ["-c", program, JSON.stringify({ command, steps })],
    {
      env,
    },
  );
  if (code !== 0) throw new Error(`the terminal: ${stderr}`);
  return JSON.parse(stdout);
}

const program = `
import fcntl, json, os, pty, select, signal, struct, sys, termios, time
asked = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(asked["command"][0], asked["command"])

def mode():
    flags = termios.tcgetattr(terminal)[3]
    return {"echo": bool(flags & termios.ECHO), "lines": bool(flags & termios.ICANON)}

screen = b""
def read():
    global screen
    if not select.select([terminal], [], [], 90)[0]:
        os.kill(pid, signal.SIGKILL)
        sys.exit("never: " + screen.decode(errors="replace"))
    try:
        more = os.read(terminal, 4096)
    except OSError:
        return False
    screen += more
    return len(more) > 0

seen, during = 0, []
for step in asked["steps"]:
    text = step["until"].encode()
    while text not in screen[seen:]:
        if not read():
            sys.exit("ended: " + screen.decode(errors="replace"))
    seen = screen.index(text, seen) + len(text)
    during.append(mode())
    if "size" in step:
        size = struct.pack("HHHH", step["size"]["rows"], step["size"]["columns"], 0, 0)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
    elif "press" in step:
        os.write(terminal, step["press"].encode())
    else:
        os.kill(pid, getattr(signal, "SIG" + step["signal"]))
while read():
    pass
_, status = os.waitpid(pid, 0)
print(json.dumps({
    "screen": screen.decode(errors="replace"),
    "code": os.waitstatus_to_exitcode(status),
    "during": during,
    "after": mode(),
}))
`;
