// dex is the OIDC provider of that name with what the tests of the sign-in need: a public client "lieutenant",
// two users whose password is "password", the password page, the device flow, and refresh tokens that are good for
// one use. It is a small main of our own because dex's needs cgo for a database that is not used here.
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	gosundheit "github.com/AppsFlyer/go-sundheit"
	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/dexidp/dex/web"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	issuer := flag.String("issuer", "", "its URL; it listens on that address")
	cert := flag.String("cert", "", "certificate, PEM")
	key := flag.String("key", "", "key, PEM")
	redirects := flag.String("redirects", "", "redirect URIs of the client, separated by commas")
	idTokens := flag.Duration("id-tokens", time.Hour, "how long an id_token is good")
	devices := flag.Duration("devices", 5*time.Minute, "how long a device code is good")
	flag.Parse()

	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	at, err := url.Parse(*issuer)
	check(err)
	hash, err := bcrypt.GenerateFromPassword([]byte("password"), bcrypt.DefaultCost)
	check(err)
	store := memory.New(quiet)
	store = storage.WithStaticClients(store, []storage.Client{{
		ID:     "lieutenant",
		Name:   "Lieutenant",
		Public: true,
		// The last two are where dex sends its own device page back to.
		RedirectURIs: append(strings.Split(*redirects, ","), "/device/callback", at.Path+"/device/callback"),
	}})
	store = storage.WithStaticPasswords(store, []storage.Password{
		{Email: "alice@example.com", Username: "alice", UserID: "1", Hash: hash},
		{Email: "mallory@example.com", Username: "mallory", UserID: "2", Hash: hash},
	}, quiet)
	store = storage.WithStaticConnectors(store, []storage.Connector{
		{ID: "local", Type: server.LocalConnector, Name: "Email"},
	})
	refresh, err := server.NewRefreshTokenPolicy(quiet, true, "", "", "0s")
	check(err)
	dex, err := server.NewServer(context.Background(), server.Config{
		Issuer:                 *issuer,
		Storage:                store,
		SkipApprovalScreen:     true,
		IDTokensValidFor:       *idTokens,
		DeviceRequestsValidFor: *devices,
		RefreshTokenPolicy:     refresh,
		Web:                    server.WebConfig{WebFS: web.FS()},
		Logger:                 quiet,
		PrometheusRegistry:     prometheus.NewRegistry(),
		HealthChecker:          gosundheit.New(),
	})
	check(err)
	check(http.ListenAndServeTLS(at.Host, *cert, *key, dex))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
