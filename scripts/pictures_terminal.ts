/** A command of a recorded terminal session. */
export interface RecordedStep {
  /** A remark above the command, without `#`. */
  readonly remark?: string;
  readonly command: string;
  /** The lines that the command printed. */
  readonly output: readonly string[];
  /** Screens of a program that draws the whole terminal, such as `postern top`. */
  readonly screens: readonly (readonly string[])[];
  /** How long the command took, if the picture says so. */
  readonly seconds?: number;
}

/** The size of the recorded terminal in characters. */
export const terminalSize = { columns: 118, rows: 26 } as const;

const { columns, rows } = terminalSize;
const [cell, line, margin, bar] = [7.2, 17, 14, 30];
const [width, height] = [columns * cell + 2 * margin, rows * line + bar + margin];
const prompt = "$ ";

/** How long each part stays before the next one, in seconds. */
const pace = { key: 0.02, afterOutput: 0.6, line: 0.22, screen: 1.1, end: 6 } as const;

/** Renders a session as an animated SVG without scripts. Only the last step may have screens. */
export function terminalPicture(title: string, steps: readonly RecordedStep[]): string {
  const drawing = new Drawing();
  for (const step of steps) drawing.add(step);
  return drawing.svg(title);
}

/** The session as plain text: each line of the picture, in the same order. */
export function transcriptOf(steps: readonly RecordedStep[]): string {
  const lines = steps.flatMap(({ remark, command, output, screens, seconds }) => [
    ...remark === undefined ? [] : [`# ${remark}`],
    `${prompt}${command}`,
    ...timeText(seconds),
    ...output.flatMap(wrapped),
    ...screens.flat(),
  ]);
  return `${lines.map((text) => text.trimEnd()).filter((text) => text !== "").join("\n")}\n`;
}

/** Reads the lines of text from a picture, in the order of the file. */
export function textOf(svg: string): string {
  const lines = [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text = ""]) => unescaped(text));
  return `${lines.map((text) => text.trimEnd()).join("\n")}\n`;
}

/** Places lines from top to bottom and notes when each line appears. */
class Drawing {
  readonly #body: string[] = [];
  readonly #screens: string[] = [];
  /** When each group of elements appears; a screen also disappears. */
  readonly #shown: { readonly id: string; readonly from: number; readonly to?: number }[] = [];
  readonly #typed: {
    readonly id: string;
    readonly from: number;
    readonly to: number;
    readonly keys: number;
  }[] = [];
  /** When the output of each typed command appears. */
  readonly #answered: number[] = [];
  readonly #scrolled: { readonly at: number; readonly lines: number }[] = [];
  #now = 0.4;
  #lines = 0;

  add({ remark, command, output, screens, seconds }: RecordedStep): void {
    const typed = `${prompt}${command}`;
    if (typed.length > columns - 8) throw new Error(`the command is too long for the picture: ${command}`);
    // A blank line sets a remark apart from the command above it.
    if (remark !== undefined && this.#lines > 0) this.#lines++;
    if (remark !== undefined) this.#show([`<g class="r">${this.#line(`# ${remark}`)}</g>`]);
    this.#show([this.#type(typed)]);
    this.#now += Math.max(0.15, seconds ?? 0.4);
    this.#answered.push(this.#now);
    const times = timeText(seconds).map((text) =>
      `<g class="r">${this.#text(text, { row: this.#lines - 1, at: columns - text.length })}</g>`
    );
    this.#show([...times, ...output.flatMap(wrapped).map((text) => this.#line(text))]);
    for (const [index, screen] of screens.entries()) {
      const isLast = index === screens.length - 1;
      this.#screen(screen, isLast ? pace.end : pace.screen);
    }
    if (screens.length === 0) this.#now += pace.afterOutput + pace.line * output.length;
  }

  svg(title: string): string {
    const total = this.#now;
    const share = (seconds: number) => `${(100 * Math.min(1, seconds / total)).toFixed(2)}%`;
    const hidden = "visibility:hidden", visible = "visibility:visible";
    const rules = [
      ...this.#shown.map(({ id, from, to }) => {
        const rest = to === undefined || to >= total ? "" : `${share(to)}{${hidden}}`;
        return `@keyframes ${id}{0%{${hidden}}${share(from)}{${visible}}${rest}}#${id}{animation-name:${id}}`;
      }),
      ...this.#typed.map(({ id, from, to, keys }, at) =>
        `@keyframes ${id}{0%,${share(from)}{transform:none;animation-timing-function:steps(${keys})}` +
        `${share(to)}{transform:translateX(${number(keys * cell)}px)}` +
        `${share(this.#answered[at] ?? to)}{transform:translateX(${
          number(width)
        }px)}}#${id}{animation-name:${id}}`
      ),
      `@keyframes s{0%{transform:none}${
        this.#scrolled.map(({ at, lines }) => `${share(at)}{transform:translateY(${-lines * line}px)}`).join(
          "",
        )
      }}#s{animation-name:s}`,
    ];
    const still = `transform:translateY(${-line * (this.#scrolled.at(-1)?.lines ?? 0)}px)`;
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${
      number(width)
    } ${height}" role="img" aria-label="${escaped(title)}">
