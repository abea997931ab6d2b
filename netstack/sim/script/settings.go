package script

import (
	"net/netip"
	"reflect"
	"time"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/tcp"
)

// settings are what --name=value sets.
type settings struct {
	Policy  string `set:"policy" help:"timer policy, as tcptimers.ParsePolicy reads it"`
	Profile string `set:"profile" help:"profile of package tcptimers"`

	Tolerance   time.Duration `set:"tolerance" max:"1h" help:"by how much a packet or a return may be early or late"`
	IPVersion   ipVersion     `set:"ip_version" help:"version of IP"`
	LocalIP     netip.Addr    `set:"local_ip" help:"address of the engine"`
	RemoteIP    netip.Addr    `set:"remote_ip" help:"address of the script"`
	BindPort    uint16        `set:"bind_port" help:"port of a bind that names none"`
	ConnectPort uint16        `set:"connect_port" help:"port of a connect that names none"`
	RemoteISN   uint32        `set:"remote_isn" help:"live sequence number of the remote end for 0 in the script"`
	Start       time.Duration `set:"start" help:"when the script begins, since the epoch that ticks count from"`
	SendBuffer  int64         `set:"send_buffer" unit:"size" min:"0" help:"bytes written and not acknowledged, at most"`

	Engine tcp.EngineConfig
}

// ipVersion is the version of IP; the number is that of Names.
type ipVersion uint8

const ipv6 ipVersion = 1

// Names returns the names of the versions, in order.
func (ipVersion) Names() []string { return []string{"ipv4", "ipv6"} }

// Composites implements setting.Composer: packetdrill's options in microseconds.
func (*settings) Composites() []setting.Composite {
	usecs := func(name string, tag reflect.StructTag, field func(*settings) *time.Duration) setting.Composite {
		return setting.Derive(name, tag, func(s *settings, n uint32) {
			*field(s) = time.Duration(n) * time.Microsecond
		})
	}
	return []setting.Composite{
		usecs("tolerance_usecs", `max:"1e9" help:"tolerance in µs"`, func(s *settings) *time.Duration { return &s.Tolerance }),
		usecs("tcp_ts_tick_usecs", `max:"1e9" help:"timestamp-tick in µs"`, func(s *settings) *time.Duration { return &s.Engine.Conn.TimestampTick }),
	}
}

// Options returns the settings of --name=value. In names "_" and "-" are the same.
func Options() []setting.Setting { return setting.All(settings{}) }
