import assert from "node:assert/strict";
import { html } from "../../../../src/listeners/pages/html.ts";

Deno.test("html escapes its parts in text and in attributes, and nothing twice", () => {
  const hostile = `<img src=x onerror="a" b='c'>&amp;`;
  const inner = html`<i title="${hostile}">${hostile}</i>`;
  const shown = "&#60;img src=x onerror=&#34;a&#34; b=&#39;c&#39;&#62;&#38;amp;";
  assert.equal(inner.text, `<i title="${shown}">${shown}</i>`);
  assert.equal(html`${inner}|${[inner, inner]}|${7}`.text, `${inner.text}|${inner.text}${inner.text}|7`);
});
