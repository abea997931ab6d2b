// zzdump prints packets of a capture: zzdump FILE [from] [to] [conn]
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

func main() {
	r, err := capture.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	from, to, filt := int64(0), int64(1<<60), ""
	if len(os.Args) > 2 {
		from, _ = strconv.ParseInt(os.Args[2], 10, 64)
	}
	if len(os.Args) > 3 {
		to, _ = strconv.ParseInt(os.Args[3], 10, 64)
	}
	if len(os.Args) > 4 {
		filt = os.Args[4]
	}
	base := map[string]tcp.Seq{}
	var first int64
	for {
		p, err := r.Next()
		if err != nil {
			fmt.Println(err)
			return
		}
		if first == 0 {
			first = int64(r.Stats().First)
		}
		k := p.Src.String() + ">" + p.Dst.String()
		rk := p.Dst.String() + ">" + p.Src.String()
		if _, ok := base[k]; !ok {
			base[k] = p.Header.Seq
		}
		if _, ok := base[rk]; !ok && p.Header.Flags.Has(tcp.ACK) {
			base[rk] = p.Header.Ack
		}
		if p.Number < from || p.Number > to || filt != "" && !strings.Contains(k, filt) {
			continue
		}
		h := &p.Header
		fmt.Printf("%d %.6f %s %v seq %d..%d ack %d win %d", p.Number, float64(int64(p.Time)-first)/1e9, k, h.Flags, int32(h.Seq-base[k]), int32(h.Seq-base[k])+int32(p.Len), int32(h.Ack-base[rk]), h.Window)
		for i := range h.Options.NumSACK {
			fmt.Printf(" sack %d-%d", int32(h.Options.SACK[i].Start-base[rk]), int32(h.Options.SACK[i].End-base[rk]))
		}
		if h.Options.HasTimestamps {
			fmt.Printf(" ts %d/%d", h.Options.TSVal, h.Options.TSEcr)
		}
		fmt.Printf(" id %x ttl %d path %x prob %x\n", p.ID, p.TTL, p.Path&0xffff, p.Problems)
	}
}
