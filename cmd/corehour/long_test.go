package main

import "github.com/corehour/corehour/test/fixture"

var (
	skipLong         = fixture.SkipLong
	unracedWhenShort = fixture.SkipRaced
)
