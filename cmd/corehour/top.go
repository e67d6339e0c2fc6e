package main

import (
	"errors"
	"flag"
	"fmt"
)

// topFlags bound the lines of tables for people. Anybody may invent names of services.
type topFlags struct {
	lines int // 0 = all
	all   bool
}

const defaultTop = 30

// declare declares the flags of a command that prints so many of something.
func (t *topFlags) declare(f *flag.FlagSet, of string) {
	f.IntVar(&t.lines, "top", defaultTop, "how many "+of+" to print, 0 = all; json and csv have all of them")
	f.BoolVar(&t.all, "all", false, "print all of them, as --top 0 does")
}

func (t *topFlags) check(f *flag.FlagSet) error {
	if t.all && given(f, "top") {
		return errors.New("--top and --all: want one of them, found both")
	}
	if t.lines < 0 {
		return fmt.Errorf("--top: want 0 or more, found %d", t.lines)
	}
	if t.all {
		t.lines = 0
	}
	return nil
}

// moreOf says that there are more lines than those that are printed.
func moreOf(n int, what string) string { return fmt.Sprintf("%d more %s: --all prints them", n, what) }
