// versitygw runs the S3 gateway versitygw on a directory whose subdirectories are buckets. It has its own
// main because the tests need one account, no web pages, and attributes in separate files for file systems
// without them.
package main

import (
	"context"
	"flag"
	"log"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	listen := flag.String("listen", "", "HOST:PORT")
	root := flag.String("root", "", "directory of the buckets")
	attributes := flag.String("attributes", "", "directory of object attributes")
	region := flag.String("region", "us-east-1", "region of the gateway")
	access := flag.String("access", "", "access key")
	cert := flag.String("cert", "", "certificate, PEM")
	key := flag.String("key", "", "key, PEM")
	flag.Parse()

	sidecar, err := meta.NewSideCar(*attributes)
	check(err)
	backend, err := posix.New(*root, sidecar, posix.PosixOpts{SideCarDir: *attributes})
	check(err)
	check(embedgw.RunVersityGW(context.Background(), backend, &embedgw.Config{
		RootUserAccess:    *access,
		RootUserSecret:    os.Getenv("SECRET_KEY"),
		Region:            *region,
		Ports:             []string{*listen},
		MaxConnections:    100,
		MaxRequests:       100,
		CertFile:          *cert,
		KeyFile:           *key,
		MultipartMaxParts: 10000,
		Quiet:             true,
	}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
