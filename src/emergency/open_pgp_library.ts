// Loaded when something is to be decrypted only: it is the largest of all libraries here.
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
