package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/pkg/client"
)

// way holds the options for connecting to a frontend.
type way struct {
	mode, server, socket string
	ca, cert, key        string
	tls                  *tls.Config
}

const patience = 30 * time.Second

func (w *way) prepare() error {
	if w.socket != "" {
		return nil
	}
	certificate, err := tls.LoadX509KeyPair(w.cert, w.key)
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(w.ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("no certificate in %s", w.ca)
	}
	host, _, err := net.SplitHostPort(w.server)
	if err != nil {
		return err
	}
	w.tls = &tls.Config{ServerName: host, RootCAs: roots, Certificates: []tls.Certificate{certificate}}
	return nil
}

func (w *way) dial(target string) (net.Conn, error) {
	if w.mode == "http-connect" {
		return w.connect(target)
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	address := w.server
	if w.socket != "" {
		address = "unix:" + w.socket
	} else {
		options[0] = grpc.WithTransportCredentials(credentials.NewTLS(w.tls))
	}
	// The library supports only one connection for each tunnel.
	tunnel, err := client.CreateSingleUseGrpcTunnelWithContext(context.Background(), context.Background(), address, options...)
	if err != nil {
		return nil, err
	}
	patient, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return tunnel.DialContext(patient, "tcp", target)
}

func (w *way) connect(target string) (net.Conn, error) {
	conn, err := w.raw()
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		conn.Close()
		return nil, err
	}
	// The origin sends only answers, so the reader has no other bytes.
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("CONNECT: %s", response.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (w *way) raw() (net.Conn, error) {
	if w.socket != "" {
		return net.DialTimeout("unix", w.socket, patience)
	}
	return tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", w.server, w.tls)
}
