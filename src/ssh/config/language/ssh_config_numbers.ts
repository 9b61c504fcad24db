/** The default port of ssh. */
export const usualSshPort = 22;

/** A port from 1 to 65535; of all service names only `ssh` is accepted. */
export function parsePort(text: string): number | undefined {
  if (text === "ssh") return usualSshPort;
  const port = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65535 ? port : undefined;
}

const units: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** The seconds of `90`, `1m30s`, `2h` … (sshd_config(5), TIME FORMATS). */
export function parseSeconds(text: string): number | undefined {
  if (text.length > 64 || !/^(\d+[smhdw]?)+$/i.test(text)) return undefined;
  let seconds = 0;
  for (const [, count, unit = ""] of text.matchAll(/(\d+)([smhdw]?)/gi)) {
    seconds += Number(count) * (units[unit.toLowerCase()] ?? 1);
  }
  return seconds <= 0x7fffffff ? seconds : undefined;
}
