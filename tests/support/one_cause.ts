/** Whether an error reports one failure twice: a line contains "Cannot" more than once. */
export function repeatsCannot(text: string): boolean {
  return text.split("\n").some((line) => line.split("Cannot ").length > 2);
}
