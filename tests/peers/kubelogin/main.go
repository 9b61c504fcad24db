// kubelogin is the unmodified kubectl plugin kubelogin, which signs in with OpenID Connect.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/int128/kubelogin/pkg/di"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := di.NewCmd().Run(ctx, os.Args, "v1.36.3")
	stop()
	os.Exit(code)
}
