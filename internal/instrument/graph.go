package instrument

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/callgraph"
)

// graph is the part of a program's call graph that the roots of scopes reach.
type graph map[*callgraph.Node]*place

// place is a node of it.
type place struct {
	function *function // nil for closures and what the compiler makes
	calls    []*callgraph.Node
}

// Edge is a call between two functions with a probe, directly or through functions that have none.
type Edge struct {
	Caller, Callee string
}

const (
	callsTable = "calls"
	indexBase  = 36
)

// table returns the edges as a constant of the binary: the heading, then a line for each package and
// one for each of its functions, which begins with a dot: its name, and the places of its callees among all functions.
func (g graph) table(all []*found) string {
	if len(g) == 0 {
		return ""
	}
	callees := map[*function]map[*function]bool{}
	for n, at := range g {
		if f := at.function; f != nil && f.index >= 0 {
			if callees[f] == nil {
				callees[f] = map[*function]bool{}
			}
			g.collect(n, callees[f], map[*callgraph.Node]bool{})
		}
	}
	index := map[*function]int{}
	for f := range functionsOf(all) {
		if callees[f] != nil {
			index[f] = len(index)
		}
	}
	var b strings.Builder
	b.Write(heading(callsTable))
	for _, k := range all {
		named := false
		for _, s := range k.sources {
			for _, f := range s.functions {
				if callees[f] == nil {
					continue
				}
				if !named {
					b.WriteString(k.pkg.ImportPath + "\n")
					named = true
				}
				b.WriteString(strings.TrimPrefix(f.name, k.pkg.ImportPath))
				var places []int
				for callee := range callees[f] {
					places = append(places, index[callee])
				}
				slices.Sort(places)
				for _, i := range places {
					b.WriteString(" " + strconv.FormatInt(int64(i), indexBase))
				}
				b.WriteString("\n")
			}
		}
	}
	return b.String() + tableEnd
}

// collect adds the nearest functions with a probe that a node calls.
func (g graph) collect(n *callgraph.Node, into map[*function]bool, seen map[*callgraph.Node]bool) {
	for _, callee := range g[n].calls {
		if seen[callee] {
			continue
		}
		seen[callee] = true
		if f := g[callee].function; f != nil && f.index >= 0 {
			into[f] = true
		} else {
			g.collect(callee, into, seen)
		}
	}
}

// Graph reads the edges of a binary that was built with a scope, in the order of their names.
func Graph(path string) ([]Edge, error) {
	var all []Edge
	err := readTables(path, callsTable, func(table string) {
		var names []string
		var calls [][]string
		pkg := ""
		for l := range strings.Lines(table) {
			words := strings.Fields(l)
			if len(words) == 0 {
				continue
			}
			if !strings.HasPrefix(l, ".") {
				pkg = words[0]
				continue
			}
			names, calls = append(names, pkg+words[0]), append(calls, words[1:])
		}
		for caller, places := range calls {
			for _, place := range places {
				if i, err := strconv.ParseUint(place, indexBase, 32); err == nil && i < uint64(len(names)) {
					all = append(all, Edge{names[caller], names[i]})
				}
			}
		}
	})
	slices.SortFunc(all, func(a, b Edge) int {
		return cmp.Or(strings.Compare(a.Caller, b.Caller), strings.Compare(a.Callee, b.Callee))
	})
	return all, err
}
