// Loaded only for decryption, because it is the largest library of postern.
export {
  createMessage,
  decrypt,
  decryptKey,
  encrypt,
  type Message,
  type PrivateKey,
  readKey,
  readMessage,
  readPrivateKeys,
} from "openpgp";
