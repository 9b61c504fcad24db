// kubernetes is a real Kubernetes API server, and with "etcd" as its first argument the store that it needs.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "etcd" {
		etcdmain.Main(os.Args[1:])
		return
	}
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
