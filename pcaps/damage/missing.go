package damage

// dropAlone drops packets at random.
func dropAlone(j *job, p *Packet) error {
	if j.rng.Float64() < j.value.share {
		return j.drop()
	}
	return j.pass(p)
}

// burstLength is the mean number of packets of a burst.
const burstLength = 8

// dropBursts drops packets in bursts, with the Gilbert model.
func dropBursts(j *job, p *Packet) error {
	bad, _ := j.state.(bool)
	if bad {
		bad = j.rng.Float64() >= 1.0/burstLength
	} else {
		bad = j.rng.Float64() < j.value.share/(burstLength*(1-j.value.share))
	}
	if j.state = bad; bad {
		return j.drop()
	}
	return j.pass(p)
}

// dropACKs drops ACKs without data.
func dropACKs(j *job, p *Packet) error {
	if p.bareACK() {
		return j.drop()
	}
	return j.pass(p)
}

// keepSide keeps one direction of each connection.
func keepSide(j *job, p *Packet) error {
	if p.Segment != nil && (p.side() == 0) != (j.value.word == "low") {
		return j.drop()
	}
	return j.pass(p)
}

// beginLate drops packets at the beginning.
func beginLate(j *job, p *Packet) error {
	if p.Number <= int64(j.value.share*float64(j.total)) {
		return j.drop()
	}
	return j.pass(p)
}

// endEarly drops packets at the end.
func endEarly(j *job, p *Packet) error {
	if p.Number > j.total-int64(j.value.share*float64(j.total)) {
		return j.drop()
	}
	return j.pass(p)
}

// cutShort cuts packets.
func cutShort(j *job, p *Packet) error {
	if int64(len(p.Data)) <= j.value.n {
		return j.pass(p)
	}
	j.counts.Changed++
	q := *p
	q.Data = p.Data[:j.value.n:j.value.n]
	return j.pass(&q)
}
