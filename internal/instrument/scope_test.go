package instrument

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// The scope of a root contains all functions that it can reach: through interfaces whose implementations the
// program uses, through functions passed as values, and through generic functions. It contains no function
// that is never called.
func TestScope(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/scope\n\ngo 1.21\n")
	write(t, dir, "main.go", `package main

import (
	"os"
	"sort"
	"strings"

	"example.com/scope/store"
)

type handler interface{ serve(n int) string }

type page struct{ store store.Store }

func (p *page) serve(n int) string { defer done(); return p.store.Get(n) + each([]int{n}, double)[0] }

type unused struct{}

func (unused) serve(n int) string { defer done(); return forgotten(n) }

func forgotten(n int) string { defer done(); return strings.Repeat("x", n) }

func double(n int) string { defer done(); return strings.Repeat("y", 2*n) }

func each[T, U any](in []T, change func(T) U) (out []U) {
	defer done()
	for _, x := range in {
		out = append(out, change(x))
	}
	return out
}

func done() { os.Getenv(strings.ToUpper(strings.ToLower("done" + "it"))); os.Getpid(); os.Getppid() }

func run(h handler) string { defer done(); return h.serve(3) }

func less(a, b string) bool { defer done(); return a < b }

func main() {
	list := []string{run(&page{store.New()}), "a"}
	sort.Slice(list, func(i, j int) bool { return less(list[i], list[j]) })
}
`)
	write(t, dir, "store/store.go", `package store

import "strings"

// Store has two implementations, of which one is used.
type Store interface{ Get(n int) string }

type memory struct{ prefix string }

func (m *memory) Get(n int) string { defer func() {}(); return m.prefix + strings.Repeat("z", n) }

type Disk struct{}

func (Disk) Get(n int) string { defer func() {}(); return strings.Repeat("d", n) }

func New() Store { defer func() {}(); return &memory{strings.ToUpper("p")} }
`)
	for scope, want := range map[string]map[string]string{
		"eager": {
			"example.com/scope.run": "1", "example.com/scope.page.serve": "1", "example.com/scope.each": "1", "example.com/scope.double": "1",
			"example.com/scope/store.memory.Get": "1", "example.com/scope.done": "5",
		},
		"total": {
			"example.com/scope.run": "1", "example.com/scope.page.serve": "1", "example.com/scope.each": "1", "example.com/scope.double": "1",
			"example.com/scope/store.memory.Get": "1", "example.com/scope.done": "5", "example.com/scope/store.New": "1",
			"example.com/scope.main": "1", "example.com/scope.less": "1",
		},
	} {
		t.Run(scope, func(t *testing.T) {
			write(t, dir, "methods.json", `{"version": 1, "methods": [{"class": "example.com/scope", "method": "run", "rate": 1, "scope": "`+scope+`"}]}`)
			methods := filepath.Join(dir, "methods.json")
			_, probed, summary := built(t, Settings{Methods: methods}, dir)
			r := runProgram(t, probed, "", "COREHOUR_EXPORT=stderr")
			assert.Equal(t, want, counts(r.stderr), summary)
			probes, err := Probes(probed)
			require.NoError(t, err)
			if scope == "eager" {
				assert.Len(t, probes, len(want))
				assert.Regexp(t, `corehour go: scope: 6 functions reached from 1, by \d+ calls; loaded in `, summary)
			}
		})
	}
}

