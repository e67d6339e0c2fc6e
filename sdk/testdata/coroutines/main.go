// Program coroutines makes calls, as its arguments ask, and prints what the SDK
// measured of them. With the build tag nopull it does not contain iter.Pull.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	corehour "github.com/corehour/corehour/sdk"
)

// every method has all its calls timed, and their CPU where that can be had.
func method(name string, more ...corehour.MethodOption) *corehour.Method {
	return corehour.NewMethod(name, append([]corehour.MethodOption{corehour.Rate(1), corehour.CPURate(1)}, more...)...)
}

var methods = map[string]*corehour.Method{
	"sampled":    method("sampled.Method"),
	"stacked":    method("stacked.Method", corehour.Stack()),
	"tailed":     method("tailed.Method", corehour.Tail()),
	"aggregated": method("aggregated.Method", corehour.WithMode(corehour.Aggregate)),
	"blocking":   method("blocking.Method", corehour.Blocking()),
	"waiting":    method("waiting.Method", corehour.Blocking(), corehour.WithMode(corehour.Aggregate)),
	"rare":       method("rare.Method", corehour.Blocking(), corehour.Tail()),
}

// ways are the ways to call a method.
var ways = map[string]func(m *corehour.Method){
	"plainly": func(m *corehour.Method) {
		defer m.Begin().End()
		for start := time.Now(); time.Since(start) < 100*time.Microsecond; {
		}
	},
}

// main takes arguments of the form way:method, and the options WithCPU(true) and
// WithCPU(false).
func main() {
	options := []corehour.Option{corehour.WithWriter(os.Stdout)}
	for _, argument := range os.Args[1:] {
		switch argument {
		case "WithCPU(true)":
			options = append(options, corehour.WithCPU(true))
		case "WithCPU(false)":
			options = append(options, corehour.WithCPU(false))
		}
	}
	shutdown, err := corehour.Start(context.Background(), options...)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, argument := range os.Args[1:] {
		if way, name, found := strings.Cut(argument, ":"); found {
			ways[way](methods[name])
		}
	}
	if err := shutdown(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
