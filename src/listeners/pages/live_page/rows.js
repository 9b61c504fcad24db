/** @typedef {import("./state.js").Connection} Connection */
/** @typedef {{ key: string, isDescending: boolean }} Order */

/** The sort key of a connection by column. @type {Record<string, (connection: Connection) => string | number>} */
const keys = {
  target: ({ target }) => target,
  path: ({ transport }) => transport,
  because: ({ because }) => because,
  client: ({ client }) => client,
  end: ({ outcome }) => outcome ?? "",
  downRate: ({ downRate }) => downRate ?? 0,
  upRate: ({ upRate }) => upRate ?? 0,
  down: ({ down }) => down,
  up: ({ up }) => up,
  age: ({ startedAt }) => startedAt,
  id: ({ id }) => id,
};

/** The connections that contain every word of the filter, in the chosen order; equal ones newest first. */
export function chosen(
  /** @type {Iterable<Connection>} */ connections,
  /** @type {string} */ filter,
  /** @type {Order} */ { key, isDescending },
) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = words.length === 0
    ? [...connections]
    : [...connections].filter((one) => words.every((word) => textOf(one).includes(word)));
  const of = keys[key] ?? keys.id;
  if (!of) return kept;
  // The youngest of an ascending age started last.
  const sign = (isDescending ? -1 : 1) * (key === "age" ? -1 : 1);
  return kept.sort((a, b) => {
    const [one, other] = [of(a), of(b)];
    return one < other ? -sign : one > other ? sign : b.id - a.id;
  });
}

/** The visible rows of a long table, and the height of the hidden rows above and below. */
export function seen(
  /** @type {{ count: number, top: number, height: number, row: number, spare?: number }} */
  { count, top, height, row, spare = 6 },
) {
  const first = Math.max(0, Math.min(Math.floor(top / row) - spare, count - 1));
  const last = Math.min(count, Math.ceil((top + height) / row) + spare);
  return { first, last, above: first * row, below: Math.max(0, count - last) * row };
}

function textOf(/** @type {Connection} */ one) {
  const {
    id,
    target,
    transport,
    because,
    client,
    user = "",
    protocol,
    forward = "",
    outcome = "",
    reason = "",
  } = one;
  return `#${id} ${target} ${transport} ${because} ${client} ${user} ${protocol} ${forward} ${outcome} ${reason}`
    .toLowerCase();
}
