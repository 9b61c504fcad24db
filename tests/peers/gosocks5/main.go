// gosocks5 runs the SOCKS5 server of github.com/things-go/go-socks5 for comparisons.
//
//	gosocks5 127.0.0.1:0    prints "ready ADDR" once bound
package main

import (
	"fmt"
	"net"
	"os"

	"github.com/things-go/go-socks5"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gosocks5 ADDR")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gosocks5:", err)
		os.Exit(1)
	}
	fmt.Println("ready", listener.Addr())
	err = socks5.NewServer().Serve(listener)
	fmt.Fprintln(os.Stderr, "gosocks5:", err)
	os.Exit(1)
}
