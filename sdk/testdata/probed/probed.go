// Package probed is what a package with probes is to the compiler.
package probed

import corehour "github.com/corehour/corehour/sdk"

var methods [1]corehour.Method

var _ = corehour.Declare(methods[:], "corehour:probes:1\nprobed\nprobed.Work\n\x00")

// Work has a probe.
func Work() {
	if methods[0].On() {
		defer methods[0].Begin().End()
	}
}
