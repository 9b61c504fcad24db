import { console } from "../clusters/cluster_console.ts";
import { kubectl, oc, shell } from "../clusters/cluster_programs.ts";
import cleanup from "../machine/cleanup.ts";
import clusters from "../clusters/clusters.ts";
import type { CommandGroup } from "./command_line.ts";
import { completionCommand } from "./completion.ts";
import config from "../machine/config.ts";
import connections from "../instance/connections.ts";
import demo from "../machine/demo.ts";
import dns from "../machine/dns.ts";
import doctor from "../machine/doctor.ts";
import egress from "../egress/egress.ts";
import { emergencyCredentials } from "../clusters/emergency_credentials.ts";
import env from "../instance/env.ts";
import execCredential from "../clusters/exec_credential.ts";
import explain from "../instance/explain.ts";
import forward from "../instance/forward.ts";
import { helpCommand } from "./help.ts";
import hosts from "../instance/hosts.ts";
import konnectivity from "../konnectivity/konnectivity.ts";
import kubeconfig from "../clusters/kubeconfig.ts";
import { connect, disconnect, proxyOut, quit } from "../instance/kubevpn.ts";
import login from "../clusters/login.ts";
import logout from "../clusters/logout.ts";
import logs from "../instance/logs.ts";
import pac from "../instance/pac.ts";
import nc from "../instance/nc.ts";
import proxy from "../instance/proxy.ts";
import run from "../instance/run.ts";
import reload from "../instance/reload.ts";
import service from "../service/service.ts";
import { kharonInstall, serviceInstall } from "../service/service_install.ts";
import serviceUninstall from "../service/service_uninstall.ts";
import setup from "../machine/setup.ts";
import sshConfig from "../instance/ssh_config.ts";
import status from "../instance/status.ts";
import stop from "../instance/stop.ts";
import { kubelogin, ocWebLogin, switchCluster } from "../clusters/switch_cluster.ts";
import systemProxy from "../machine/system_proxy.ts";
import test from "../clusters/test.ts";
import top from "../instance/top.ts";
import update from "../clusters/update.ts";
import version from "../machine/version.ts";

/** All commands in the order of the help page. Each of them imports its heavy modules when it runs. */
export const commandGroups: readonly CommandGroup[] = [
  {
    title: "Everyday commands",
    commands: [
      setup,
      proxy,
      status,
      explain,
      forward,
      env,
      run,
      test,
      top,
      clusters,
      kubeconfig,
      shell.alone,
      kubectl.alone,
      update,
    ],
  },
  {
    title: "Instances",
    isBrief: true,
    commands: [connections, reload, stop, logs, pac, nc, sshConfig, hosts],
  },
  {
    title: "Clusters",
    isBrief: true,
    commands: [oc.alone, console, emergencyCredentials, switchCluster, execCredential, login, logout],
  },
  {
    title: "System",
    isBrief: true,
    commands: [dns, systemProxy, service, serviceInstall, serviceUninstall],
  },
  { title: "Roles", isBrief: true, commands: [konnectivity, egress] },
  {
    title: "Setup",
    isBrief: true,
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
  { title: "Spellings of kharon", commands: [ocWebLogin, kubelogin, kharonInstall] },
  { title: "Spellings of kubevpn", commands: [proxyOut, connect, disconnect, quit] },
];
