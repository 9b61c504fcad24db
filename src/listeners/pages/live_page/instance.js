/** @typedef {import("./state.js").Whole | import("./state.js").Step} Message */
/**
 * @typedef {object} Told
 * @property {(message: Message) => void} message
 * @property {(why: string) => void} lost
 * @property {() => void} locked
 */

const retry = 2000;
/** How long the instance may stay silent before the page reconnects; it sends an update every second. */
const mostSilence = 10_000;
const kept = "postern-token";

/** The page's requests to its instance. The token is in a header, never in a URL. */
export class Instance {
  #token = ownToken();
  #told;
  #isWanted = false;
  /** @type {AbortController | undefined} */
  #stream;

  constructor(/** @type {Told} */ told) {
    this.#told = told;
    document.addEventListener("visibilitychange", () => this.#follow());
  }

  /** Whether to watch the instance; a hidden page does not. */
  set isWatched(/** @type {boolean} */ isWanted) {
    this.#isWanted = isWanted;
    this.#follow();
  }

  /**
   * Returns the JSON of an answer; throws the error message of a failed request.
   * @param {string} path
   * @param {"GET" | "POST"} [method]
   */
  async ask(path, method = "GET") {
    let response;
    try {
      response = await fetch(path, { method, headers: this.#headers });
    } catch {
      throw new Error("The instance does not answer");
    }
    if (response.status === 401) throw new Error("The instance has restarted: reload this page");
    const answer = await response.json();
    if (!response.ok) throw new Error([answer.message, answer.hint].filter(Boolean).join("\n"));
    return answer;
  }

  get #headers() {
    return { "Postern-Token": this.#token };
  }

  #follow() {
    const isSeen = this.#isWanted && !document.hidden;
    if (isSeen && !this.#stream) {
      this.#stream = new AbortController();
      this.#watch(this.#stream.signal);
    } else if (!isSeen && this.#stream) {
      this.#stream.abort();
      this.#stream = undefined;
    }
  }

  async #watch(/** @type {AbortSignal} */ signal) {
    while (!signal.aborted) {
      try {
        const why = await this.#read(signal);
        if (why === "locked") return this.#told.locked();
        if (!signal.aborted) this.#told.lost(why);
      } catch {
        if (!signal.aborted) {
          this.#told.lost("The instance does not answer. The page shows its last known state.");
        }
      }
      await new Promise((resolve) => setTimeout(resolve, retry));
    }
  }

  /** Reads updates until the stream ends; returns the reason. */
  async #read(/** @type {AbortSignal} */ signal) {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), mostSilence);
    try {
      const response = await fetch("/events", {
        headers: this.#headers,
        signal: AbortSignal.any([signal, silence.signal]),
      });
      if (response.status === 401) return this.#refused();
      if (!response.ok || !response.body) return (await response.json()).message;
      const decoder = new TextDecoder();
      let begun = "";
      for (const reader = response.body.getReader();;) {
        const { done, value } = await reader.read();
        if (done) return "The instance is stopping.";
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), mostSilence);
        const events = (begun + decoder.decode(value, { stream: true })).split("\n\n");
        begun = events.pop() ?? "";
        for (const event of events) this.#told.message(JSON.parse(event.slice("data: ".length)));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** A restarted instance has a new token, which a reload of the page provides. */
  #refused() {
    sessionStorage.removeItem(kept);
    const wasOwn = this.#token !== "";
    this.#token = "";
    const last = Number(sessionStorage.getItem("postern-loaded") ?? 0);
    if (!wasOwn || Date.now() - last < 5000) return "locked";
    sessionStorage.setItem("postern-loaded", String(Date.now()));
    location.reload();
    return "The instance has restarted.";
  }
}

/** The token from the page, otherwise from the URL fragment, which is then removed. */
function ownToken() {
  const meta = document.querySelector('meta[name="postern-token"]');
  const own = meta?.getAttribute("content") ?? "";
  meta?.remove();
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given !== null) {
    history.replaceState(null, "", location.pathname);
    sessionStorage.setItem(kept, given);
  }
  return own || given || (sessionStorage.getItem(kept) ?? "");
}
