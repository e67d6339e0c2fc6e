package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// poor returns warehouses whose data allows no verdict, by name.
func poor(t *testing.T) (names []string, roots map[string]string) {
	roots = map[string]string{}
	add := func(name string, items ...[]methodspan.Item) {
		names = append(names, name)
		roots[name] = fixture.Write(t, items...)
	}
	run := func(version string, from, minutes, requests int, instances ...string) []methodspan.Item {
		items, _ := fixture.Shop{
			Seed: uint64(from + minutes), Version: version, Instances: instances,
			Start: fixture.Start.Add(time.Duration(from) * time.Minute), Minutes: minutes, Requests: requests,
		}.Run()
		return items
	}
	only := func(items []methodspan.Item, keep func(*methodspan.Row) bool) []methodspan.Item {
		for i := range items {
			var kept []methodspan.Row
			for _, r := range items[i].Rows {
				if keep(&r) {
					kept = append(kept, r)
				}
			}
			items[i] = fixture.Items(items[i].ID, kept...)[0]
		}
		return items
	}
	add("versions are unknown", run("", 0, 30, 10, "a", "b"))
	add("the service never deploys", run("1", 0, 60, 10, "a", "b"))
	add("versions do not overlap", run("1", 0, 20, 5, "a", "b"), run("2", 60, 20, 5, "c", "d"))
	add("too few records", run("1", 0, 30, 1, "a"), run("2", 20, 3, 1, "b"))
	skewed := run("2", 0, 40, 10, "c", "d")
	for i := range skewed {
		for j := range skewed[i].Rows {
			r := &skewed[i].Rows[j]
			r.StartNS, r.EndNS = r.StartNS+int64(5*time.Hour), r.EndNS+int64(5*time.Hour)
			r.Resource.ProcessStartNS = skewed[i].Rows[0].StartNS
		}
	}
	add("the clocks of a version are five hours ahead", run("1", 0, 40, 10, "a", "b"), skewed)
	add("only counts were stored", only(run("1", 0, 30, 10, "a"), func(r *methodspan.Row) bool { return r.Kind == methodspan.KindCounts }),
		only(run("2", 20, 30, 10, "b"), func(r *methodspan.Row) bool { return r.Kind == methodspan.KindCounts }))
	add("no counts were stored", only(run("1", 0, 30, 10, "a"), func(r *methodspan.Row) bool { return r.Kind != methodspan.KindCounts }),
		only(run("2", 20, 30, 10, "b"), func(r *methodspan.Row) bool { return r.Kind != methodspan.KindCounts }))
	add("only processes were stored", only(run("1", 0, 30, 10, "a"), func(r *methodspan.Row) bool { return r.Kind == methodspan.KindProcess }))
	return names, roots
}

// sentences returns the lines of text outside tables. Lines of tables contain two spaces in a row.
func sentences(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		heading := strings.HasPrefix(line, "     ") // the first lines of a table heading can have a single word
		if strings.TrimSpace(line) != "" && !heading && !strings.Contains(strings.TrimSpace(line), "  ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestCommands_WrongUse: where data is missing, the commands name it and print no figure instead.
func TestCommands_WrongUse(t *testing.T) {
	fixture.SkipRaced(t)
	clock(t, evening)
	names, roots := poor(t)
	var all strings.Builder
	for _, name := range names {
		for _, command := range [][]string{{"regress"}, {"drift"}, {"cost"}, {"report", "--format", "text"}} {
			r := corehour(append(command, "--warehouse", roots[name])...)
			said := strings.ReplaceAll(r.stdout+r.stderr, roots[name], "WAREHOUSE")
			fmt.Fprintf(&all, "== %s: %s: exit %d\n%s\n", name, command[0], r.code, sentences(said))
		}
	}
	golden(t, "wrong_use.txt", all.String())
}
