// Package record describes the records that the program shows. A record is a struct, and the tags
// of its fields say once what each column is called, what it means, and how people read it. JSON,
// CSV, text tables, pages and lists of fields follow from them: a new column is a new field and the
// place that fills it.
//
//	json   its name for programs
//	unit   its unit, if the end of the name does not say it: _s, _ns, _bytes
//	head   its heading in tables for people; else the name without its unit
//	column its name in the claims of a study, if it is not the one for programs
//	known  fields next to it: if one of them is zero, its value is unknown
//	help   what it means, in a line without a full stop
//	cell   for texts: what people read instead, as "yes=no no=yes unknown=?";
//	       for numbers "digits": three digits, or "%": a part of 1 in percent
//
// Encoding/json reads the same tags, but for known: see Marshal. A field without a name for JSON and with a heading is in
// tables for people only. Pointers and texts that JSON omits are unknown where they are missing.
//
// # Tables for people
//
// A Layout is a row of a text table, with the names of fields in it:
//
//	"%4conn %6retransmission_packet %8.3at_s %-7kind %7d_s"
//
// A width of * is that of the widest cell. A heading may have several lines. Columns that only the
// program knows as it runs, such as one for each policy, are a field of cells: see Columns.
//
// Package htmlpage makes the same cells into tables of a page.
package record
