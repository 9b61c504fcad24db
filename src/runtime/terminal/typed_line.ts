/** What typing came to. */
export type TypedEnd =
  | { readonly kind: "line"; readonly text: string }
  /** The end of the input, with nothing typed before it. */
  | { readonly kind: "end" }
  | { readonly kind: "interrupted" };

/** What to show for the bytes that came, and how the line ended where it did. */
export interface Typed {
  readonly shown: string;
  readonly end?: TypedEnd;
}

/** A line as a person types it at a terminal in raw mode; the bytes may come cut anywhere. */
export class TypedLine {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #limit: number;
  #characters: string[] = [];
  #escape: "none" | "begun" | "sequence" | "letter" = "none";

  /** What is typed beyond `limit` characters is not taken. */
  constructor({ limit = 1024 }: { readonly limit?: number } = {}) {
    this.#limit = limit;
  }

  /** Takes what came; what follows the end of the line is dropped. */
  take(bytes: Uint8Array): Typed {
    let shown = "";
    for (const character of this.#decoder.decode(bytes, { stream: true })) {
      const end = this.#endBy(character);
      if (end) return { shown, end };
      shown += this.#type(character);
    }
    return { shown };
  }

  #endBy(character: string): TypedEnd | undefined {
    switch (character) {
      case "\r":
      case "\n":
        return { kind: "line", text: this.#characters.join("") };
      case keys.end:
        return this.#characters.length > 0
          ? { kind: "line", text: this.#characters.join("") }
          : { kind: "end" };
      case keys.interrupt:
        return { kind: "interrupted" };
      default:
        return undefined;
    }
  }

  #type(character: string): string {
    if (this.#isInEscape(character)) return "";
    switch (character) {
      case keys.backspace:
      case keys.delete:
        return this.#characters.pop() === undefined ? "" : erased;
      case keys.kill:
        return erased.repeat(this.#characters.splice(0).length);
    }
    if (/\p{Cc}/u.test(character) || this.#characters.length >= this.#limit) return "";
    this.#characters.push(character);
    return character;
  }

  /** Arrow keys and the like send several characters (ECMA-48, section 5.4), none of which is meant as text. */
  #isInEscape(character: string): boolean {
    const before = this.#escape;
    if (character === keys.escape) this.#escape = "begun";
    else if (before === "begun") {
      this.#escape = character === "[" ? "sequence" : character === "O" ? "letter" : "none";
    } else if (before === "letter" || /[@-~]/.test(character)) this.#escape = "none";
    return before !== "none" || this.#escape !== "none";
  }
}

const keys = {
  interrupt: "\x03",
  end: "\x04",
  backspace: "\b",
  kill: "\x15",
  escape: "\x1b",
  delete: "\x7f",
} as const;

const erased = "\b \b";
