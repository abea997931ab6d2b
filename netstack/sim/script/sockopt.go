package script

import (
	"fmt"
	"math"
	"strings"
	"time"
)

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// optionName returns the option of a call. It ends the run if the level is another one.
func (r *runner) optionName(c *Call) string {
	name, level := c.Args[2].Text, "SOL_SOCKET"
	if strings.HasPrefix(name, "TCP_") {
		level = "SOL_TCP"
	}
	if c.Args[1].Text != level {
		r.fail("%s is an option of %s", name, level)
	}
	return name
}

// setOption sets a socket option by name. The error tells why it cannot.
func setOption(f *file, c *SocketConfig, name string, v int64) error {
	o := &c.Conn.Socket
	if v < 0 || v > math.MaxInt32 {
		return fmt.Errorf("value %d, want 0..%d", v, math.MaxInt32)
	}
	switch name {
	case "TCP_NODELAY":
		o.NoDelay = v != 0
	case "TCP_CORK":
		o.Cork = v != 0
	case "TCP_QUICKACK":
		o.QuickAck = v != 0
	case "SO_KEEPALIVE":
		o.Keepalive = v != 0
	case "TCP_KEEPIDLE":
		o.KeepIdle = time.Duration(v) * time.Second
	case "TCP_KEEPINTVL":
		o.KeepInterval = time.Duration(v) * time.Second
	case "TCP_KEEPCNT":
		o.KeepCount = int(v)
	case "TCP_USER_TIMEOUT":
		o.UserTimeout = time.Duration(v) * time.Millisecond
	case "TCP_NOTSENT_LOWAT":
		o.NotSentLowat = uint32(v)
	case "TCP_MAXSEG":
		if v > math.MaxUint16 {
			return fmt.Errorf("value %d, want 0..%d", v, math.MaxUint16)
		}
		o.MaxSeg = uint16(v)
	case "SO_REUSEADDR":
		c.ReuseAddr = v != 0
	case "TCP_DEFER_ACCEPT":
		c.DeferAccept = time.Duration(v) * time.Second
	case "SO_RCVBUF":
		c.Conn.RecvBuffer, c.Conn.RecvBufferMax = uint32(v), 0
	default:
		return fmt.Errorf("want an option that netstack/tcp/testdata/README.md lists")
	}
	if early := name == "TCP_DEFER_ACCEPT" || name == "SO_RCVBUF"; early && (f.listening || f.flow != nil) {
		return fmt.Errorf("want it before listen or connect")
	}
	return c.Conn.Check()
}

func (r *runner) setsockopt(f *file, c *Call) result {
	cfg, name, v := f.cfg, r.optionName(c), c.Args[3]
	var err error
	if name == "SO_LINGER" {
		cfg.Lingers, cfg.Linger = v.Fields["onoff"] != 0, time.Duration(v.Fields["linger"])*time.Second
	} else {
		err = setOption(f, &cfg, name, v.Value)
	}
	if err == nil {
		err = f.socket.Configure(cfg)
	}
	if err != nil {
		r.fail("setsockopt %s: %v", name, err)
	}
	f.cfg = cfg
	if name == "TCP_NODELAY" && v.Value != 0 {
		f.socket.Flush()
	}
	return result{}
}

func (r *runner) getsockopt(f *file, c *Call) result {
	if r.optionName(c) != "SO_ERROR" {
		r.fail("getsockopt: want SO_ERROR")
	}
	r.wantValue(c, c.Args[3], constants[f.socket.Error()])
	return result{}
}
