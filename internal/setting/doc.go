// Package setting is the configuration language: fields of structs are settings, whose tags say
// their names, bounds and meaning. One parser reads them for flags, plans, scenarios and the texts
// of policies.
//
//	type Timers struct {
//		Tick time.Duration `set:"tick" min:"1us" max:"500ms" help:"tick at which timers expire"`
//		TLP  bool          `set:"tlp" help:"loss probes (RFC 8985 §7)"`
//	}
//	var t Timers
//	err := setting.Set(&t, "tick", "10ms")
//	err = setting.Check(&t)
//
// # Tags
//
//	set:"NAME"        the name of the setting; in names "_" and "-" are the same
//	alias:"A B"       further names
//	help:"…"          one line
//	min:"1us"         the bounds, inclusive, as the field's own text
//	max:"500ms"       (no duration and no probability is below 0)
//	zero:"ok"         0 is accepted besides
//	oneof:"a b"       the only values
//	power:"two"       a power of two
//	unit:"rate"       a number of bit/s, such as 100Mbit; "size": of bytes, such as 64KiB;
//	                  "probability": 0 to 1, such as 0.02 or 2%
//	word:"exact=1us"  a word for a value
//	kind:"rate"       the kind of value in a word, where it does not follow from the type
//	prefix:"rto-"     of a struct: put before the names of its settings
//
// Settings of structs inside a struct belong to it. A struct may have a name of its own as well, if
// it reads text. A field without a tag is no setting, unless it is a struct with settings.
//
// Durations are text such as "20ms". Whole numbers may be 1_000_000, 1e6 or 0x10. Switches are
// true, on or 1, and false, off or 0. A type with UnmarshalText reads itself, and may say by
// Allowed what it accepts. The numbers of a type with Names are written by name.
//
// # Texts
//
// Words reads the text of a configuration: the name of a starting point, and changes to it.
//
//	linux@1ms rto-min=5ms +pacing -tlp
//	linux@1ms+rto-min=5ms+pacing-tlp
//
// # Cost
//
// Set and Check use reflection: some microseconds for a large struct.
package setting
