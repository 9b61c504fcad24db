import { byId } from "./elements.js";

const kept = "postern-theme";

/** Light or dark as the person's system has it, or as they choose here. */
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
