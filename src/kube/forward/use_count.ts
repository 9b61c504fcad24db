/** How many are at work with something, so that it is kept for them. */
export class UseCount {
  #count = 0;

  get isZero(): boolean {
    return this.#count === 0;
  }

  /** Counts one more until it is disposed. */
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
