package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// dial connects to the target through the proxy, with as few writes as real clients use.
func dial(s settings, target string) (net.Conn, error) {
	conn, err := dialPlain(s, target)
	if err != nil || !s.tls {
		return conn, err
	}
	// Each origin creates a new certificate; the measurement does not depend on it.
	return tls.Client(conn, &tls.Config{InsecureSkipVerify: true}), nil
}

func dialPlain(s settings, target string) (net.Conn, error) {
	if s.proxy == "" {
		return net.Dial("tcp", target)
	}
	conn, err := net.Dial("tcp", s.proxy)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return nil, err
	}
	open := openSocks5
	if s.viaHTTP {
		open = openConnect
	}
	if err := open(conn, target); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

// openSocks5 requests an IPv4 address or a name, without a password (RFC 1928, sections 3 and 4).
func openSocks5(conn net.Conn, target string) error {
	host, port, err := splitTarget(target)
	if err != nil {
		return err
	}
	if _, err := conn.Write([]byte{5, 1, 0}); err != nil {
		return err
	}
	answer := make([]byte, 22)
	if _, err := io.ReadFull(conn, answer[:2]); err != nil {
		return err
	}
	request := append([]byte{5, 1, 0, 3, byte(len(host))}, host...)
	if ip := net.ParseIP(host).To4(); ip != nil {
		request = append([]byte{5, 1, 0, 1}, ip...)
	}
	if _, err := conn.Write(append(request, byte(port>>8), byte(port))); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, answer[:4]); err != nil {
		return err
	}
	if answer[1] != 0 {
		return fmt.Errorf("SOCKS reply %d", answer[1])
	}
	rest := 6
	if answer[3] == 4 {
		rest = 18
	}
	_, err = io.ReadFull(conn, answer[:rest])
	return err
}

func splitTarget(target string) (host string, port uint64, err error) {
	host, text, err := net.SplitHostPort(target)
	if err == nil {
		port, err = strconv.ParseUint(text, 10, 16)
	}
	return host, port, err
}

// openConnect sends HTTP CONNECT. The origin waits for the client, so no bytes can follow the head.
func openConnect(conn net.Conn, target string) error {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		return err
	}
	reader := bufio.NewReader(conn)
	status, err := reader.ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.Contains(status, " 200 ") {
		return fmt.Errorf("%s", strings.TrimSpace(status))
	}
	for {
		line, err := reader.ReadString('\n')
		if err != nil || line == "\r\n" {
			return err
		}
	}
}
