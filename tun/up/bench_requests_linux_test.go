package up

import (
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkTUNRequests has 300 connections of the kernel ask the stack's echo service, one small
// request at a time on each. It reports the requests per second for each TCP, in turns on a device
// of its own. ratio is the median of ours over gVisor's, ratio-25 and ratio-75 are its quartiles.
func BenchmarkTUNRequests(b *testing.B) {
	const conns, size = 300, 100
	whose := []string{Ours, GVisor}
	var rate [2]float64
	var sites [2]*hostTest
	for i, tcp := range whose {
		sites[i] = newTestHost(b, Config{TCP: tcp})
	}
	var ratios []float64
	for b.Loop() {
		var r [2]float64
		for i := range sites {
			i := (i + len(ratios)) % 2 // the first one alternates
			r[i] = requests(sites[i], conns, size)
			rate[i] += r[i]
		}
		ratios = append(ratios, r[0]/r[1])
	}
	slices.Sort(ratios)
	for i, tcp := range whose {
		b.ReportMetric(rate[i]/float64(b.N), tcp+"-requests/s")
	}
	n := len(ratios)
	b.ReportMetric(ratios[n/2], "ratio")
	b.ReportMetric(ratios[n/4], "ratio-25")
	b.ReportMetric(ratios[3*n/4], "ratio-75")
}

// requests returns the requests per second that the echo service answers within a second.
func requests(s *hostTest, conns, size int) float64 {
	var answered atomic.Int64
	var wait sync.WaitGroup
	all := make([]net.Conn, conns)
	for i := range all {
		all[i] = s.mustDial(stackAddrs[0].Addr(), EchoPort)
	}
	for _, c := range all {
		wait.Go(func() {
			for buf := make([]byte, size); ; answered.Add(1) {
				if _, err := c.Write(buf); err != nil {
					return
				}
				if _, err := io.ReadFull(c, buf); err != nil {
					return
				}
			}
		})
	}
	time.Sleep(200 * time.Millisecond) // all connections are busy
	before, start := answered.Load(), time.Now()
	time.Sleep(time.Second)
	rate := float64(answered.Load()-before) / time.Since(start).Seconds()
	for _, c := range all {
		c.Close()
	}
	wait.Wait()
	return rate
}
