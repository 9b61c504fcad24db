// konnload measures a Konnectivity server and its agent with upstream's client library, which works with
// every implementation. Each run prints one line of JSON to stdout.
//
//	konnload bulk  WAY -target ADDR [-mb 200] [-up]             MB/s of one connection
//	konnload rate  WAY -target ADDR [-n 1000] [-c 32] [-warm 0] small exchanges: per second, and the time of one
//	konnload idle  WAY -target ADDR -pids PID,PID [-n 2000]     resident memory of each process for an open connection
//	konnload stall WAY -target ADDR [-n 100]                    exchanges next to a stalled connection
//
// WAY is -mode grpc or http-connect, and -server HOST:PORT with -ca, -cert and -key, or -uds PATH. The target
// is the origin of loadgen.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type settings struct {
	way           way
	target, pids  string
	megabytes     int64
	up            bool
	count, atOnce int
	warm          int
	rest          time.Duration
}

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: konnload bulk|rate|idle|stall …"))
	}
	mode := os.Args[1]
	var s settings
	flags := flag.NewFlagSet(mode, flag.ExitOnError)
	flags.StringVar(&s.way.mode, "mode", "grpc", "grpc or http-connect")
	flags.StringVar(&s.way.server, "server", "", "host and port of the frontend")
	flags.StringVar(&s.way.socket, "uds", "", "unix socket of the frontend, instead of -server")
	flags.StringVar(&s.way.ca, "ca", "", "the CA of the frontend")
	flags.StringVar(&s.way.cert, "cert", "", "client certificate")
	flags.StringVar(&s.way.key, "key", "", "key of the client certificate")
	flags.StringVar(&s.target, "target", "", "the origin")
	flags.StringVar(&s.pids, "pids", "", "idle: process ids, separated by commas")
	flags.Int64Var(&s.megabytes, "mb", 200, "bulk: MB")
	flags.BoolVar(&s.up, "up", false, "bulk: send instead of receive")
	flags.IntVar(&s.count, "n", map[string]int{"rate": 1000, "idle": 2000, "stall": 100}[mode], "number of exchanges or connections")
	flags.IntVar(&s.atOnce, "c", 32, "rate: exchanges at once")
	flags.IntVar(&s.warm, "warm", 0, "rate: exchanges before measuring")
	flags.DurationVar(&s.rest, "rest", 2*time.Second, "idle: how long to wait before reading memory")
	if err := flags.Parse(os.Args[2:]); err != nil {
		fail(err)
	}
	modes := map[string]func(settings) (map[string]any, error){"bulk": bulk, "rate": rate, "idle": idle, "stall": stall}
	run, known := modes[mode]
	if !known {
		fail(fmt.Errorf("unknown mode %q", mode))
	}
	if err := s.way.prepare(); err != nil {
		fail(err)
	}
	result, err := run(s)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "konnload:", err)
	os.Exit(1)
}

func bulk(s settings) (map[string]any, error) {
	conn, err := s.way.dial(s.target)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	size := s.megabytes * 1_000_000
	start := time.Now()
	if s.up {
		err = upload(conn, size)
	} else {
		err = download(conn, size)
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"MB_per_s": float64(size) / 1e6 / time.Since(start).Seconds()}, nil
}

func rate(s settings) (map[string]any, error) {
	if _, broken := exchanges(s, s.warm); broken > 0 {
		return nil, fmt.Errorf("%d of %d failed while warming up", broken, s.warm)
	}
	start := time.Now()
	took, broken := exchanges(s, s.count)
	return summary(took, broken, time.Since(start))
}

func stall(s settings) (map[string]any, error) {
	unread, err := s.way.dial(s.target)
	if err != nil {
		return nil, err
	}
	defer unread.Close()
	if _, err := unread.Write(sized(askDownload, 1<<40)); err != nil {
		return nil, err
	}
	if _, err := unread.Read(make([]byte, 1000)); err != nil {
		return nil, err
	}
	// Wait until all buffers are full.
	time.Sleep(time.Second)
	s.atOnce = 1
	start := time.Now()
	took, broken := exchanges(s, s.count)
	return summary(took, broken, time.Since(start))
}

func summary(took []float64, broken int64, elapsed time.Duration) (map[string]any, error) {
	if len(took) == 0 {
		return nil, fmt.Errorf("every exchange failed")
	}
	slices.Sort(took)
	return map[string]any{
		"per_s":  float64(len(took)) / elapsed.Seconds(),
		"p50_ms": took[len(took)/2],
		"max_ms": took[len(took)-1],
		"failed": broken,
	}, nil
}

// exchanges repeatedly opens a connection, exchanges 64 bytes and closes it; it returns the time of each in
// ms.
func exchanges(s settings, count int) (took []float64, broken int64) {
	var left, failed atomic.Int64
	left.Store(int64(count))
	each := make([][]float64, s.atOnce)
	var workers sync.WaitGroup
	for worker := range s.atOnce {
		workers.Go(func() {
			for left.Add(-1) >= 0 {
				start := time.Now()
				if err := exchange(s); err != nil {
					if failed.Add(1) == 1 {
						fmt.Fprintln(os.Stderr, "konnload:", err)
					}
					continue
				}
				each[worker] = append(each[worker], float64(time.Since(start).Microseconds())/1000)
			}
		})
	}
	workers.Wait()
	return slices.Concat(each...), failed.Load()
}

func exchange(s settings) error {
	conn, err := s.way.dial(s.target)
	if err != nil {
		return err
	}
	defer conn.Close()
	return echo(conn)
}

// idle keeps connections open and reports each process's memory per connection.
func idle(s settings) (map[string]any, error) {
	pids := strings.Split(s.pids, ",")
	before := make([]int, len(pids))
	for at, pid := range pids {
		before[at] = residentKB(pid)
	}
	open := make(chan net.Conn, s.count)
	var failed atomic.Int64
	turns := make(chan struct{}, 16)
	var workers sync.WaitGroup
	for range s.count {
		turns <- struct{}{}
		workers.Go(func() {
			defer func() { <-turns }()
			conn, err := s.way.dial(s.target)
			if err == nil {
				err = echo(conn)
			}
			if err != nil {
				if failed.Add(1) == 1 {
					fmt.Fprintln(os.Stderr, "konnload:", err)
				}
				return
			}
			open <- conn
		})
	}
	workers.Wait()
	time.Sleep(s.rest)
	result := map[string]any{"open": len(open), "failed": failed.Load()}
	for at, pid := range pids {
		grown := residentKB(pid) - before[at]
		result[fmt.Sprintf("kB_%d", at)] = float64(grown) / float64(max(1, len(open)))
	}
	return result, nil
}
