package corehour

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/methodfile"
)

// This file is for programs whose probes were compiled in by `corehour go build`. Programs with
// probes in their source call NewMethod and Start.

// Declare registers the methods of a package. The table has a heading and one line per method: its
// name, and after a tab its properties: w = its CPU is never timed.
func Declare(methods []Method, table string) bool {
	lines := strings.Split(strings.TrimSuffix(table, "\n\x00"), "\n")
	if len(lines) != len(methods)+2 {
		messages.Logf("%d probes stay off: their table has %d lines", len(methods), len(lines))
		return false
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	for i, line := range lines[2:] {
		name, rest, _ := strings.Cut(line, "\t")
		flags, signature, _ := strings.Cut(rest, "\t")
		var o methodOptions
		o.blocking = flags == "w"
		methods[i].signature = signature
		methods[i].register(methodName(name), o)
	}
	return true
}

// On reports whether the method is on.
func (m *Method) On() bool { return m.plan.Load() != nil }

// Autostart starts the SDK before the packages of the program are initialised, and arranges that the
// rest is sent when the program ends. Methods are off unless the build's method file or a run-time
// setting names them. Without any setting nothing starts.
//
// calls is the call graph of scopes. onExit registers a function that runs when the program ends by
// itself. goroutine returns the id of the running goroutine. signals = true means that the program
// handles no signals, so those that end it are handled here.
func Autostart(methodFile, calls string, onExit func(func()), goroutine func() uint64, signals bool) {
	hostclock.UseID(goroutine)
	if methodFile == "" && !configured() {
		return
	}
	registry.mu.Lock()
	registry.graph = parseCallGraph(calls)
	registry.mu.Unlock()
	shutdown, err := Start(context.Background(), func(c *config) {
		c.set("service.name", cmp.Or(c.attributes["service.name"], programName()))
		c.compiledIn, c.builtMethodFile = true, methodFile
		if os.Getenv("COREHOUR_SAMPLE") == "" {
			c.defaults.mode, c.namedOnly = Off, true
		}
	})
	if err != nil {
		messages.Logf("the program runs without measurements: %v", err)
		messages.Write()
		return
	}
	end := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), exitPatience)
		defer cancel()
		if err := shutdown(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
	ending.Store(&end)
	onExit(end)
	if signals {
		endOnSignal(end)
	}
}

var ending atomic.Pointer[func()]

// AtEnd sends the remaining data. Function main calls it when it ends, also by a panic, after which
// no exit hook runs.
func AtEnd() {
	if end := ending.Load(); end != nil {
		(*end)()
	}
}

// exitPatience bounds the wait of an ended program for a collector.
const exitPatience = 3 * time.Second

// configured reports whether a setting asks for measurements.
func configured() bool {
	for _, variable := range []string{
		"COREHOUR_SAMPLE", "COREHOUR_METHODS", "COREHOUR_RATES_ENDPOINT", "COREHOUR_ENDPOINT", "COREHOUR_ENDPOINTS", "COREHOUR_EXPORT",
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
	} {
		if os.Getenv(variable) != "" {
			return true
		}
	}
	return false
}

func programName() string {
	return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
}

// builtFile parses the compiled-in method file. The build has reported its faults.
func (c *config) builtFile() *methodfile.File {
	if c.builtMethodFile == "" {
		return nil
	}
	file, err := methodfile.Parse([]byte(c.builtMethodFile))
	if err != nil {
		messages.Logf("the method file of the build is left out: %v", err)
		return nil
	}
	return file
}
