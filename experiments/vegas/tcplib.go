package vegas

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"tcpwheel/experiments"
)

// tcplibKinds are the kinds of conversation of tcplib with their shares of all conversations
// (apps_brkdn of app_brkdn.h). The other half of the conversations has no kind there.
var tcplibKinds = []struct {
	name  string
	share float64
	draw  func(t tcplib, r *rand.Rand) conversation
}{
	{"ftp", 0.0216, func(t tcplib, r *rand.Rand) conversation {
		return t.items(r, "ftp nitems", "ftp itemsize", "ftp ctlsize")
	}},
	{"telnet", 0.0612, tcplib.telnet},
	{"nntp", 0.0056, func(t tcplib, r *rand.Rand) conversation { return t.items(r, "nntp nitems", "nntp itemsize") }},
	{"smtp", 0.3798, func(t tcplib, r *rand.Rand) conversation {
		return conversation{bytes: uint64(t.draw(r, "smtp itemsize"))}
	}},
}

// tcplib is the distributions of P. Danzig and S. Jamin, "tcplib: A Library of TCP Internetwork
// Traffic Characteristics", USC-CS-91-495, 1991, by name. Bytes, items and milliseconds. See
// tcplib.csv.
type tcplib map[string][]tcplibPoint

// tcplibPoint is a value, and the share of draws up to it.
type tcplibPoint struct{ value, share float64 }

// readTcplib reads the file. It panics if the file is broken, as it is part of the program.
var readTcplib = sync.OnceValue(func() tcplib {
	all := tcplib{}
	for _, row := range experiments.ReadRows(files, "tcplib.csv") {
		value, err := strconv.ParseFloat(row[1], 64)
		share, err2 := strconv.ParseFloat(row[2], 64)
		if err != nil || err2 != nil {
			panic("BUG: tcplib.csv: " + strings.Join(row, ","))
		}
		all[row[0]] = append(all[row[0]], tcplibPoint{value, share})
	}
	return all
})

// draw draws a value as tcplib.c does: evenly between two points.
func (t tcplib) draw(r *rand.Rand, table string) float64 {
	u, points := float64(r.Float64()), t[table] // its product is not fused with the sums below
	if u < points[0].share {
		return points[0].value
	}
	for i, p := range points[1:] {
		if before := points[i]; u <= p.share {
			return before.value + float64((u-before.share)/(p.share-before.share)*(p.value-before.value))
		}
	}
	return points[len(points)-1].value
}

// mean returns the mean of a table.
func (t tcplib) mean(table string) float64 {
	points := t[table]
	sum := float64(points[0].value * points[0].share)
	for i, p := range points[1:] {
		sum += float64((p.share - points[i].share) * (p.value + points[i].value) / 2)
	}
	return sum
}

// items draws a conversation that transfers items over one connection, one after the other. sizes
// are the parts of an item.
func (t tcplib) items(r *rand.Rand, items string, sizes ...string) (c conversation) {
	for range int(t.draw(r, items)) {
		for _, size := range sizes {
			c.bytes += uint64(t.draw(r, size))
		}
	}
	return c
}

func (t tcplib) telnet(r *rand.Rand) conversation {
	own := rand.New(rand.NewPCG(r.Uint64(), 0x7e1))
	return conversation{lasts: time.Duration(t.draw(r, "telnet duration") * float64(time.Millisecond)),
		packet: func() (uint32, time.Duration) {
			return uint32(t.draw(own, "telnet packet")),
				time.Duration(t.draw(own, "telnet interarrival") * float64(time.Millisecond))
		}}
}

// converse draws a conversation of any kind.
func (t tcplib) converse(r *rand.Rand) conversation {
	all := 0.0
	for _, k := range tcplibKinds {
		all += k.share
	}
	u := float64(r.Float64() * all)
	for _, k := range tcplibKinds[:len(tcplibKinds)-1] {
		if u < k.share {
			return k.draw(t, r)
		}
		u -= k.share
	}
	return tcplibKinds[len(tcplibKinds)-1].draw(t, r)
}

// tcplibSamples is the conversations whose mean counts as the mean.
const tcplibSamples = 200_000

// bytes returns the mean bytes of a conversation, over conversations that a fixed seed draws. The
// tail is heavy: half of the bytes are in one conversation of a hundred.
var tcplibBytes = sync.OnceValue(func() float64 {
	t, r, sum := readTcplib(), rand.New(rand.NewPCG(1, 0x7c9)), 0.0
	for range tcplibSamples {
		c := t.converse(r)
		if c.lasts > 0 {
			c.bytes = uint64(t.mean("telnet packet") * c.lasts.Seconds() * 1e3 / t.mean("telnet interarrival"))
		}
		sum += float64(c.bytes)
	}
	return sum / tcplibSamples
})
