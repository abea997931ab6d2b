package tcptimers

import "slices"

// switches are what texts of policies turn on and off by name.
var switches = []struct {
	name string
	turn func(p *Policy, on bool)
}{
	{"tlp", func(p *Policy, on bool) { p.TLP = on }},
	{"rack", func(p *Policy, on bool) { p.RACK = on }},
	{"frto", func(p *Policy, on bool) { p.FRTO = on }},
	{"synlinear", func(p *Policy, on bool) {
		p.SynLinearTimeouts = 0
		if on {
			p.SynLinearTimeouts = LinuxSynLinearTimeouts
		}
	}},
}

// Switches returns the names that Switch knows: tlp, rack and frto are the fields of these names, and synlinear is SynLinearTimeouts, on as
// Linux has it by default and off as all others, and Linux before 6.5.
func Switches() []string {
	names := make([]string, len(switches))
	for i, s := range switches {
		names[i] = s.name
	}
	return names
}

// Switch turns what has that name on or off, and reports whether there is such a thing.
func (p *Policy) Switch(name string, on bool) bool {
	i := slices.Index(Switches(), name)
	if i >= 0 {
		switches[i].turn(p, on)
	}
	return i >= 0
}
