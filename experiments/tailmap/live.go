package tailmap

import (
	"context"
	"errors"
	"os"
	"runtime"

	"tcpwheel/experiments"
	"tcpwheel/tun/tail"
)

// needsRoot says why the kernel's TCP cannot be had here.
func needsRoot() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("the kernel's TCP wants Linux and root, for TUN devices in network namespaces")
	}
	return nil
}

// kernel has the kernel's TCP lose a last segment at the round trips of gVisor's.
func kernel(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "kernel", Title: "The kernel's TCP of this machine: the last segment of a response is lost",
		Columns: []string{"round trip, ms", "segments", "sent again, ms", "rule, ms", "complete, ms"},
	}
	off, all := 0, 0
	for _, rtt := range p.GVisorRTTs {
		c, err := others(ctx, p, rtt, tail.Linux, false)
		if err != nil {
			return nil, err
		}
		for _, t := range c.Tails {
			law := lawLinux(rtt, t.Segments)
			table.Add(ms(rtt), t.Segments, ms(t.Resend), ms(law), ms(t.Complete))
			// The rule's round trip is that of the path. SRTT and the variation are those of a machine that does other things too: a tenth
			// is what a replay of a kernel's connection is allowed at its 95th percentile.
			all++
			if d := t.Resend - law; d < -2*jiffy || d > law/10+2*jiffy {
				off++
			}
		}
	}
	out.Tables = append(out.Tables, table)
	out.Claim(experiments.Claim{
		Name: "kernel", Text: "the kernel sends a lone lost segment again by the rule of probe and timer", Source: "RFC 8985 §7.2",
		Tag: experiments.Standard, Measured: experiments.MeasuredText("%d of %d off", off, all),
		Expected: "the rule over the path's round trip, two jiffies before to two and a tenth of it after", Verdict: experiments.Holds(off == 0),
	}, "this machine was busy, or its kernel has another rule")
	return out, nil
}
