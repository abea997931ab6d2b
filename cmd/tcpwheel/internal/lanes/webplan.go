package lanes

import (
	"math"
	"math/rand/v2"
	"time"
)

// webRequest is a request of the web-like load. It is the same in all lanes.
type webRequest struct {
	wait       time.Duration // after the request before
	due        time.Duration // since the beginning, if no response is late
	start, end uint64        // the bytes of its response in the server's stream
}

// webPlan draws the requests of a connection, each once for all lanes.
type webPlan struct {
	rng *rand.Rand
	all []webRequest
}

func newWebPlan(seed, index uint64) *webPlan {
	return &webPlan{rng: rand.New(rand.NewPCG(seed, 1000+index))}
}

// request returns request i, counted from 0.
func (p *webPlan) request(i int) webRequest {
	for len(p.all) <= i {
		var last webRequest
		if n := len(p.all); n > 0 {
			last = p.all[n-1]
		}
		wait := time.Duration(p.rng.ExpFloat64() * float64(webThink))
		size := uint64(min(math.Exp(meanResponse+sigmaResponse*p.rng.NormFloat64()), maxResponse))
		p.all = append(p.all, webRequest{wait: wait, due: last.due + wait, start: last.end, end: last.end + size})
	}
	return p.all[i]
}
