import { console } from "./cluster_console.ts";
import { kubectl, oc, shell } from "./cluster_programs.ts";
import cleanup from "./cleanup.ts";
import clusters from "./clusters.ts";
import type { CommandGroup } from "./command_line.ts";
import { completionCommand } from "./completion.ts";
import config from "./config.ts";
import connections from "./connections.ts";
import demo from "./demo.ts";
import dns from "./dns.ts";
import doctor from "./doctor.ts";
import egress from "./egress.ts";
import { emergencyCredentials } from "./emergency_credentials.ts";
import env from "./env.ts";
import execCredential from "./exec_credential.ts";
import explain from "./explain.ts";
import { helpCommand } from "./help.ts";
import konnectivity from "./konnectivity.ts";
import kubeconfig from "./kubeconfig.ts";
import { connect, disconnect, proxyOut, quit } from "./kubevpn.ts";
import login from "./login.ts";
import logout from "./logout.ts";
import logs from "./logs.ts";
import pac from "./pac.ts";
import proxy from "./proxy.ts";
import reload from "./reload.ts";
import service from "./service.ts";
import { kharonInstall, serviceInstall } from "./service_install.ts";
import serviceUninstall from "./service_uninstall.ts";
import status from "./status.ts";
import stop from "./stop.ts";
import { kubelogin, ocWebLogin, switchCluster } from "./switch_cluster.ts";
import test from "./test.ts";
import top from "./top.ts";
import update from "./update.ts";
import version from "./version.ts";

/** All commands in the order of the help page. What is heavy, each of them imports when it runs. */
export const commandGroups: readonly CommandGroup[] = [
  { title: "The door", commands: [proxy, status, connections, top, reload, stop, logs] },
  { title: "Where connections go", commands: [explain, test, env, pac, dns] },
  { title: "The catalogue", commands: [update, login, logout] },
  {
    title: "Clusters",
    commands: [
      clusters,
      kubeconfig,
      shell.alone,
      kubectl.alone,
      oc.alone,
      console,
      emergencyCredentials,
      switchCluster,
      ocWebLogin,
      kubelogin,
      execCredential,
    ],
  },
  { title: "As kubevpn has them", commands: [proxyOut, connect, disconnect, quit] },
  { title: "The far side", commands: [konnectivity, egress] },
  { title: "A service", commands: [serviceInstall, serviceUninstall, service, kharonInstall] },
  {
    title: "Setting up",
    commands: [
      config,
      doctor,
      cleanup,
      demo,
      completionCommand(() => commandGroups),
      version,
      helpCommand(() => commandGroups),
    ],
  },
];
