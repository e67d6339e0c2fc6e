package instrument

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The scope of a root is what it reaches: through interfaces that values of the program are in,
// through functions that are passed, and through generic ones; nothing that is never called.
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
