//go:build tools

// Package h2spec names the program that is built from another module, so that go.mod keeps what it needs.
package h2spec

import _ "github.com/summerwind/h2spec/cmd/h2spec"
