package replay

import (
	"cmp"
	"slices"

	"tcpwheel/wheel"
)

// tries returns when each transmission of the first octet of each loss left.
func (r *run) tries() [][]wheel.Time {
	all := make([][]wheel.Time, len(r.script.Loss))
	for d, p := range r.paths {
		var by []int // the losses of this flow, by place
		for i := range r.script.Loss {
			if r.script.Loss[i].Flow == d {
				by = append(by, i)
			}
		}
		slices.SortStableFunc(by, func(a, b int) int { return cmp.Compare(r.script.Loss[a].Start, r.script.Loss[b].Start) })
		for i := range p.sent {
			x := &p.sent[i]
			k, _ := slices.BinarySearchFunc(by, x.start, func(n int, pos int64) int { return cmp.Compare(int64(r.script.Loss[n].Start), pos) })
			for ; k < len(by) && int64(r.script.Loss[by[k]].Start) < x.end; k++ {
				all[by[k]] = append(all[by[k]], x.at)
			}
		}
	}
	return all
}

// letting is a loss, when a run that follows the capture is to be let go for it, and up to when it shows nothing of the loss.
type letting struct {
	loss  int
	at    wheel.Time
	until wheel.Time
}

// recoveries has each loss happen to ends that are as the capture has them up to it: they hear what they heard, and are let go when
// what is lost is about to leave. So no error of one loss is handed on to the next. Losses that happen before the first of them shows
// share a run. Where ends cannot follow the capture, the recovery is that of the run from end to end.
func (r *run) recoveries() error {
	s := r.script
	if len(s.Loss) == 0 || len(s.wire.heard[0])+len(s.wire.heard[1]) == 0 {
		return nil
	}
	first, err := s.followed(r.options, s.End+1, nil)
	if err != nil {
		return err
	}
	tries := first.tries()
	var all []letting
	for i := range s.Loss {
		l := &s.Loss[i]
		if len(tries[i]) < l.Try {
			continue // it has not come so far: the capture begins with what was written before, or tells of other octets
		}
		x := letting{i, tries[i][l.Try-1], l.At}
		if t := s.Ways[l.Flow].try(int64(l.Start), l.Try); t != nil {
			x.at = min(x.at, t.Sent)
		}
		if len(tries[i]) > l.Try {
			x.until = min(x.until, tries[i][l.Try])
		}
		all = append(all, x)
	}
	for _, together := range s.share(all, mostFollowed) {
		x, err := s.followed(r.options, together[0].at, together)
		if err != nil {
			return err
		}
		tries := x.tries()
		for _, l := range together {
			r.out.Recoveries[l.loss] = x.recovery(&s.Loss[l.loss], tries[l.loss])
		}
	}
	return nil
}

// mostFollowed is how many packets the runs of a script that follow the capture hear together, about: a second of work. Where it takes more to let
// go for each loss, neighbours share a run.
const mostFollowed = 1 << 20

// share puts losses together that share a run.
func (s *Script) share(all []letting, most int) (runs [][]letting) {
	slices.SortStableFunc(all, func(a, b letting) int { return cmp.Compare(a.at, b.at) })
	work := 0
	for len(all) > 0 {
		n, until := 1, all[0].until
		for n < len(all) && all[n].at < until {
			until = min(until, all[n].until)
			n++
		}
		runs = append(runs, all[:n:n])
		work += s.heardBefore(all[0].at)
		all = all[n:]
	}
	each := (work + most - 1) / most
	if each <= 1 {
		return runs
	}
	var fewer [][]letting
	for some := range slices.Chunk(runs, each) {
		fewer = append(fewer, slices.Concat(some...))
	}
	return fewer
}

// heardBefore returns how many packets arrive before an instant at both ends.
func (s *Script) heardBefore(at wheel.Time) (n int) {
	for _, all := range s.wire.heard {
		i, _ := slices.BinarySearchFunc(all, at, func(x hearing, at wheel.Time) int { return cmp.Compare(x.at, at) })
		n += i
	}
	return n
}

// followed is a run that follows the capture up to an instant, and then until the losses are repaired.
func (s *Script) followed(o Options, until wheel.Time, losses []letting) (*run, error) {
	x := &run{script: s, options: o, out: &Outcome{Policy: o.Policy.Name, Key: o.Key}}
	if err := x.build(); err != nil {
		return nil, err
	}
	x.follow(until)
	end := s.End.Add(slackAfter)
	if losses == nil {
		end = s.End
	}
	done := 0
	x.steps(end, func() bool {
		for done < len(losses) {
			l := &s.Loss[losses[done].loss]
			if _, ok := x.paths[l.Flow].acknowledged(l.End); !ok {
				return false
			}
			done++
		}
		return done > 0
	})
	return x, nil
}
