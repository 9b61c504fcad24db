//go:build tools

// Package konnectivity names the programs that are built from other modules, so that go.mod keeps what they need.
package konnectivity

import (
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/agent"
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/server"
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/test-client"
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/test-server"
)
