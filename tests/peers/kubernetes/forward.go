package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	listers "k8s.io/client-go/listers/core/v1"
)

// forwarder connects the streams of port-forwards to the servers for the ports of pods, and counts them.
type forwarder struct {
	pods   listers.PodLister
	linger time.Duration
	mutex  sync.Mutex
	counts counts
}

type counts struct {
	// Total and current port-forward requests: each is a connection from the API server.
	Sessions     int `json:"sessions"`
	OpenSessions int `json:"openSessions"`
	// Total and current streams that reached their target, and the total for each pod by NAMESPACE/NAME.
	Streams     int            `json:"streams"`
	OpenStreams int            `json:"openStreams"`
	Pods        map[string]int `json:"pods"`
}

func newForwarder(pods listers.PodLister, linger time.Duration) *forwarder {
	return &forwarder{pods: pods, linger: linger, counts: counts{Pods: map[string]int{}}}
}

// session counts a new session; the caller calls the returned function at its end.
func (forwarder *forwarder) session() func() {
	forwarder.change(func(counts *counts) { counts.Sessions++; counts.OpenSessions++ })
	return func() { forwarder.change(func(counts *counts) { counts.OpenSessions-- }) }
}

func (forwarder *forwarder) change(change func(*counts)) {
	forwarder.mutex.Lock()
	defer forwarder.mutex.Unlock()
	change(&forwarder.counts)
}

func (forwarder *forwarder) counted() counts {
	forwarder.mutex.Lock()
	defer forwarder.mutex.Unlock()
	copied := forwarder.counts
	copied.Pods = map[string]int{}
	for name, count := range forwarder.counts.Pods {
		copied.Pods[name] = count
	}
	return copied
}

// PortForward implements the streaming code's interface; it is called for each stream, and the name is
// NAMESPACE/NAME.
func (forwarder *forwarder) PortForward(ctx context.Context, name string, uid types.UID, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	conn, err := forwarder.connect(ctx, name, port)
	if err != nil {
		// The message of containerd.
		return fmt.Errorf("failed to connect to localhost:%d inside namespace %q: %w", port, uid, err)
	}
	defer conn.Close()
	forwarder.change(func(counts *counts) { counts.Streams++; counts.OpenStreams++; counts.Pods[name]++ })
	defer forwarder.change(func(counts *counts) { counts.OpenStreams-- })
	ended := make(chan error, 2)
	go func() {
		_, err := io.Copy(stream, conn)
		if forwarder.linger == 0 {
			_ = stream.Close()
		}
		ended <- err
	}()
	go func() {
		_, err := io.Copy(conn, stream)
		if forwarder.linger == 0 {
			_ = conn.CloseWrite()
		}
		ended <- err
	}()
	first := <-ended
	var patience <-chan time.Time
	if forwarder.linger > 0 {
		patience = time.After(forwarder.linger)
	}
	select {
	case second := <-ended:
		if first == nil {
			first = second
		}
	case <-patience:
	}
	return first
}

func (forwarder *forwarder) connect(ctx context.Context, name string, port int32) (*net.TCPConn, error) {
	namespace, podName, _ := strings.Cut(name, "/")
	pod, err := forwarder.pods.Pods(namespace).Get(podName)
	if err != nil {
		return nil, err
	}
	for _, entry := range strings.Split(pod.Annotations[targetsAnnotation], ",") {
		number, target, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if number != strconv.Itoa(int(port)) {
			continue
		}
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", target)
		if err != nil {
			return nil, err
		}
		return conn.(*net.TCPConn), nil
	}
	return nil, fmt.Errorf("dial tcp4 127.0.0.1:%d: connect: connection refused", port)
}
