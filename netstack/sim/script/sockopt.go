package script

import (
	"math"
	"time"

	"tcpwheel/netstack/tcp"
)

// sockopt is a socket option with a number.
type sockopt struct {
	level string
	early bool // only before listen and connect
	set   func(c *SocketConfig, v int64) (errno string)
	get   func(c *SocketConfig) int64
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// boolOption is an on-off option of tcp.SocketOptions.
func boolOption(level string, field func(*tcp.SocketOptions) *bool) sockopt {
	return sockopt{level, false,
		func(c *SocketConfig, v int64) string { *field(&c.Conn.Socket) = v != 0; return "" },
		func(c *SocketConfig) int64 { return truth(*field(&c.Conn.Socket)) },
	}
}

// interval is an option of tcp.SocketOptions that is a time, in a unit.
func interval(unit time.Duration, field func(*tcp.SocketOptions) *time.Duration) sockopt {
	return sockopt{"SOL_TCP", false,
		func(c *SocketConfig, v int64) string {
			if v < 0 || v > math.MaxInt32 {
				return "EINVAL"
			}
			*field(&c.Conn.Socket) = time.Duration(v) * unit
			return ""
		},
		func(c *SocketConfig) int64 { return int64(*field(&c.Conn.Socket) / unit) },
	}
}

// sockopts are the socket options by name. Those of tcp.SocketOptions may be set at any time.
var sockopts = map[string]sockopt{
	"TCP_NODELAY":      boolOption("SOL_TCP", func(o *tcp.SocketOptions) *bool { return &o.NoDelay }),
	"TCP_CORK":         boolOption("SOL_TCP", func(o *tcp.SocketOptions) *bool { return &o.Cork }),
	"TCP_QUICKACK":     boolOption("SOL_TCP", func(o *tcp.SocketOptions) *bool { return &o.QuickAck }),
	"SO_KEEPALIVE":     boolOption("SOL_SOCKET", func(o *tcp.SocketOptions) *bool { return &o.Keepalive }),
	"TCP_KEEPIDLE":     interval(time.Second, func(o *tcp.SocketOptions) *time.Duration { return &o.KeepIdle }),
	"TCP_KEEPINTVL":    interval(time.Second, func(o *tcp.SocketOptions) *time.Duration { return &o.KeepInterval }),
	"TCP_USER_TIMEOUT": interval(time.Millisecond, func(o *tcp.SocketOptions) *time.Duration { return &o.UserTimeout }),
	"TCP_KEEPCNT": {"SOL_TCP", false,
		func(c *SocketConfig, v int64) string { c.Conn.Socket.KeepCount = int(v); return "" },
		func(c *SocketConfig) int64 { return int64(c.Conn.Socket.KeepCount) },
	},
	"TCP_NOTSENT_LOWAT": {"SOL_TCP", false,
		func(c *SocketConfig, v int64) string { c.Conn.Socket.NotSentLowat = uint32(v); return "" },
		func(c *SocketConfig) int64 { return int64(c.Conn.Socket.NotSentLowat) },
	},
	"TCP_MAXSEG": {"SOL_TCP", false,
		func(c *SocketConfig, v int64) string {
			if v < 0 || v > math.MaxUint16 {
				return "EINVAL"
			}
			c.Conn.Socket.MaxSeg = uint16(v)
			return ""
		},
		func(c *SocketConfig) int64 { return int64(c.Conn.Socket.MaxSeg) },
	},
	"TCP_DEFER_ACCEPT": {"SOL_TCP", true,
		func(c *SocketConfig, v int64) string { c.DeferAccept = time.Duration(v) * time.Second; return "" },
		func(c *SocketConfig) int64 { return int64(c.DeferAccept / time.Second) },
	},
	"SO_RCVBUF": {"SOL_SOCKET", true,
		func(c *SocketConfig, v int64) string {
			c.Conn.RecvBuffer, c.Conn.RecvBufferMax = uint32(v), 0
			return ""
		},
		func(c *SocketConfig) int64 { return int64(c.Conn.RecvBuffer) },
	},
	"SO_SNDBUF": {"SOL_SOCKET", false,
		func(c *SocketConfig, v int64) string { c.SendBuffer = v; return "" },
		func(c *SocketConfig) int64 { return c.SendBuffer },
	},
	"SO_ERROR": {"SOL_SOCKET", false, nil, nil},
	"SO_REUSEADDR": {"SOL_SOCKET", false,
		func(c *SocketConfig, v int64) string { c.ReuseAddr = v != 0; return "" },
		func(c *SocketConfig) int64 { return truth(c.ReuseAddr) },
	},
}

const supportedSockopts = "SO_ERROR, SO_KEEPALIVE, SO_LINGER, SO_RCVBUF, SO_REUSEADDR, SO_SNDBUF, TCP_CONGESTION, TCP_CORK, " +
	"TCP_DEFER_ACCEPT, TCP_KEEPCNT, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_MAXSEG, TCP_NODELAY, TCP_NOTSENT_LOWAT, TCP_QUICKACK, " +
	"TCP_USER_TIMEOUT"

// early ends the run if an option is set after its connection exists.
func (r *runner) early(f *file) {
	if f.listening || f.flow != nil {
		r.fail("set the option before listen or connect")
	}
}

// optionName returns the option's name in a call.
func (r *runner) optionName(c *Call) string {
	n, ok := c.Args[2].(*Name)
	if !ok {
		r.fail("%s: want the name of an option, such as TCP_NODELAY", c.Name)
	}
	level := "SOL_TCP"
	if o, ok := sockopts[n.Name]; ok {
		level = o.level
	} else if n.Name == "SO_LINGER" {
		level = "SOL_SOCKET"
	} else if n.Name != "TCP_CONGESTION" {
		r.unsupported(c, "option "+n.Name, supportedSockopts)
	}
	if r.integer(c.Args[1]) != constants[level] {
		r.fail("%s is an option of %s", n.Name, level)
	}
	return n.Name
}

func (r *runner) setsockopt(f *file, c *Call) result {
	name, cfg := r.optionName(c), f.socket.Config()
	switch name {
	case "TCP_CONGESTION":
		s, ok := c.Args[3].(*String)
		if !ok {
			r.fail(`setsockopt: want a name such as "cubic"`)
		}
		r.early(f)
		if err := setControl(&cfg.Conn, s.Value); err != nil {
			r.note("%v", err)
			return fails("ENOENT")
		}
		r.configure(f, cfg)
		return result{}
	case "SO_LINGER":
		on, sec := field(c.Args[3], "onoff", "l_onoff"), field(c.Args[3], "linger", "l_linger")
		if on == nil || sec == nil {
			r.fail("setsockopt: want {onoff=1, linger=2}")
		}
		cfg.Lingers, cfg.Linger = r.integer(on) != 0, time.Duration(r.integer(sec))*time.Second
		r.configure(f, cfg)
		return result{}
	}
	o := sockopts[name]
	if o.set == nil {
		return fails("ENOPROTOOPT")
	}
	v := r.integer(c.Args[3])
	if o.early {
		r.early(f)
	}
	if errno := o.set(&cfg, v); errno != "" {
		return fails(errno)
	}
	if err := cfg.Conn.Check(); err != nil {
		r.note("%v", err)
		return fails("EINVAL")
	}
	r.configure(f, cfg)
	if name == "TCP_NODELAY" && v != 0 {
		f.socket.Flush()
	}
	return result{}
}

func (r *runner) getsockopt(f *file, c *Call) result {
	name, cfg := r.optionName(c), f.socket.Config()
	switch name {
	case "TCP_CONGESTION":
		got := cfg.Conn.Control
		if want, ok := c.Args[3].(*String); ok && want.Value != got && !(want.Value == "reno" && got == "newreno") {
			r.fail("getsockopt gives %q, want %q", got, want.Value)
		}
		return result{}
	case "SO_LINGER":
		for _, v := range []struct {
			field Expr
			got   int64
		}{{field(c.Args[3], "onoff", "l_onoff"), truth(cfg.Lingers)}, {field(c.Args[3], "linger", "l_linger"), int64(cfg.Linger / time.Second)}} {
			if v.field != nil {
				r.wantValue(c, v.field, v.got)
			}
		}
		return result{}
	case "SO_ERROR":
		r.wantValue(c, c.Args[3], errnos[f.socket.Error()])
		return result{}
	case "TCP_MAXSEG":
		if f.flow != nil {
			r.wantValue(c, c.Args[3], int64(r.info(f.flow).SndMSS))
			return result{}
		}
	}
	r.wantValue(c, c.Args[3], sockopts[name].get(&cfg))
	return result{}
}
