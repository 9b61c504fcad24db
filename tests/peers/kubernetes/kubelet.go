package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubelet/pkg/cri/streaming/portforward"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runKubelet runs one node: it registers itself, reports the pods bound to it as running, and serves their
// port-forwards with the streaming code of the real kubelet, over SPDY and WebSocket. It runs no containers:
// the annotations of a pod name the servers for its ports.
func runKubelet(args []string) {
	options := flag.NewFlagSet("kubelet", flag.ExitOnError)
	kubeconfig := options.String("kubeconfig", "", "kubeconfig for the API server")
	node := options.String("node", "node", "name of the node")
	listen := options.String("listen", "", "listen address")
	certificate := options.String("tls-cert-file", "", "server certificate")
	key := options.String("tls-private-key-file", "", "key of the server certificate")
	callers := options.String("client-ca-file", "", "authority of client certificates")
	linger := options.Duration("linger", time.Second,
		"how long one direction may continue after the other has ended, like containerd; 0: forward half-closes without a limit")
	_ = options.Parse(args)

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	check(err)
	config.QPS, config.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(config)
	check(err)
	host, port := split(*listen)
	check(registerNode(client, *node, host, port))

	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(list *metav1.ListOptions) {
		list.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", *node).String()
	}))
	pods := factory.Core().V1().Pods()
	reporter := &podReporter{client: client}
	_, err = pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { reporter.see(pod) },
		UpdateFunc: func(_, pod any) { reporter.see(pod) },
	})
	check(err)
	factory.Start(context.Background().Done())
	factory.WaitForCacheSync(context.Background().Done())

	forwarder := newForwarder(pods.Lister(), *linger)
	routes := http.NewServeMux()
	serve := func(answer http.ResponseWriter, request *http.Request) { serveForward(forwarder, answer, request) }
	routes.HandleFunc("/portForward/{namespace}/{pod}", serve)
	routes.HandleFunc("/portForward/{namespace}/{pod}/{uid}", serve)
	routes.HandleFunc("/counts", func(answer http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(answer).Encode(forwarder.counted())
	})
	server := &http.Server{
		Addr:      *listen,
		Handler:   routes,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, ClientCAs: certificatesOf(*callers), ClientAuth: tls.RequireAndVerifyClientCert},
		// Disable HTTP/2: a SPDY session takes over the connection of its request.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	check(server.ListenAndServeTLS(*certificate, *key))
}

func serveForward(forwarder *forwarder, answer http.ResponseWriter, request *http.Request) {
	options, err := portforward.NewV4Options(request)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	namespace, name := request.PathValue("namespace"), request.PathValue("pod")
	pod, err := forwarder.pods.Pods(namespace).Get(name)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusNotFound)
		return
	}
	defer forwarder.session()()
	portforward.ServePortForward(answer, request, forwarder, namespace+"/"+name, types.UID(pod.UID), options,
		4*time.Hour, 30*time.Second, portforward.SupportedProtocols)
}

func certificatesOf(file string) *x509.CertPool {
	pem, err := os.ReadFile(file)
	check(err)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		log.Fatalf("no certificate in %s", file)
	}
	return pool
}

func split(address string) (string, int32) {
	host, text, err := net.SplitHostPort(address)
	check(err)
	port, err := strconv.ParseInt(text, 10, 32)
	check(err)
	return host, int32(port)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