// With scope lazy, the functions that a root reaches are off until a caller with an active probe has run.
// From then on every call is counted, also through an interface, an inlined function or a closure.
func TestLazyScope(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/program\n\ngo 1.21\n")
	write(t, dir, "main.go", `package main

import "os"

type store interface{ get() }

type disk struct{}

type memory struct{}

func (*disk) get() { defer func() {}() }

type tape struct{}

func (memory) get() { defer func() {}() }

func (tape) get() { defer func() {}() }

var stores = []store{&disk{}, memory{}, tape{}}

func leaf() { defer func() {}() }

func small() { behind() }

func behind() { defer func() {}() }

func odd(n int) {
	defer func() {}()
	if n > 0 {
		even(n - 1)
	}
}

func even(n int) {
	defer func() {}()
	if n > 0 {
		odd(n - 1)
	}
}

func deep() {
	defer func() {}()
	stores[0].get()
	small()
	func() { leaf() }()
	odd(4)
}

func root(goDeep bool) {
	defer func() {}()
	if goDeep {
		deep()
	}
}

func other() { defer func() {}(); behind() }

func all() {
	leaf()
	leaf()
	behind()
	stores[1].get()
	stores[2].get()
	even(1)
}

func main() {
	all()
	root(false)
	all()
	root(os.Args[1] == "deep")
	all()
	other()
}
`)
	methods := filepath.Join(dir, "methods.json")
	write(t, dir, "methods.json", `{"version": 1, "methods": [
  {"class": "example.com/program", "method": "root", "rate": 1, "scope": "lazy"},
  {"class": "example.com/program.memory", "method": "get", "rate": 1}
]}`)
	_, probed, _ := built(t, Settings{Methods: methods}, dir)
	assert.Equal(t, map[string]string{".root": "2", ".memory.get": "3"}, counts(runProgram(t, probed, "", "COREHOUR_EXPORT=stderr").stderr))
	deep := map[string]string{".root": "2", ".memory.get": "3", ".deep": "1", ".disk.get": "1", ".tape.get": "1", ".behind": "3", ".leaf": "3", ".odd": "4", ".even": "3", ".small": "1"}
	assert.Equal(t, deep, counts(runProgram(t, probed, "deep", "COREHOUR_EXPORT=stderr").stderr))

	edges, err := Graph(probed)
	require.NoError(t, err)
	var lines []string
	for _, e := range edges {
		lines = append(lines, strings.ReplaceAll(e.Caller+" -> "+e.Callee, "example.com/program.", ""))
	}
	assert.Equal(t, []string{
		"deep -> (*disk).get", "deep -> leaf", "deep -> memory.get", "deep -> odd", "deep -> small", "deep -> tape.get",
		"even -> odd", "odd -> even", "root -> deep", "small -> behind",
	}, lines)

	// A method file at run time can name other roots, because the graph contains their callees.
	write(t, dir, "other.json", `{"version": 1, "methods": [{"class": "example.com/program", "method": "deep", "rate": 1, "scope": "lazy"}]}`)
	r := runProgram(t, probed, "deep", "COREHOUR_EXPORT=stderr", "COREHOUR_METHODS="+filepath.Join(dir, "other.json"))
	delete(deep, ".root")
	deep[".memory.get"] = "1"
	assert.Equal(t, deep, counts(r.stderr))
}

// A function that its caller activates is counted from then on, in a separate span next to the span of the
// whole interval.
func TestLazyScope_Counts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/program\n\ngo 1.21\n")
	write(t, dir, "main.go", `package main

import "time"

func inner() { defer func() {}() }

func root() { defer func() {}(); inner() }

func main() {
	time.Sleep(20 * time.Millisecond)
	root()
	inner()
}
`)
	write(t, dir, "methods.json", `{"version": 1, "methods": [{"class": "example.com/program", "method": "root", "rate": 1, "scope": "lazy"}]}`)
	_, probed, _ := built(t, Settings{Methods: filepath.Join(dir, "methods.json")}, dir)
	requests := make(chan []byte, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- body
	}))
	defer server.Close()
	r := runProgram(t, probed, "", "COREHOUR_ENDPOINTS="+server.URL, "OTEL_EXPORTER_OTLP_COMPRESSION=none")
	require.Zero(t, r.code, r.stderr)
	close(requests)
	const whole, since = "[example.com/program.root] [1]", "[example.com/program.inner] [2]"
	starts, ends := map[string]time.Time{}, map[string]time.Time{}
	for body := range requests {
		received, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
		require.NoError(t, err)
		spans := received.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
		for i := range spans.Len() {
			span := spans.At(i)
			if methods, counts := span.Attributes().Get("corehour.counts.methods"); counts {
				calls, _ := span.Attributes().Get("corehour.counts.calls")
				line := fmt.Sprint(methods.Slice().AsRaw(), calls.Slice().AsRaw())
				_, activated := span.Attributes().Get("corehour.activated")
				assert.Equal(t, line == since, activated, line)
				starts[line], ends[line] = span.StartTimestamp().AsTime(), span.EndTimestamp().AsTime()
			}
		}
	}
	require.Len(t, starts, 2)
	require.Contains(t, starts, since)
	assert.GreaterOrEqual(t, starts[since].Sub(starts[whole]), 20*time.Millisecond)
	assert.Equal(t, ends[whole], ends[since])
}
