package wheel

// builder makes a facility of one scheme from a checked configuration.
type builder struct {
	name  string
	about string
	slots int // default of Config.Slots; 0 for a scheme without slots
	most  int // largest Config.Slots; 0 for maxSlots
	build func(name string, cfg Config) Facility
}

// builders lists all schemes, in the order of the paper. A new scheme is a file of its own and an
// entry here; every test that runs over Schemes then covers it.
var builders = []builder{
	{name: "scheme1", build: newScheme1,
		about: "Scheme 1: unordered list, every tick visits every timer"},
	{name: "scheme2",
		about: "Scheme 2: ordered list, searched from the head",
		build: func(name string, cfg Config) Facility { return newScheme2(name, false, cfg) }},
	{name: "scheme2-rear",
		about: "Scheme 2: ordered list, searched from the rear; O(1) where all intervals are equal",
		build: func(name string, cfg Config) Facility { return newScheme2(name, true, cfg) }},
	{name: "scheme3", build: newScheme3,
		about: "Scheme 3: binary heap"},
	{name: "scheme3-tree", build: newScheme3Tree,
		about: "Scheme 3: unbalanced binary search tree; a list where intervals are equal"},
	{name: "scheme4", slots: 4096, build: newScheme4,
		about: "Scheme 4: simple wheel, with an ordered list for longer intervals"},
	{name: "scheme5", slots: 4096, build: newScheme5,
		about: "Scheme 5: hashed wheel, sorted lists"},
	{name: "scheme6", slots: 16384,
		about: "Scheme 6: hashed wheel, unsorted lists, packed in chunks, re-arming lazily (the default)",
		build: func(name string, cfg Config) Facility { return newScheme6(name, cfg, true) }},
	{name: "scheme6-eager", slots: 16384,
		about: "Scheme 6 packed in chunks, where a stopped or moved timer leaves its slot at once",
		build: func(name string, cfg Config) Facility { return newScheme6(name, cfg, cfg.Lazy) }},
	{name: "scheme6-list", slots: 4096, build: newScheme6List,
		about: "Scheme 6: hashed wheel, unsorted doubly linked lists, as the paper draws it"},
	{name: "scheme7", slots: 256, most: 1 << 16, build: newScheme7,
		about: "Scheme 7: hierarchical wheels, timers migrate from coarse to fine"},
	{name: "scheme7-lazy", slots: 256, most: lazySlots, build: newLazyHierarchy,
		about: "Scheme 7 in few instructions, re-arming lazily"},
	{name: "scheme7-nomigration", slots: 256, most: 1 << 16,
		about: "Scheme 7 after Nichols: a timer is rounded to its level and never migrates",
		build: func(name string, cfg Config) Facility { return newNichols(name, 0, cfg) }},
	{name: "scheme7-onemigration", slots: 256, most: 1 << 16,
		about: "Scheme 7 after Nichols: a timer is rounded to the next finer level, and migrates there",
		build: func(name string, cfg Config) Facility { return newNichols(name, 1, cfg) }},
	{name: "logicsim", slots: 4096,
		about: "logic simulation's wheel (TEGAS): turns when a cycle ends, one overflow list",
		build: func(name string, cfg Config) Facility { return newLogicsim(name, cfg, cfg.Slots) }},
	{name: "logicsim-half", slots: 4096,
		about: "logic simulation's wheel (DECSIM): turns twice per cycle, one overflow list",
		build: func(name string, cfg Config) Facility { return newLogicsim(name, cfg, cfg.Slots/2) }},
	{name: "calendar", build: newCalendar,
		about: "calendar queue (Brown): sorted days whose number and width follow the load"},
	{name: "callout", build: newCallout,
		about: "BSD callout list: ordered, with differential times"},
	{name: "runtime", build: newRuntimeTimers,
		about: "for comparison: the Go runtime's timers (time.AfterFunc, Reset, Stop), on the machine's clock"},
}
