import { silentLog } from "../../src/core/mod.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { createProcess } from "../../src/runtime/programs/process.ts";
import { systemClock as clock } from "../../src/runtime/system_clock.ts";
import { Openssh } from "../../src/ssh/openssh/openssh.ts";
import { OpensshDirectory } from "../../src/ssh/openssh/openssh_directory.ts";
import { sshHost } from "./ssh_host.ts";

// A program for tests to kill: it signs in to a host with the ssh program, prints a line, and waits.
const [parent = "", config = "", alias = ""] = Deno.args;
const files = createFiles(clock);
const network = createNetwork();
const process = createProcess({ clock, files, main: "", flags: [] });
const log = silentLog;
const directory = new OpensshDirectory({ parent, platform: process.platform, network, files, clock, log });
const times = { keepalive: 3000, deadAfter: 6000, connectTimeout: 10_000 };
const host = new Openssh({
  host: sshHost(alias, { hostName: alias }),
  target: { alias, config },
  deps: { network, files, process, clock, log, directory, times },
});
await host.ready({ signal: new AbortController().signal });
console.log("ready");
