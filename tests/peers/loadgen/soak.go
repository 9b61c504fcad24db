package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The maximum of open connections: a hanging proxy must not exhaust this machine.
const mostOpen = 4000

// soakKinds are the kinds of exchanges, which the connections use in turns.
var soakKinds = []func(net.Conn) error{
	echo,
	func(conn net.Conn) error { return download(conn, 3_000) },
	func(conn net.Conn) error { return upload(conn, 3_000) },
	func(conn net.Conn) error { return download(conn, 50_000) },
	func(conn net.Conn) error { return upload(conn, 50_000) },
	// A client that closes in the middle of an exchange.
	func(conn net.Conn) error {
		if _, err := conn.Write(sized(askDownload, 200_000)); err != nil {
			return err
		}
		_, err := io.CopyN(io.Discard, conn, 10_000)
		return err
	},
}

// soakWays are the proxy protocols, which the connections use in turns.
var soakWays = []func(net.Conn, string) error{openSocks5, openConnect, openSocks4}

// soak opens connections at an even rate, independent of earlier ones, and regularly prints the proxy's
// resources as a line of JSON.
func soak(s settings, targets string) (map[string]any, error) {
	if s.pid == 0 || s.proxy == "" {
		return nil, fmt.Errorf("soak needs -proxy and -pid")
	}
	var done, failed, skipped, open atomic.Int64
	asked := strings.Split(targets, ",")
	failures := newTroubles()
	one := func(n int) {
		defer open.Add(-1)
		if err := soakOne(s, n, asked[n%len(asked)]); err != nil {
			failed.Add(1)
			failures.note(asked[n%len(asked)], err)
			return
		}
		done.Add(1)
	}
	start := time.Now()
	tell := func() map[string]any {
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.pid))
		if err != nil {
			fail(err)
		}
		told := map[string]any{
			"s": round(time.Since(start).Seconds()), "resident_kB": residentKB(s.pid), "files": len(files),
			"open": open.Load(), "done": done.Load(), "failed": failed.Load(), "skipped": skipped.Load(),
		}
		if texts := failures.told(); len(texts) > 0 {
			told["failures"] = texts
		}
		return told
	}
	out := json.NewEncoder(os.Stdout)
	turns, samples := time.NewTicker(10*time.Millisecond), time.NewTicker(s.every)
	for n := 0; ; {
		select {
		case <-samples.C:
			if err := out.Encode(tell()); err != nil {
				return nil, err
			}
		case <-turns.C:
			due := int(time.Since(start).Seconds() * float64(s.perSecond))
			for ; n < due; n++ {
				if open.Load() >= mostOpen {
					skipped.Add(1)
					continue
				}
				open.Add(1)
				go one(n)
			}
		}
		if time.Since(start) > s.lasts {
			break
		}
	}
	for left := 600; open.Load() > 0 && left > 0; left-- {
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(s.rest)
	return tell(), nil
}

// troubles counts the failures of each target and keeps the last one.
type troubles struct {
	mutex  sync.Mutex
	counts map[string]int
	last   map[string]string
}

func newTroubles() *troubles {
	return &troubles{counts: map[string]int{}, last: map[string]string{}}
}

func (t *troubles) note(target string, err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.counts[target]++
	t.last[target] = err.Error()
}

func (t *troubles) told() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	texts := []string{}
	for target, count := range t.counts {
		texts = append(texts, fmt.Sprintf("%d of %s, the last: %s", count, target, t.last[target]))
	}
	slices.Sort(texts)
	return texts
}

func soakOne(s settings, n int, target string) error {
	conn, err := net.Dial("tcp", s.proxy)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	// Numbers without a common divisor combine every kind with every protocol and every target.
	if err := soakWays[n/len(soakKinds)%len(soakWays)](conn, target); err != nil {
		return err
	}
	return soakKinds[n/7%len(soakKinds)](conn)
}

// openSocks4 requests a name (SOCKS4a): an invalid address, no user, and the name.
func openSocks4(conn net.Conn, target string) error {
	host, port, err := splitTarget(target)
	if err != nil {
		return err
	}
	request := append([]byte{4, 1, byte(port >> 8), byte(port), 0, 0, 0, 1, 0}, host...)
	if _, err := conn.Write(append(request, 0)); err != nil {
		return err
	}
	answer := make([]byte, 8)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	if answer[1] != 90 {
		return fmt.Errorf("SOCKS4 reply %d", answer[1])
	}
	return nil
}
