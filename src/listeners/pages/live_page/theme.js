import { byId } from "./elements.js";

const kept = "postern-theme";

/** Applies the system's color scheme or the user's choice. */
export function startTheme() {
  const select = /** @type {HTMLSelectElement} */ (byId("theme"));
  const apply = (/** @type {string} */ theme) => {
    document.documentElement.dataset.theme = theme;
    select.value = theme;
  };
  const stored = localStorage.getItem(kept);
  apply(stored === "light" || stored === "dark" ? stored : "auto");
  select.addEventListener("change", () => {
    localStorage.setItem(kept, select.value);
    apply(select.value);
  });
}
