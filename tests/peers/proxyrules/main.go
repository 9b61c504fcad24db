// proxyrules checks proxies and lists with Go's own libraries: one JSON question per line, one JSON answer
// per line:
//
//	{"ask":"list","list":L}            whether the rules for spec.noProxy accept the list
//	{"ask":"proxy","url":U,"tls":B}    whether the rules for a proxy's URL accept it; tls also allows https
//	{"ask":"direct","list":L,"url":U}  whether golang.org/x/net/http/httpproxy bypasses the proxy
//	{"ask":"pem","text":T}             how many certificates encoding/pem and crypto/x509 read; -1 for a damaged one
package main

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"
	"k8s.io/apimachinery/pkg/util/validation"
)

type question struct {
	Ask  string `json:"ask"`
	List string `json:"list"`
	URL  string `json:"url"`
	TLS  bool   `json:"tls"`
	Text string `json:"text"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "proxyrules:", err)
		os.Exit(1)
	}
}

func run() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		answer, err := judge(asked)
		if err != nil {
			return err
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func judge(asked question) (any, error) {
	switch asked.Ask {
	case "list":
		return isList(asked.List), nil
	case "proxy":
		schemes := []string{"http"}
		if asked.TLS {
			schemes = append(schemes, "https")
		}
		return isProxy(asked.URL, schemes), nil
	case "direct":
		return isDirect(asked.List, asked.URL)
	case "pem":
		return countCertificates([]byte(asked.Text)), nil
	}
	return nil, fmt.Errorf("cannot answer %q", asked.Ask)
}

func isList(list string) bool {
	if list == "" || list == "*" {
		return true
	}
	for item := range strings.SplitSeq(list, ",") {
		if !isItem(strings.TrimSpace(item)) {
			return false
		}
	}
	return true
}

func isItem(item string) bool {
	name := strings.TrimSuffix(strings.TrimPrefix(item, "."), ".")
	if len(validation.IsDNS1123Subdomain(name)) == 0 || net.ParseIP(item) != nil {
		return true
	}
	_, _, err := net.ParseCIDR(item)
	return err == nil
}

func isProxy(text string, schemes []string) bool {
	parsed, err := url.ParseRequestURI(text)
	if err != nil || !slices.Contains(schemes, parsed.Scheme) {
		return false
	}
	if parsed.Port() == "" {
		return true
	}
	port, err := strconv.Atoi(parsed.Port())
	return err == nil && port >= 1 && port <= 65535
}

// isDirect returns null for a URL that Go does not accept.
func isDirect(list, text string) (any, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, nil
	}
	config := httpproxy.Config{HTTPProxy: "http://proxy.test:1", HTTPSProxy: "http://proxy.test:1", NoProxy: list}
	proxy, err := config.ProxyFunc()(parsed)
	return proxy == nil, err
}

func countCertificates(text []byte) int {
	count := 0
	for {
		var block *pem.Block
		block, text = pem.Decode(text)
		if block == nil {
			return count
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return -1
		}
		count++
	}
}
