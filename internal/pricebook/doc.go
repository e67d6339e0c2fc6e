// Package pricebook finds what an hour of a core costs where a process runs: pricebook.go is
// the prices in force, file.go reads their file, rules.go is what prices keep to wherever
// they are written.
//
// Its invariant: a price is a positive number that somebody wrote down, or it is absent
// and the reason is there; never zero, never guessed.
//
// It multiplies nothing and reads no file itself (package configfile does).
package pricebook
