package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificate is a request for a certificate.
type certificate struct {
	// The name of its files: NAME.crt and NAME.key.
	Name         string   `json:"name"`
	CommonName   string   `json:"commonName"`
	Organization []string `json:"organization"`
	Hosts        []string `json:"hosts"`
	// The lifetime in seconds (default: one day); a negative value makes an expired certificate.
	Seconds int `json:"seconds"`
}

// makeCertificates reads a JSON list from stdin and writes the certificates to a directory. It creates the
// authority, ca.crt and ca.key, if it does not exist.
func makeCertificates(args []string) {
	if len(args) != 1 {
		log.Fatal("usage: kubernetes certificates DIRECTORY")
	}
	directory := args[0]
	var asked []certificate
	check(json.NewDecoder(os.Stdin).Decode(&asked))
	authority, key := authorityIn(directory)
	for _, one := range asked {
		makeCertificate(directory, one, authority, key)
	}
}

func authorityIn(directory string) (*x509.Certificate, *ecdsa.PrivateKey) {
	written, err := os.ReadFile(filepath.Join(directory, "ca.key"))
	if os.IsNotExist(err) {
		key := newKey()
		template := newTemplate("postern test cluster CA", 24*time.Hour)
		template.IsCA, template.BasicConstraintsValid = true, true
		template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
		return write(directory, "ca", template, template, key, key), key
	}
	check(err)
	block, _ := pem.Decode(written)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	check(err)
	written, err = os.ReadFile(filepath.Join(directory, "ca.crt"))
	check(err)
	block, _ = pem.Decode(written)
	authority, err := x509.ParseCertificate(block.Bytes)
	check(err)
	return authority, key
}

func makeCertificate(directory string, asked certificate, authority *x509.Certificate, authorityKey *ecdsa.PrivateKey) {
	life := 24 * time.Hour
	if asked.Seconds != 0 {
		life = time.Duration(asked.Seconds) * time.Second
	}
	template := newTemplate(asked.CommonName, life)
	template.Subject.Organization = asked.Organization
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range asked.Hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	write(directory, asked.Name, template, authority, newKey(), authorityKey)
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	return key
}

func newTemplate(commonName string, life time.Duration) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	check(err)
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(life),
	}
}

func write(directory, name string, template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) *x509.Certificate {
	signed, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	check(err)
	written, err := x509.MarshalECPrivateKey(key)
	check(err)
	writePem(filepath.Join(directory, name+".crt"), "CERTIFICATE", signed)
	writePem(filepath.Join(directory, name+".key"), "EC PRIVATE KEY", written)
	parsed, err := x509.ParseCertificate(signed)
	check(err)
	return parsed
}

func writePem(path, kind string, bytes []byte) {
	check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
}
