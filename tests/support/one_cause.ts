/** Whether an error tells of one failure twice: it says "Cannot" more than once in a line. */
export function repeatsCannot(text: string): boolean {
  return text.split("\n").some((line) => line.split("Cannot ").length > 2);
}
