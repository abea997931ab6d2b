package cli

import (
	"crypto/x509"
	"strings"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// useCertificates makes TLS trust Mozilla's certificates where the system has none, such as in an
// empty container, if one of the names is in a store. Importing package fallback would parse them
// at every start, which takes 1 ms.
func useCertificates(names ...string) {
	for _, name := range names {
		if strings.Contains(name, "://") {
			trustMozilla()
		}
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
