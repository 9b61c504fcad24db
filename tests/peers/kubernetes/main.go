// kubernetes is a real Kubernetes control plane in one program. Without a subcommand it is the API server;
// "etcd" is its store, "controllers" the controller manager, and "kubelet" a node whose pods are servers on
// local addresses. "certificates" creates the certificates for all of them.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	part := ""
	if len(os.Args) > 1 {
		part = os.Args[1]
	}
	switch part {
	case "etcd":
		etcdmain.Main(os.Args[1:])
	case "certificates":
		makeCertificates(os.Args[2:])
	case "controllers":
		os.Args = os.Args[1:]
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "kubelet":
		runKubelet(os.Args[2:])
	default:
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	}
}
