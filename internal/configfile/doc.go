// Package configfile loads files that a configuration names, such as the method file and the
// price book: warnings as values (warning.go), suggestions for misspelt names (suggest.go),
// bounded reading (file.go) and reloading after changes (live.go).
//
// Its invariant: the last valid content stays in force until another valid one was read, and a
// faulty entry is left out without the rest of its file.
//
// It knows no file format; package rulefile and its users do.
package configfile
