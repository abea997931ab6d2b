package tcptimers

import "slices"

// switches are the parts of a policy that texts turn on and off by name.
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

// Switches returns the names that Switch accepts. tlp, rack and frto are the fields of these
// names. synlinear is SynLinearTimeouts: on as in Linux by default, off as in all other policies
// and in Linux before 6.5.
func Switches() []string {
	names := make([]string, len(switches))
	for i, s := range switches {
		names[i] = s.name
	}
	return names
}

// Switch turns the named switch on or off, and reports whether there is one of that name.
func (p *Policy) Switch(name string, on bool) bool {
	i := slices.Index(Switches(), name)
	if i >= 0 {
		switches[i].turn(p, on)
	}
	return i >= 0
}