<style>
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;fill:#d5dae1;white-space:pre}
.c text{fill:#fff;font-weight:600}.r text{fill:#8b96a5}.b{fill:#12161c}.k{fill:#6cc58a}
g[id]{animation:${total.toFixed(1)}s step-end infinite}.x{visibility:hidden}
${rules.join("\n")}
@media (prefers-reduced-motion:reduce){g[id]{animation:none}.k,.w{display:none}#s{${still}}}
</style>
<rect width="100%" height="100%" rx="8" class="b"/>
<g fill="#3a424e"><circle cx="20" cy="15" r="5"/><circle cx="37" cy="15" r="5"/><circle cx="54" cy="15" r="5"/></g>
<svg y="${bar}" width="${number(width)}" height="${rows * line + 4}"><g id="s">
${this.#body.join("\n")}
</g>
${this.#screens.join("\n")}
</svg>
</svg>
`;
  }

  /** Adds elements that appear together now. */
  #show(elements: readonly string[]): void {
    const id = `a${this.#shown.length}`;
    this.#shown.push({ id, from: this.#now });
    this.#body.push(`<g id="${id}">${elements.join("\n")}</g>`);
    if (this.#lines > rows) this.#scrolled.push({ at: this.#now, lines: this.#lines - rows });
    if (elements.join("").includes('class="c"')) this.#now = this.#typed.at(-1)?.to ?? this.#now;
  }

  /** Types a line key by key: a cover, with the cursor at its left edge, moves off the text. */
  #type(text: string): string {
    const id = `t${this.#typed.length}`;
    const keys = text.length - prompt.length;
    const from = this.#now + 0.5;
    this.#typed.push({ id, from, to: from + keys * pace.key, keys });
    const left = margin + prompt.length * cell;
    const y = this.#lines * line;
    const shown = `<g class="c">${this.#line(text)}</g>`;
    return `${shown}<g id="${id}"><rect class="b w" x="${number(left)}" y="${y}" width="${
      number(width - left)
    }" height="${line}"/><rect class="k" x="${number(left)}" y="${y + 2}" width="7" height="14"/></g>`;
  }

  #screen(lines: readonly string[], seconds: number): void {
    const id = `a${this.#shown.length}`;
    this.#shown.push({ id, from: this.#now, to: this.#now += seconds });
    const texts = lines.map((text, row) => this.#text(text, { row })).filter((text) => text !== "");
    this.#screens.push(
      `<g id="${id}" class="x"><rect class="b" width="100%" height="100%"/>${texts.join("\n")}</g>`,
    );
  }

  #line(text: string): string {
    return this.#text(text, { row: this.#lines++ });
  }

  /** Stretches the text to whole cells, because fonts differ in width. */
  #text(text: string, { row, at = 0 }: { readonly row: number; readonly at?: number }): string {
    const shown = text.trimEnd();
    if (shown === "") return "";
    return `<text x="${number(margin + at * cell)}" y="${row * line + 13}" textLength="${
      number(shown.length * cell)
    }" xml:space="preserve">${escaped(shown)}</text>`;
  }
}

/** Wraps a line of output as a terminal does. */
function wrapped(text: string): string[] {
  return text.match(new RegExp(`.{1,${columns}}`, "gu")) ?? [""];
}

function timeText(seconds: number | undefined): string[] {
  return seconds === undefined ? [] : [`${seconds.toFixed(2)} s`];
}

function number(value: number): string {
  return String(Math.round(value * 10) / 10);
}

const entities = [["&", "&amp;"], ["<", "&lt;"], [">", "&gt;"], ['"', "&quot;"]] as const;

function escaped(text: string): string {
  return entities.reduce((all, [character, entity]) => all.replaceAll(character, entity), text);
}

function unescaped(text: string): string {
  return entities.reduceRight((all, [character, entity]) => all.replaceAll(entity, character), text);
}
