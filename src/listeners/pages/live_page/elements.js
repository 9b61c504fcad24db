/** The element of the page with this id. */
export function byId(/** @type {string} */ id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no ${id}`);
  return found;
}

/** The input with this id. */
export function inputById(/** @type {string} */ id) {
  return /** @type {HTMLInputElement} */ (byId(id));
}

/** The button with this id. */
export function buttonById(/** @type {string} */ id) {
  return /** @type {HTMLButtonElement} */ (byId(id));
}

/**
 * A new element. Strings become text and never markup, from any source.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string | number>} [attributes]
 * @param {...(Node | string | undefined | false)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children.filter((child) => child !== undefined && child !== false));
  return made;
}

/** Sets a text only if it differs, which avoids needless layout. */
export function say(/** @type {Element} */ where, /** @type {string} */ text) {
  if (where.textContent !== text) where.textContent = text;
}

/** Announces the result of an action, also to screen readers. */
export function announce(/** @type {string} */ text) {
  byId("said").textContent = text;
}

/** Calls `changed` with each new choice among radio buttons of one name. */
export function onChoice(/** @type {string} */ name, /** @type {(value: string) => void} */ changed) {
  document.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLInputElement && target.name === name) changed(target.value);
  });
}
