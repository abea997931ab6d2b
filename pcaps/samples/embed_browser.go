//go:build js

package samples

import "embed"

// A page in a browser has the captures, without the truth about their transmissions.
//
//go:embed */a.pcapng.gz */middle.pcapng.gz */b.pcapng.gz scenarios.json
var files embed.FS
