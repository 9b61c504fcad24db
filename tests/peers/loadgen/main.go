// loadgen measures a proxy with an origin that it starts itself or that -target names. Each run prints one line of
// JSON to stdout.
//
//	loadgen rate -proxy ADDR [-http] [-n 10000] [-c 32] [-warm 5000]   small exchanges: per second, p50 and p99 of a whole one
//	loadgen bulk -proxy ADDR [-http] [-mb 1000] [-c 1] [-up]           MB/s of one or more streams
//	loadgen idle -proxy ADDR -pid PID [-n 5000] [-carry MB] [-rest S]  resident memory for each open connection
//	loadgen wait -pid PID [-rest S]                                    CPU of an idle proxy
//	loadgen soak -proxy ADDR -pid PID -target A,B [-per 200] [-for 60m] [-every 5s]   connections at an even rate, and the proxy's resources
//	loadgen origin [-tls]                                              an origin alone: `ready ADDR`, until it is killed
//
// With -pid, rate and bulk report the CPU seconds of the proxy. With -grown, rate also reports how much memory and how
// many descriptors it gained after -warm. With -api ADDR, rate reports the proxy's connections to ADDR at the end.
// Without -proxy, loadgen dials the origin directly. -target HOST:PORT names another origin, or a forward to one. With
// -tls the origin speaks TLS, and loadgen does not verify its certificate.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type settings struct {
	proxy, target    string
	api              string
	viaHTTP, up      bool
	grown, tls       bool
	count, atOnce    int
	warm, pid, carry int
	megabytes        int64
	rest             time.Duration
	perSecond        int
	lasts, every     time.Duration
}

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: loadgen rate|bulk|idle|wait|soak|origin …"))
	}
	mode := os.Args[1]
	var s settings
	flags := flag.NewFlagSet(mode, flag.ExitOnError)
	flags.StringVar(&s.proxy, "proxy", "", "address of the proxy, host:port")
	flags.StringVar(&s.target, "target", "", "host and port of a running origin")
	flags.StringVar(&s.api, "api", "", "rate: report the proxy's connections to this address")
	flags.BoolVar(&s.tls, "tls", false, "the origin speaks TLS")
	flags.BoolVar(&s.viaHTTP, "http", false, "HTTP CONNECT instead of SOCKS5")
	flags.BoolVar(&s.up, "up", false, "send instead of receive")
	flags.BoolVar(&s.grown, "grown", false, "rate: report the proxy's growth in memory and descriptors")
	flags.IntVar(&s.count, "n", map[string]int{"idle": 5000}[mode], "connections (rate: 10000, idle: 5000)")
	flags.IntVar(&s.atOnce, "c", 0, "at once (rate: 32, bulk: 1)")
	flags.IntVar(&s.warm, "warm", 0, "exchanges before measuring")
	flags.IntVar(&s.pid, "pid", 0, "process id of the proxy")
	flags.IntVar(&s.carry, "carry", 0, "MB that each connection carries before it idles")
	flags.Int64Var(&s.megabytes, "mb", 1000, "total MB")
	flags.IntVar(&s.perSecond, "per", 200, "soak: connections a second")
	flags.DurationVar(&s.lasts, "for", time.Hour, "soak: duration")
	flags.DurationVar(&s.every, "every", 5*time.Second, "soak: interval between reports")
	flags.DurationVar(&s.rest, "rest", 2*time.Second, "how long to wait before reading memory, descriptors or CPU")
	if err := flags.Parse(os.Args[2:]); err != nil {
		fail(err)
	}
	modes := map[string]func(settings, string) (map[string]any, error){"rate": rate, "bulk": bulk, "idle": idle, "wait": wait, "soak": soak, "origin": originAlone}
	run, known := modes[mode]
	if !known {
		fail(fmt.Errorf("unknown mode %q", mode))
	}
	target, err := s.target, error(nil)
	if target == "" {
		target, err = startOrigin(s.tls)
	}
	if err != nil {
		fail(err)
	}
	cpu := processCPU(s.pid)
	result, err := run(s, target)
	if err != nil {
		fail(err)
	}
	if s.pid != 0 {
		result["cpu_s"] = round(processCPU(s.pid) - cpu)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "loadgen:", err)
	os.Exit(1)
}

// rate repeatedly opens a connection, exchanges 64 bytes and closes it.
func rate(s settings, target string) (map[string]any, error) {
	count, atOnce := orElse(s.count, 10000), orElse(s.atOnce, 32)
	if s.warm > 0 {
		if _, failed := exchanges(s, target, s.warm, atOnce); failed > 0 {
			return nil, fmt.Errorf("%d of %d failed while warming up", failed, s.warm)
		}
	}
	memory, files := held(s)
	var err error
	start := time.Now()
	took, failed := exchanges(s, target, count, atOnce)
	elapsed := time.Since(start).Seconds()
	if len(took) == 0 {
		return nil, fmt.Errorf("every exchange failed")
	}
	slices.Sort(took)
	result := map[string]any{
		"per_s":  round(float64(len(took)) / elapsed),
		"p50_ms": round(took[len(took)/2]),
		"p99_ms": round(took[len(took)*99/100]),
		"failed": failed,
	}
	if s.grown {
		memoryAfter, filesAfter := held(s)
		result["grown_kB"] = memoryAfter - memory
		result["grown_files"] = filesAfter - files
	}
	if s.api != "" {
		if result["api_conns"], err = connections(s.pid, s.api); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// held returns the proxy's memory and descriptors after its last work has finished.
func held(s settings) (kilobytes, files int) {
	if !s.grown {
		return 0, 0
	}
	time.Sleep(s.rest)
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.pid))
	if err != nil {
		fail(err)
	}
	return residentKB(s.pid), len(entries)
}

