// Package spelling finds the name that a wrong word was probably meant to be, for hints of the
// command line and of the language of studies.
package spelling
