// versitygw is the S3 gateway of that name over a directory: each directory below it is a bucket. It is a small main of
// our own because tests need one account, no web pages, and attributes beside the files where a file system has none.
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
	root := flag.String("root", "", "where the buckets are")
	attributes := flag.String("attributes", "", "where what is said of objects is kept")
	region := flag.String("region", "us-east-1", "its region")
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
