package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// topFlags bound the lines of tables for people, because anybody can invent names of services.
type topFlags struct {
	lines int // 0 = all
	all   bool
}

const defaultTop = 30

// declare declares the flags; usage is of --top.
func (t *topFlags) declare(f *pflag.FlagSet, usage string) {
	f.IntVar(&t.lines, "top", defaultTop, usage+", 0 = all")
	f.BoolVar(&t.all, "all", false, "print all of them, as --top 0 does")
	groupFlags(f, outputFlags, "top", "all")
}

func (t *topFlags) check(f *pflag.FlagSet) error {
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
