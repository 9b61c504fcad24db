// dex is the OIDC provider dex, configured for the tests of the sign-in: a public client "lieutenant", two
// users with the password "password", the password page, the device flow, and refresh tokens for one use. It
// has its own main because dex's main needs cgo for a database that the tests do not use.
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
	issuer := flag.String("issuer", "", "URL of the issuer, also the listen address")
	cert := flag.String("cert", "", "certificate, PEM")
	key := flag.String("key", "", "key, PEM")
	redirects := flag.String("redirects", "", "redirect URIs of the client, separated by commas")
	idTokens := flag.Duration("id-tokens", time.Hour, "lifetime of an id_token")
	devices := flag.Duration("devices", 5*time.Minute, "lifetime of a device code")
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
		// dex redirects its own device page to the last two.
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
