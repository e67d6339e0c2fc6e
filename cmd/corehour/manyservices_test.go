package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// TestManyServices: clients can invent any number of service names, so the output is bounded. It contains the
// services that pay most and the total of the others.
func TestManyServices(t *testing.T) {
	clock(t, evening)
	const services = 40
	var items []methodspan.Item
	for i := range services {
		p := fixture.NewProcess("1", "a", fixture.Start)
		p.Price = 1
		p.Resource.Service = fmt.Sprintf("s%02d", i)
		p.Counts("a.B", fixture.Start, time.Minute, 1)
		p.Call("a.B", "(entry)", fixture.Start, time.Second, time.Second, 1, 1)
		p.Beat(fixture.Start, time.Minute, time.Second, true).Process.Cores = float64(60 * (i + 1)) // pays i + 1 dollars
		other := p.Call("c.D", "(entry)", fixture.Start, time.Second, -1, 1, 1)
		other.WeightBasis, other.Calls = methodspan.BasisAssumed, 1
		items = append(items, p.Item())
	}
	args := []string{"cost", "--warehouse", fixture.Write(t, items), "--from", "2026-03-10", "--to", "2026-03-11", "--per", "window"}
	r := corehour(append(args, "--top", "3")...)
	if r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	if want := "37 more services pay 703.00 core-h, $703.00, together: --all prints them"; !strings.Contains(r.stdout, want) { // 1 + 2 + ... + 37
		t.Errorf("does not say %q:\n%s", want, r.stdout)
	}
	if want := "30 more notes like these: corehour cost --json has them by service"; !strings.Contains(r.stdout, want) {
		t.Errorf("does not say %q:\n%s", want, r.stdout)
	}
	var billed []string
	for line := range strings.Lines(r.stdout) {
		if name, rest, _ := strings.Cut(line, " "); strings.Contains(rest, "= paid") {
			billed = append(billed, name)
		}
	}
	if want := []string{"s37", "s38", "s39"}; !slices.Equal(billed, want) {
		t.Errorf("bills of %s, want %s", billed, want)
	}
	r = corehour(append(args, "--all")...)
	if n := strings.Count(r.stdout, "= paid"); n != services || strings.Contains(r.stdout, "more services") {
		t.Errorf("%d bills:\n%s", n, r.stdout)
	}
}

// TestManyServices_EveryCommand: the text output of every command is bounded for any number of services.
// Problems stay visible, the omitted services are summed up, and JSON contains all of them.
func TestManyServices_EveryCommand(t *testing.T) {
	skipLong(t)
	clock(t, evening.Add(24*time.Hour))
	const services, top = 16, 1
	var items []methodspan.Item
	for i := range services {
		for v, from := range []time.Time{fixture.Start, fixture.Start.Add(time.Hour)} {
			p := fixture.NewProcess(fmt.Sprint(v+1), fmt.Sprint("i", v), from)
			p.Resource.Service = fmt.Sprintf("s%02d", i)
			timed := 1 + i/14*29 + i/15 // only the last two services have enough calls to compare
			p.Counts("a.B", from, time.Minute, int64(i+timed))
			if i == 3 {
				p.Item() // lost: never written
			}
			for range timed {
				p.Call("a.B", "(entry)", from, time.Millisecond, time.Millisecond, 1, 1)
			}
			p.Beat(from, time.Minute, time.Second, true)
			items = append(items, p.Item())
		}
	}
	root := fixture.Write(t, items)
	ask := func(command string, more ...string) string {
		t.Helper()
		r := corehour(append([]string{command, "--warehouse", root, "--from", "2026-03-10", "--to", "2026-03-11"}, more...)...)
		if r.code == exitFailed {
			t.Fatalf("%s: %+v", command, r)
		}
		return strings.Join(strings.Fields(r.stdout), " ")
	}
	named := func(text string) int {
		n := 0
		for i := range services {
			if strings.Contains(text, fmt.Sprintf("s%02d", i)) {
				n++
			}
		}
		return n
	}
	for command, c := range map[string]struct {
		shown int
		has   []string
	}{
		"regress": {2 * top, []string{
			"s15 (production): version 2 against 1", "11 more services with 11 methods were compared and nothing was raised: --all prints them",
			"s10 (production): not compared: 1 calls of version \"1\" and 1 of version \"2\" were measured, and a method takes 30 of both",
			"3 more services were not compared: --all prints them",
		}},
		"drift":  {top, []string{"s15", "15 more services without a finding, of 15 methods, 0 with enough history: --all prints them"}},
		"check":  {top, []string{"s03", "15 more services with 30 processes, 0 dead, "}},
		"report": {0, []string{"14 more trees of services: --all prints them", "15 more services with 30 processes, 0 dead, ", "11 more services were compared: --all prints them"}},
	} {
		top := fmt.Sprint(top)
		format := "--wide"
		if command == "report" {
			format = "--format=text"
		}
		text := ask(command, "--top", top, format)
		if n := named(text); c.shown > 0 && n != c.shown {
			t.Errorf("%s names %d services, want %d:\n%s", command, n, c.shown, text)
		}
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", command, want, text)
			}
		}
		if text := ask(command, "--all", format); named(text) != services || strings.Contains(text, "--all") {
			t.Errorf("%s --all names %d services:\n%s", command, named(text), text)
		}
		if command != "report" {
			if text := ask(command, "--json", "--top", top); named(text) != services {
				t.Errorf("%s --json names %d services", command, named(text))
			}
		}
		if r := corehour(command, "--top", "3", "--all"); r.code != exitFailed || !strings.Contains(r.stderr, "--top and --all: want one of them, found both") {
			t.Errorf("%s: %+v", command, r)
		}
	}
}

// TestNamespace: --namespace selects one of two services with the same name.
func TestNamespace(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening.Add(24*time.Hour))
	var items []methodspan.Item
	for i, namespace := range []string{"store", "evil"} {
		p := fixture.NewProcess("1", "a", fixture.Start)
		p.Resource.ServiceNamespace, p.Resource.Service = namespace, "shop"
		method := "of." + namespace
		p.Counts(method, fixture.Start, time.Minute, int64(10+i))
		p.Call(method, "(entry)", fixture.Start, time.Millisecond, time.Millisecond, 1, 1)
		p.Beat(fixture.Start, time.Minute, time.Second, true)
		items = append(items, p.Item())
	}
	root := fixture.Write(t, items)
	for _, command := range []string{"cost", "regress", "drift", "check", "report", "explain of.store"} {
		args := append(strings.Fields(command), "--warehouse", root, "--from", "2026-03-10", "--to", "2026-03-11", "--service", "shop", "--format", "json")
		if r := corehour(append(args, "--namespace", "store")...); r.code == exitFailed || strings.Contains(r.stdout, "evil") || !strings.Contains(r.stdout, `"store"`) {
			t.Errorf("%s: %+v", command, r)
		}
		if r := corehour(append(args, "--namespace", "stroe")...); r.code != exitCannotTell || !strings.Contains(r.stderr, "store") {
			t.Errorf("%s: %+v", command, r)
		}
	}
}
