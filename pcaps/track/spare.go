package track

// spare is the last connection that ended, to be used for the next: a flood would have the collector at work all the time.
type spare struct {
	c     *Conn
	flows *[2]Flow
}

func (s *spare) put(c *Conn) { s.c, s.flows = c, c.Flows }

func (s *spare) takeConn() (c *Conn) {
	if c, s.c = s.c, nil; c == nil {
		c = new(Conn)
	}
	return c
}

func (s *spare) takeFlows() (flows *[2]Flow) {
	if flows, s.flows = s.flows, nil; flows == nil {
		flows = new([2]Flow)
	}
	return flows
}
