import { announce, buttonById, byId, element, onChoice, say } from "./elements.js";

/** @typedef {{ pac: string, http: string, socks: string, sh: string, fish: string, powershell: string, notes: string[], needsAuth: boolean }} Use */
/** @typedef {{ name: string, about: string, text: (use: Use) => string }} Kind */

/** @type {Record<string, Kind>} */
const kinds = {
  pac: {
    name: "Browser",
    about: "Automatic proxy configuration: targets with a route use postern, all others stay direct.",
    text: ({ pac }) => pac,
  },
  sh: {
    name: "sh",
    about: 'The same as eval "$(postern env)", for bash, zsh and the like.',
    text: ({ sh }) => sh,
  },
  fish: { name: "fish", about: "The same as postern env --shell fish | source.", text: ({ fish }) => fish },
  powershell: {
    name: "PowerShell",
    about: "The same as postern env --shell powershell.",
    text: ({ powershell }) => powershell,
  },
  program: {
    name: "One program",
    about: "postern resolves the names.",
    text: ({ socks, http }) =>
      [
        `curl -x ${socks} https://example.com/`,
        `git -c http.proxy=${socks} clone https://example.com/x.git`,
        `kubectl config set-cluster NAME --proxy-url=${http}`,
        "",
      ].join("\n"),
  },
};

/** Shows the proxy settings to copy for each kind of client. */
export async function startSnippets(/** @type {import("./instance.js").Instance} */ instance) {
  const place = byId("use-kinds");
  for (const [key, { name }] of Object.entries(kinds)) {
    const input = element("input", { type: "radio", name: "use", value: key });
    input.checked = key === "pac";
    place.append(element("label", {}, input, element("span", {}, name)));
  }
  const code = byId("use-text");
  buttonById("use-copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent ?? "");
      announce("Copied.");
    } catch {
      getSelection()?.selectAllChildren(code);
      announce("The browser does not allow copying. The text is selected: press Ctrl+C.");
    }
  });
  /** @type {Use} */
  let use;
  try {
    use = await instance.ask("/use.json");
  } catch (error) {
    say(byId("use-said"), error instanceof Error ? error.message : String(error));
    return;
  }
  const show = (/** @type {string} */ key) => {
    const kind = kinds[key];
    if (!kind) return;
    say(
      byId("use-said"),
      use.needsAuth ? `${kind.about} The listener requires a user and a password.` : kind.about,
    );
    say(code, kind.text(use).trimEnd());
  };
  show("pac");
  onChoice("use", show);
}
