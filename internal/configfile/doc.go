// Package configfile holds what the files next to the collector's configuration
// have in common: faults that are values (warning.go), the name that was
// probably meant (suggest.go), reading with a bound (file.go) and following a
// file while it changes (live.go).
//
// Its invariant: what was read well stays in force until something better was
// read, and one bad entry costs itself, never the file.
//
// It knows no file's format; package methodfile and the price book of
// cost_attribution do.
package configfile
