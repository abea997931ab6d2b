package main

import (
	"context"
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"tcpwheel/pcaps/corpus"
)

// trusting opens a store after it has made TLS trust Mozilla's certificates where the system has
// none, such as in an empty container. Importing package fallback would parse them at every start,
// which takes 1 ms.
func trusting(open corpus.OpenStore) corpus.OpenStore {
	return func(ctx context.Context, bucket string, o corpus.Options) (corpus.Store, error) {
		trustMozilla()
		return open(ctx, bucket, o)
	}
}

var trustMozilla = sync.OnceFunc(func() {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		switch cert, err := x509.ParseCertificate(root.Certificate); {
		case err != nil: // one less to trust
		case root.Constraint == nil:
			pool.AddCert(cert)
		default:
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	x509.SetFallbackRoots(pool)
})
