// Package netstack binds the TCP engine to gVisor's network stack.
package netstack

import _ "gvisor.dev/gvisor/pkg/tcpip" // until the first file of the room needs it
