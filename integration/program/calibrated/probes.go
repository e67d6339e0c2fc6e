//go:build !twin

package main

import corehour "github.com/corehour/corehour/sdk"

const probed = true

var probes = func() (out [methods]*corehour.Method) {
	for i, name := range names {
		out[i] = corehour.NewMethod("main.(*service)." + name)
	}
	return out
}()
