//go:build tools

// Package h2spec imports a program of another module, so that go.mod keeps its dependencies.
package h2spec

import _ "github.com/summerwind/h2spec/cmd/h2spec"
