//go:build tools

// Package konnectivity imports programs of other modules, so that go.mod keeps their dependencies.
package konnectivity

import (
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/agent"
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/server"
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/test-client"
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/test-server"
)
