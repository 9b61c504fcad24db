/** Incremented when an older client would misread an answer. */
export const controlProtocol = 1;
