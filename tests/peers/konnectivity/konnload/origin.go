package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
)

// Requests to loadgen's origin: one letter, then its parameter.
const (
	askEcho     = 'e' // 64 bytes follow; the origin returns them
	askDownload = 'd' // a u64 follows; the origin sends that many bytes
	askUpload   = 'u' // a u64 and that many bytes follow; the origin sends one byte
)

func echo(conn net.Conn) error {
	text := make([]byte, 1+64)
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
	// The buffer size of io.Copy: the library sends one packet for each write.
	piece := make([]byte, 32*1024)
	for left := size; left > 0; {
		sent, err := conn.Write(piece[:min(int64(len(piece)), left)])
		if err != nil {
			return err
		}
		left -= int64(sent)
	}
	_, err := io.ReadFull(conn, piece[:1])
	return err
}

func sized(ask byte, size int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{ask}, uint64(size))
}

func residentKB(pid string) int {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		fail(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			kilobytes, err := strconv.Atoi(fields[1])
			if err != nil {
				fail(err)
			}
			return kilobytes
		}
	}
	fail(fmt.Errorf("no memory of process %s", pid))
	return 0
}
