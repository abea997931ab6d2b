package wheel

// builders lists all schemes, in the order of the paper. A new scheme is a file of its own and a line here; every test
// that runs over Schemes then covers it.
var builders = []builder{
	scheme1Builder,
	scheme2Builder,
	scheme2RearBuilder,
	scheme3Builder,
	scheme3TreeBuilder,
	scheme4Builder,
	scheme5Builder,
	scheme6Builder,
	scheme6EagerBuilder,
	scheme6ListBuilder,
	scheme7Builder,
	scheme7NoMigrationBuilder,
	scheme7OneMigrationBuilder,
	logicsimBuilder,
	logicsimHalfBuilder,
	calendarBuilder,
	calloutBuilder,
	runtimeBuilder,
}
