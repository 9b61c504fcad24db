/** Formats a byte count: `312 B`, `1.2 MB`. */
export function bytes(/** @type {number} */ count) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Formats bytes per second. */
export function rate(/** @type {number} */ perSecond) {
  return `${bytes(perSecond)}/s`;
}

/** Formats a duration in its two largest units: `3m 12s`. */
export function age(/** @type {number} */ ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ].filter(([count]) => Number(count) > 0);
  return parts.slice(0, 2).map(([count, unit]) => `${count}${unit}`).join(" ") || "0s";
}

/** `1 connection`, `2 connections`. */
export function counted(/** @type {number} */ count, /** @type {string} */ noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Formats a time of day in the browser's time zone. */
export function clock(/** @type {string} */ iso) {
  return new Date(iso).toLocaleTimeString(undefined, { hour12: false });
}
