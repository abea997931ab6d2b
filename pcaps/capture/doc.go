// Package capture reads TCP segments out of packet captures.
package capture
