// Package pricebook finds the price of a core-hour where a process runs: pricebook.go looks it
// up, file.go parses the file, list.go holds public list prices, rules.go checks prices and
// names.
//
// Its invariant: a price is a positive number from a file or a list, or it is absent with a
// reason; it is never zero and never guessed.
//
// It computes no costs, and package configfile reads its file.
package pricebook
