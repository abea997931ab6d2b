package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun/link"
)

// linkSettings are what a flag, or KEY=VALUE for one direction, may say about a link.
var linkSettings = []struct {
	name, about string
	set         func(c *sim.LinkConfig, value string) error
}{
	{"delay", "time that a packet takes", func(c *sim.LinkConfig, v string) (err error) {
		c.Delay, err = parseSpan("delay", v)
		return err
	}},
	{"jitter", "by what it varies, either way", func(c *sim.LinkConfig, v string) (err error) {
		c.Jitter.Amount, err = parseSpan("jitter", v)
		return err
	}},
	{"loss", "probability, or a model", func(c *sim.LinkConfig, v string) (err error) {
		c.Loss, err = parseLoss(v)
		return err
	}},
	{"reorder", "probability to pass those before", func(c *sim.LinkConfig, v string) (err error) {
		c.Reorder.Probability, err = parseProbability("reorder", v)
		return err
	}},
	{"duplicate", "probability to arrive twice", func(c *sim.LinkConfig, v string) (err error) {
		c.Duplicate, err = parseProbability("duplicate", v)
		return err
	}},
	{"corrupt", "probability of a flipped bit", func(c *sim.LinkConfig, v string) (err error) {
		c.Corrupt, err = parseProbability("corrupt", v)
		return err
	}},
	{"rate", "bit/s (default: no bound)", func(c *sim.LinkConfig, v string) (err error) {
		c.Rate, err = parseRate(v)
		return err
	}},
	{"queue", "packets that may wait (default: 2^24)", func(c *sim.LinkConfig, v string) error {
		n, err := strconv.ParseUint(v, 10, 32)
		if err != nil {
			return fmt.Errorf("queue %q, want a number of packets", v)
		}
		c.Queue.Packets = uint32(n)
		return nil
	}},
}

// linkFlags are the flags that say what a link does: for both directions, and for one.
type linkFlags struct {
	plan   string
	values []string // by linkSettings
	one    [2][]string
}

func (f *linkFlags) register(fs *pflag.FlagSet) {
	f.values = make([]string, len(linkSettings))
	for i, s := range linkSettings {
		fs.StringVar(&f.values[i], s.name, "", s.about)
	}
	fs.StringArrayVar(&f.one[0], "a-to-b", nil, "KEY=VALUE: that flag for one direction")
	fs.StringArrayVar(&f.one[1], "b-to-a", nil, "the same for the other")
	fs.StringVar(&f.plan, "plan", "", "JSON file of the link, which flags change")
}

// links returns the models of both directions: what the plan says, changed by the flags of both directions, changed by
// those of one.
func (f *linkFlags) links() (links [2]sim.LinkConfig, err error) {
	if f.plan != "" {
		text, err := os.ReadFile(f.plan)
		if err != nil {
			return links, err
		}
		if links, err = link.ParsePlan(text); err != nil {
			return links, fmt.Errorf("%s: %w", f.plan, err)
		}
	}
	for d := range links {
		for i, s := range linkSettings {
			if f.values[i] != "" {
				if err := s.set(&links[d], f.values[i]); err != nil {
					return links, err
				}
			}
		}
		for _, setting := range f.one[d] {
			if err := setLink(&links[d], setting); err != nil {
				return links, fmt.Errorf("%s: %w", link.Direction(d), err)
			}
		}
	}
	return links, nil
}

// setLink applies KEY=VALUE.
func setLink(c *sim.LinkConfig, setting string) error {
	key, value, ok := strings.Cut(setting, "=")
	names := make([]string, len(linkSettings))
	for i, s := range linkSettings {
		if ok && s.name == key {
			return s.set(c, value)
		}
		names[i] = s.name
	}
	return fmt.Errorf("%q, want KEY=VALUE with one of %s", setting, strings.Join(names, ", "))
}

func parseSpan(name, v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, fmt.Errorf("%s %q, want a time such as 10ms", name, v)
	}
	return d, nil
}

func parseProbability(name, v string) (float64, error) {
	p, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return 0, fmt.Errorf("%s %q, want a probability from 0 to 1", name, v)
	}
	return p, nil
}

// parseLoss reads a probability, or the text of loss models.
func parseLoss(v string) (sim.Losses, error) {
	p, err := strconv.ParseFloat(v, 64)
	switch {
	case err != nil:
		return sim.ParseLosses(v)
	case p == 0:
		return nil, nil
	}
	return sim.Losses{sim.Bernoulli{P: p}}, nil
}

func parseRate(v string) (uint64, error) {
	r, err := strconv.ParseFloat(v, 64)
	if err != nil || r != math.Trunc(r) || r < 1 || r > 1e15 {
		return 0, fmt.Errorf("rate %q, want a whole number of bit/s up to 1e15, such as 1e9", v)
	}
	return uint64(r), nil
}
