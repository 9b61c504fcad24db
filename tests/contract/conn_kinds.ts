import type { ConnKind } from "./conn_contract.ts";
import { controlStreams } from "./conns/control_streams.ts";
import { memoryConns } from "./conns/memory_conns.ts";
import { packetTunnels } from "./conns/packet_tunnels.ts";
import { portForwards } from "./conns/port_forwards.ts";
import { programConns } from "./conns/program_conns.ts";
import { sockets } from "./conns/sockets.ts";
import { sshChannels } from "./conns/ssh_channels.ts";
import { tlsConns } from "./conns/tls_conns.ts";

/** Kinds that start a program for each connection and take longer than the others. */
export const slowConnKinds: readonly ConnKind[] = programConns();

/** Every kind of connection. `tests/unit/scripts/contracts_test.ts` fails for one that is missing here. */
export const connKinds: readonly ConnKind[] = [
  ...memoryConns(),
  ...controlStreams(),
  ...sockets(),
  ...tlsConns(),
  ...slowConnKinds,
  ...sshChannels(),
  ...portForwards(),
  ...packetTunnels(),
];
