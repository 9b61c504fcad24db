/** Counts the users of an object, so that it stays alive while it has some. */
export class UseCount {
  #count = 0;

  get isZero(): boolean {
    return this.#count === 0;
  }

  /** Adds one user until the result is disposed. */
  begin(): Disposable {
    this.#count++;
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (!isOver) this.#count--;
        isOver = true;
      },
    };
  }
}
