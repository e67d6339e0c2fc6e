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
	for _, command := range []string{"cost", "regress", "drift", "check", "report"} {
		if r := corehour(command, "--top", "3", "--all"); r.code != exitFailed || !strings.Contains(r.stderr, "--top and --all: want one of them, found both") {
			t.Errorf("%s: %+v", command, r)
		}
	}
}

// TestNamespace: --namespace selects one of two services with the same name.
func TestNamespace(t *testing.T) {
	fixture.SkipRaced(t)
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
