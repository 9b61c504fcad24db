// @ts-self-types="./client_node.d.ts"
export { CoreV1Api, KubeConfig, PortForward, Watch } from "@kubernetes/client-node";
