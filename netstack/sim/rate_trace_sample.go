package sim

import "fmt"

// samplePrefix begins the names of traces of this package, as it begins those of sample captures.
const samplePrefix = "sample:"

// SampleTraces are the traces that SampleTrace makes. They are drawn, not recorded.
var SampleTraces = []struct{ Name, About string }{
	{"cellular", "20 s, 2.1 Mbit/s: the rate wanders from 0.5 Mbit/s upwards, with gaps of 0.1 to 0.6 s"},
	{"handover", "20 s, 9.9 Mbit/s: 12 Mbit/s, with a gap of 50 to 400 ms after each 0.4 to 1.6 s"},
}

const sampleTraceMS = 20_000

// SampleTrace makes the trace of SampleTraces with this name. The result depends only on the name.
func SampleTrace(name string) (*RateTrace, error) { return GenerateTrace(name, 1) }

// GenerateTrace makes a trace like one of SampleTraces, from a seed. It calculates in whole
// numbers, so that it is the same on all machines.
func GenerateTrace(name string, seed uint64) (*RateTrace, error) {
	t := &RateTrace{name: samplePrefix + name}
	draws, n := newStream(LinkKey(seed, name), forState), uint64(0)
	draw := func(least, most uint64) uint64 {
		n++
		return least + below(draws.at(n), most-least+1)
	}
	var kbit func(ms uint32) uint64 // the rate at a time, in kbit/s: bits in a millisecond
	switch name {
	case "cellular":
		kbit = cellular(draw)
	case "handover":
		kbit = handover(draw)
	default:
		return nil, fmt.Errorf("no sample trace %q, want %s or %s", name, SampleTraces[0].Name, SampleTraces[1].Name)
	}
	bits := uint64(0)
	for ms := uint32(1); ms < sampleTraceMS; ms++ {
		for bits += kbit(ms); bits >= TraceBytes*8; bits -= TraceBytes * 8 {
			t.ms = append(t.ms, ms)
		}
	}
	t.ms = append(t.ms, sampleTraceMS) // the period
	return t, nil
}

// cellular changes the rate by up to a fifth each 20 ms. Each such time a gap begins with a
// probability of 0.5 %.
func cellular(draw func(least, most uint64) uint64) func(uint32) uint64 {
	rate, gap := uint64(6000), uint32(0)
	return func(ms uint32) uint64 {
		if ms%20 == 0 {
			rate = min(max(rate*draw(80, 121)/100, 500), 24_000)
			if draw(1, 200) == 1 {
				gap = ms + uint32(draw(100, 600))
			}
		}
		if ms < gap {
			return 0
		}
		return rate
	}
}

// handover has a fixed rate with gaps.
func handover(draw func(least, most uint64) uint64) func(uint32) uint64 {
	off := uint32(draw(400, 1600))
	on := off + uint32(draw(50, 400))
	return func(ms uint32) uint64 {
		if ms >= on {
			off = ms + uint32(draw(400, 1600))
			on = off + uint32(draw(50, 400))
		}
		if ms >= off {
			return 0
		}
		return 12_000
	}
}
