// goclient connects through a proxy like Go programs do, and prints the answer.
//
//	goclient socks5 PROXY HOST:PORT [USER PASSWORD]  golang.org/x/net/proxy: sends stdin, half-closes, copies the answer to stdout
//	goclient http PROXY-URL URL                      net/http with this proxy: status line and body
//	goclient environment URL                         net/http with the proxy of the environment
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"golang.org/x/net/proxy"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "goclient:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) >= 3 && args[0] == "socks5":
		return throughSocks5(args[1], args[2], args[3:])
	case len(args) == 3 && args[0] == "http":
		at, err := url.Parse(args[1])
		if err != nil {
			return err
		}
		return get(http.ProxyURL(at), args[2])
	case len(args) == 2 && args[0] == "environment":
		return get(http.ProxyFromEnvironment, args[1])
	}
	return fmt.Errorf("usage: goclient socks5 PROXY HOST:PORT [USER PASSWORD] | http PROXY-URL URL | environment URL")
}

func throughSocks5(server, target string, credentials []string) error {
	var auth *proxy.Auth
	if len(credentials) == 2 {
		auth = &proxy.Auth{User: credentials[0], Password: credentials[1]}
	}
	dialer, err := proxy.SOCKS5("tcp", server, auth, proxy.Direct)
	if err != nil {
		return err
	}
	conn, err := dialer.Dial("tcp", target)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if _, err := io.Copy(conn, os.Stdin); err != nil {
		return err
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		if err := half.CloseWrite(); err != nil {
			return err
		}
	}
	_, err = io.Copy(os.Stdout, conn)
	return err
}

func get(choose func(*http.Request) (*url.URL, error), address string) error {
	client := &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			Proxy:           choose,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: os.Getenv("GOCLIENT_INSECURE") == "1"},
		},
	}
	response, err := client.Get(address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	fmt.Println(response.Proto, response.Status)
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
