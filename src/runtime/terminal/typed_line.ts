/** How typing ended. */
export type TypedEnd =
  | { readonly kind: "line"; readonly text: string }
  /** The end of the input before any text. */
  | { readonly kind: "end" }
  | { readonly kind: "interrupted" };

/** The characters to show, and how the line ended, if it did. */
export interface Typed {
  readonly shown: string;
  readonly end?: TypedEnd;
}

/** A line typed at a terminal in raw mode; the bytes may arrive split anywhere. */
export class TypedLine {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #limit: number;
  #characters: string[] = [];
  #escape: "none" | "begun" | "sequence" | "letter" = "none";

  /** Ignores characters beyond `limit`. */
  constructor({ limit = 1024 }: { readonly limit?: number } = {}) {
    this.#limit = limit;
  }

  /** Adds bytes; drops everything after the end of the line. */
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

  /**
   * Whether a character belongs to an escape sequence. Arrow keys and similar ones send several characters
   * (ECMA-48, section 5.4).
   */
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