func exchanges(s settings, target string, count, atOnce int) (took []float64, failed int64) {
	var left, broken atomic.Int64
	left.Store(int64(count))
	each := make([][]float64, atOnce)
	var workers sync.WaitGroup
	for worker := range atOnce {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for left.Add(-1) >= 0 {
				start := time.Now()
				if err := exchange(s, target); err != nil {
					broken.Add(1)
					continue
				}
				each[worker] = append(each[worker], float64(time.Since(start).Microseconds())/1000)
			}
		}()
	}
	workers.Wait()
	return slices.Concat(each...), broken.Load()
}

func exchange(s settings, target string) error {
	conn, err := dial(s, target)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	return echo(conn)
}

// bulk sends megabytes over one or more streams in one direction.
func bulk(s settings, target string) (map[string]any, error) {
	atOnce := orElse(s.atOnce, 1)
	size := s.megabytes * 1_000_000 / int64(atOnce)
	start := time.Now()
	errs := make(chan error, atOnce)
	for range atOnce {
		go func() { errs <- stream(s, target, size) }()
	}
	for range atOnce {
		if err := <-errs; err != nil {
			return nil, err
		}
	}
	return map[string]any{"MB_per_s": round(float64(size*int64(atOnce)) / 1e6 / time.Since(start).Seconds())}, nil
}

func stream(s settings, target string, size int64) error {
	conn, err := dial(s, target)
	if err != nil {
		return err
	}
	defer conn.Close()
	if s.up {
		return upload(conn, size)
	}
	return download(conn, size)
}

// idle keeps connections open and reports the proxy's memory for each.
func idle(s settings, target string) (map[string]any, error) {
	if s.pid == 0 {
		return nil, fmt.Errorf("idle needs -pid")
	}
	before := residentKB(s.pid)
	open := make(chan net.Conn, s.count)
	var refused atomic.Int64
	var workers sync.WaitGroup
	turns := make(chan struct{}, 64)
	for range s.count {
		workers.Add(1)
		turns <- struct{}{}
		go func() {
			defer func() { <-turns; workers.Done() }()
			conn, err := dial(s, target)
			if err == nil && s.carry > 0 {
				err = download(conn, int64(s.carry)*1_000_000)
			}
			if err != nil {
				refused.Add(1)
				return
			}
			open <- conn
		}()
	}
	workers.Wait()
	time.Sleep(s.rest)
	after := residentKB(s.pid)
	opened := len(open)
	return map[string]any{
		"open":        opened,
		"refused":     refused.Load(),
		"before_kB":   before,
		"after_kB":    after,
		"kB_per_conn": round(float64(after-before) / float64(max(1, opened))),
	}, nil
}

// wait measures the idle proxy.
func wait(s settings, _ string) (map[string]any, error) {
	if s.pid == 0 {
		return nil, fmt.Errorf("wait needs -pid")
	}
	before := processCPU(s.pid)
	time.Sleep(s.rest)
	return map[string]any{"cpu_percent": round((processCPU(s.pid) - before) / s.rest.Seconds() * 100)}, nil
}

// originAlone serves until it is killed.
func originAlone(_ settings, target string) (map[string]any, error) {
	fmt.Println("ready", target)
	select {}
}

func residentKB(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		fail(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "VmRSS:" {
			kilobytes, err := strconv.Atoi(fields[1])
			if err != nil {
				fail(err)
			}
			return kilobytes
		}
	}
	return 0
}

// processCPU returns the user and system time of a process and its children, in seconds.
func processCPU(pid int) float64 {
	if pid == 0 {
		return 0
	}
	own, err := processTicks(pid)
	if err != nil {
		fail(err)
	}
	// Linux counts 100 ticks a second.
	return (own + childTicks(pid)) / 100
}

// childTicks counts live children; the parent's own numbers include the ended ones.
func childTicks(pid int) (ticks float64) {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, word := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(word)
		if err != nil {
			fail(err)
		}
		if own, err := processTicks(child); err == nil {
			ticks += own + childTicks(child)
		}
	}
	return ticks
}

func processTicks(pid int) (ticks float64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	// User and system time of the process and of its ended children.
	for _, field := range fields[11:15] {
		count, _ := strconv.ParseFloat(field, 64)
		ticks += count
	}
	return ticks, nil
}

func orElse(value, otherwise int) int {
	if value == 0 {
		return otherwise
	}
	return value
}

func round(value float64) float64 {
	text := strconv.FormatFloat(value, 'f', 3, 64)
	rounded, _ := strconv.ParseFloat(text, 64)
	return rounded
}
