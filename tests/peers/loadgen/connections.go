package main

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// connections counts a local process's open connections to an IPv4 address.
func connections(pid int, address string) (int, error) {
	if pid == 0 {
		return 0, fmt.Errorf("-api needs -pid")
	}
	remote, err := inProc(address)
	if err != nil {
		return 0, err
	}
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		return 0, err
	}
	toThere := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		// sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode
		if fields := strings.Fields(line); len(fields) > 9 && fields[2] == remote {
			toThere["socket:["+fields[9]+"]"] = true
		}
	}
	directory := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(directory)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, entry := range entries {
		// The process may have closed it meanwhile.
		if socket, err := os.Readlink(directory + "/" + entry.Name()); err == nil && toThere[socket] {
			count++
		}
	}
	return count, nil
}

// inProc formats an address like /proc/net/tcp: 127.0.0.1:80 is 0100007F:0050 on a little-endian machine.
func inProc(address string) (string, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return "", err
	}
	ip := net.ParseIP(host).To4()
	if ip == nil {
		return "", fmt.Errorf("-api needs an IPv4 address")
	}
	reversed := []byte{ip[3], ip[2], ip[1], ip[0]}
	return fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(reversed)), port), nil
}
