package main

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// Requests of a client: one letter, then its parameter.
const (
	askEcho     = 'e' // 64 bytes follow; the origin returns them
	askDownload = 'd' // a u64 follows; the origin sends that many bytes
	askUpload   = 'u' // a u64 and that many bytes follow; the origin sends one byte
)

const echoSize = 64

func startOrigin(isTLS bool) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := listener.Addr().String()
	if isTLS {
		certificate, err := selfSigned()
		if err != nil {
			return "", err
		}
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}})
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				fail(err)
			}
			go serve(conn)
		}
	}()
	return address, nil
}

// serve answers until the client closes.
func serve(conn net.Conn) {
	defer conn.Close()
	ask := make([]byte, 1+8)
	for {
		if _, err := io.ReadFull(conn, ask[:1]); err != nil {
			return
		}
		if err := answer(conn, ask); err != nil {
			return
		}
	}
}

func answer(conn net.Conn, ask []byte) error {
	if ask[0] == askEcho {
		text := make([]byte, echoSize)
		if _, err := io.ReadFull(conn, text); err != nil {
			return err
		}
		_, err := conn.Write(text)
		return err
	}
	if _, err := io.ReadFull(conn, ask[1:]); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint64(ask[1:]))
	if ask[0] == askDownload {
		return send(conn, size)
	}
	if err := swallow(conn, size); err != nil {
		return err
	}
	_, err := conn.Write([]byte{1})
	return err
}

func echo(conn net.Conn) error {
	text := make([]byte, 1+echoSize)
	text[0] = askEcho
	if _, err := conn.Write(text); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, text[1:])
	return err
}

func download(conn net.Conn, size int64) error {
	if _, err := conn.Write(sized(askDownload, size)); err != nil {
		return err
	}
	// Use small reads like real clients, not the origin's megabyte.
	received, err := io.CopyN(io.Discard, conn, size)
	if err != nil {
		return fmt.Errorf("%d bytes missing: %w", size-received, err)
	}
	return nil
}

func upload(conn net.Conn, size int64) error {
	if _, err := conn.Write(sized(askUpload, size)); err != nil {
		return err
	}
	if err := send(conn, size); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

func sized(ask byte, size int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{ask}, uint64(size))
}

// The size of the origin's reads and writes.
const chunk = 1 << 20

func send(conn net.Conn, size int64) error {
	buffer := make([]byte, min(chunk, size))
	for size > 0 {
		sent, err := conn.Write(buffer[:min(int64(len(buffer)), size)])
		if err != nil {
			return err
		}
		size -= int64(sent)
	}
	return nil
}

func swallow(conn net.Conn, size int64) error {
	buffer := make([]byte, min(chunk, size))
	for size > 0 {
		received, err := conn.Read(buffer[:min(int64(len(buffer)), size)])
		size -= int64(received)
		if err != nil && size > 0 {
			return fmt.Errorf("%d bytes missing: %w", size, err)
		}
	}
	return nil
}
