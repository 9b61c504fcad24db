// lieutenant runs the real Lieutenant API on the address in its first argument; upstream's main always
// listens on all interfaces.
package main

import (
	"log"
	"os"

	"github.com/go-logr/logr"
	"github.com/projectsyn/lieutenant-api/pkg/service"
	controllerruntime "sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	controllerruntime.SetLogger(logr.Discard())
	server, err := service.NewAPIServer(service.APIConfig{
		APIVersion:       os.Getenv("API_VERSION"),
		Namespace:        os.Getenv("NAMESPACE"),
		OidcDiscoveryURL: os.Getenv("OIDC_DISCOVERY_URL"),
		OidcCLientID:     os.Getenv("OIDC_CLIENT_ID"),
	})
	if err != nil {
		log.Fatal(err)
	}
	server.HideBanner = true
	log.Fatal(server.StartTLS(os.Args[1], os.Getenv("TLS_CERT"), os.Getenv("TLS_KEY")))
}
