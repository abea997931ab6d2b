//go:build !js

package samples

import "embed"

//go:embed */*.gz scenarios.json
var files embed.FS
