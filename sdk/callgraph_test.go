package corehour

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/sdk/internal/methodfile"
)

// graphOf declares methods of a package with a call graph, like a build: each line is a name and the
// indexes of its callees.
func graphOf(t testing.TB, pkg string, lines ...string) []*Method {
	t.Helper()
	registry.mu.Lock()
	registry.graph = parseCallGraph("corehour:calls:1\n" + pkg + "\n." + strings.Join(lines, "\n.") + "\n\x00")
	registry.mu.Unlock()
	methods := make([]*Method, len(lines))
	for i, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		m := NewMethod(pkg + "." + name)
		m.node = registry.graph[m.owner.Name] // the previous node can belong to an earlier run of the test
		m.node.method.Store(m)
		m.located.Store(false)
		methods[i] = m
	}
	t.Cleanup(func() {
		registry.mu.Lock()
		defer registry.mu.Unlock()
		registry.graph = nil
		for _, m := range methods {
			m.node = nil
		}
	})
	return methods
}

// named starts with the settings of a method file alone, like a build.
func named(t testing.TB, file string) *engine {
	t.Helper()
	e, _ := startWith(t, func(c *config) {
		c.defaults.mode, c.namedOnly, c.builtMethodFile = Off, true, file
	})
	return e
}

func filed(t testing.TB, entries string) *methodfile.File {
	t.Helper()
	file, err := methodfile.Parse([]byte(`{"version": 1, "methods": [` + entries + `]}`))
	if err != nil || len(file.Faults) > 0 {
		t.Fatal(err, file.Faults)
	}
	return file
}

// on returns the rates of the methods that are on.
func on(methods []*Method) string {
	var names []string
	for _, m := range methods {
		if pl := m.plan.Load(); pl != nil {
			names = append(names, fmt.Sprint(m.name[strings.IndexByte(m.name, '.')+1:], "=", pl.rate))
		}
	}
	return strings.Join(names, " ")
}

func TestActivation_OutlivesCaller(t *testing.T) {
	methods := graphOf(t, "lazy", "root 1 2", "left 3", "own 4", "deep 3", "below", "second 3 6", "far", "alone")
	call := func(i int) { methods[i].Begin().End() }
	expect := func(want string) {
		t.Helper()
		if got := on(methods); got != want {
			t.Errorf("on: %s, want %s", got, want)
		}
	}
	const entries = `{"class": "lazy", "method": "second", "rate": 0.5, "scope": "lazy"},
		{"class": "lazy", "method": "root", "rate": 0.25, "scope": "lazy"}, {"class": "lazy", "method": "own", "rate": 1}`
	e := named(t, `{"version": 1, "methods": [`+entries+`]}`)
	expect("root=0.25 own=1 second=0.5")
	before := methods[1].Calls()
	call(1) // off: it activates nothing
	expect("root=0.25 own=1 second=0.5")
	call(0)
	expect("root=0.25 left=0.25 own=1 second=0.5")
	call(1) // a method below two roots has the settings of the first entry
	expect("root=0.25 left=0.25 own=1 deep=0.5 second=0.5")
	call(3)
	call(2)
	expect("root=0.25 left=0.25 own=1 deep=0.5 below=0.25 second=0.5")
	if calls := methods[1].Calls() - before; calls != 1 {
		t.Errorf("%d calls of a method that was on for one", calls)
	}

	// An activated method stays on when its settings change; the collector and the file switch it off and on.
	rates, err := parseRates([]byte(`{"methods": [{"name": "lazy.left", "mode": "off"}, {"name": "lazy.deep", "p": 0.125}, {"name": "lazy.far", "p": 0.0625}]}`))
	if err != nil {
		t.Fatal(err)
	}
	e.applyRates(rates)
	expect("root=0.25 own=1 deep=0.125 below=0.25 second=0.5 far=0.0625")
	e.applyRates(nil)
	expect("root=0.25 left=0.25 own=1 deep=0.5 below=0.25 second=0.5")
	e.applyMethodFile(filed(t, `{"class": "lazy", "method": "root", "rate": 1}`))
	expect("root=1")
	e.applyMethodFile(filed(t, entries))
	expect("root=0.25 left=0.25 own=1 deep=0.5 below=0.25 second=0.5")
	call(5)
	expect("root=0.25 left=0.25 own=1 deep=0.5 below=0.25 second=0.5 far=0.5")

	cut := e.lastCut
	e.applyRates(rates)
	e.applyRates(nil)
	if cut == e.lastCut {
		t.Error("a change of modes must close the interval")
	}
	e.shutdownForTest()
	expect("")
	for _, m := range methods {
		if m.node.parked.Load() != nil {
			t.Errorf("%s is parked after the end", m.name)
		}
	}
}

// Counts of an activated method begin with the activation, and are exact.
func TestActivation_CountsBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pkg := fmt.Sprint("counted", Stats().Methods) // methods without calls before
		methods := graphOf(t, pkg, "root 1", "inner 2", "deep")
		call := func(i int) { methods[i].Begin().End() }
		time.Sleep(7 * time.Second)
		began, c := time.Now(), &collector{}
		_, stop := start(t, WithHTTPClient(c.client()), func(c *config) {
			c.defaults.mode, c.namedOnly = Off, true
			c.builtMethodFile = `{"version": 1, "methods": [{"class": "` + pkg + `", "method": "root", "rate": 1e-9, "scope": "lazy"}]}`
		})
		emitted := Stats().HandedOut
		time.Sleep(10 * time.Second)
		call(0)
		activated := time.Now()
		call(1)
		time.Sleep(10 * time.Second)
		call(1)
		call(2)
		time.Sleep(time.Minute)
		call(2)
		time.Sleep(time.Minute)
		call(0)
		call(2)
		stop()

		minute := began.Truncate(time.Minute).Add(time.Minute)
		var got []string
		for _, s := range c.spans(t, "counts") {
			names := strings.ReplaceAll(fmt.Sprint(s.attrs["corehour.counts.methods"]), pkg+".", "")
			got = append(got, fmt.Sprint(clock(s.start), " ", clock(s.end), " ", names, s.attrs["corehour.counts.calls"], s.attrs["corehour.activated"]))
		}
		want := []string{
			fmt.Sprint(clock(began.UnixNano()), " ", clock(minute.UnixNano()), " [root][1] <nil>"),
			fmt.Sprint(clock(activated.UnixNano()), " ", clock(minute.UnixNano()), " [inner deep][2 1] true"),
			fmt.Sprint(clock(minute.UnixNano()), " ", clock(minute.Add(time.Minute).UnixNano()), " [deep][1] true"),
			fmt.Sprint(clock(minute.Add(time.Minute).UnixNano()), " ", clock(time.Now().UnixNano()), " [root deep][1 1] <nil>"),
		}
		if !slices.Equal(got, want) {
			t.Errorf("counts\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		requests := c.all(t)
		if total := requests[len(requests)-1].scope["corehour.calls.total"]; total != emitted+7 {
			t.Errorf("%v calls in total, want %d more than %d", total, 7, emitted)
		}
	})
}

// Measurements are marked for a minute after an activation, single ones and sums.
func TestActivation_MarksMeasurements(t *testing.T) {
	for _, mode := range []string{"sample", "aggregate"} {
		synctest.Test(t, func(t *testing.T) {
			pkg := fmt.Sprint(mode, Stats().Methods)
			methods := graphOf(t, pkg, "root 1", "inner")
			c := &collector{}
			_, stop := start(t, WithHTTPClient(c.client()), func(c *config) {
				c.defaults.mode, c.namedOnly = Off, true
				c.builtMethodFile = `{"version": 1, "methods": [{"class": "` + pkg + `", "method": "root", "rate": 1, "mode": "` + mode + `", "scope": "lazy"}]}`
			})
			began := time.Now()
			for range 5 { // at 0, 20, 40, 60 and 80 s
				methods[0].Begin().End()
				methods[1].Begin().End()
				time.Sleep(20 * time.Second)
			}
			stop()
			marked := map[string]int{}
			kind := map[string]string{"sample": "call", "aggregate": "aggregate"}[mode]
			for _, s := range c.spans(t, kind) {
				method := strings.TrimPrefix(s.attrs["code.function.name"].(string), pkg+".")
				expected := method == "inner" && s.start-began.UnixNano() < int64(time.Minute)
				if s.attrs["corehour.activated"] != nil != expected {
					t.Errorf("%s: %s at %d s: %v", mode, method, (s.start-began.UnixNano())/1e9, s.attrs["corehour.activated"])
				}
				if expected {
					marked[method]++
				}
			}
			if want := map[string]int{"sample": 3, "aggregate": 1}[mode]; marked["inner"] != want {
				t.Errorf("%s: %d marked, want %d", mode, marked["inner"], want)
			}
		})
	}
}

// A row belongs to the minute in which it begins. So counts of a method that is activated between the end
// of an interval and its cut begin before that end. Intervals that no request accepted for long become
// one row.
func TestActivation_CountsAtShutdown(t *testing.T) {
	pkg := fmt.Sprint("ending", Stats().Methods)
	methods := graphOf(t, pkg, "root 1", "inner")
	e := named(t, `{"version": 1, "methods": [{"class": "`+pkg+`", "method": "root", "rate": 1e-9, "scope": "lazy"}]}`)
	e.cut(e.unix(now()), false)
	older := &interval{methods: methods[:1], calls: []int64{1}, total: 1, recent: 1}
	for _, m := range methods {
		m.Begin().End()
	}
	end := e.lastCut + int64(time.Microsecond)
	if minuteOf(e.lastCut) != minuteOf(end-1) {
		t.Skip("a minute has ended meanwhile")
	}
	e.cut(end, false)
	iv := e.intervals.waiting[len(e.intervals.waiting)-1]
	if iv.recent != 1 || iv.methods[1] != methods[1] || iv.recentOn != end-1 || iv.spans() != 3 {
		t.Errorf("%d methods were switched on at %d, %d spans; want the last one, just before %d", iv.recent, iv.recentOn, iv.spans(), end)
	}
	iv.activated = 1 // as if a caller had switched the first one on within the minute before
	if iv.spans() != 3 {
		t.Errorf("%d spans of one method of the minute before and one of the interval, want 3", iv.spans())
	}
	if iv.absorb(older); iv.activated != 0 || iv.recent != 0 || iv.spans() != 2 || iv.total != 3 || iv.calls[0] != 2 {
		t.Errorf("after an older interval: %+v", iv)
	}
}

// A package can be initialised after a caller of its methods has run.
func TestActivation_LateDeclaration(t *testing.T) {
	first := graphOf(t, "early", "root 1", "later")
	later := first[1]
	registry.mu.Lock()
	later.node.method.Store(nil)
	registry.mu.Unlock()
	e := named(t, `{"version": 1, "methods": [{"class": "early", "method": "root", "rate": 1, "scope": "lazy"}]}`)
	first[0].Begin().End()
	if later.On() {
		t.Error("on, though it is not declared")
	}
	registry.mu.Lock()
	later.node.method.Store(later)
	e.updatePlan(later)
	registry.mu.Unlock()
	if !later.On() {
		t.Error("off, though its caller has run")
	}
}

// forgotten resets methods to their state before the first call.
func forgotten(methods []*Method) {
	for _, m := range methods {
		m.located.Store(false)
		m.node.called.Store(false)
	}
}

// Goroutines activate methods while settings change: no call after an activation is missed, and a method
// that is switched off stays off.
func TestActivation_DuringSettingsChange(t *testing.T) {
	const goroutines, rounds = 8, 200
	methods := graphOf(t, "racing", "root 1 2", "left 2 3", "right 1 3", "deep 0")
	off := filed(t, "")
	e := named(t, `{"version": 1}`)
	made := make([]int64, len(methods))
	for i, m := range methods {
		made[i] = m.Calls()
	}
	for round := range rounds {
		e.applyMethodFile(off)
		if got := on(methods); got != "" {
			t.Fatalf("on after all was switched off: %s", got)
		}
		forgotten(methods)
		e.applyMethodFile(filed(t, `{"class": "racing", "method": "root", "rate": 0.5, "scope": "lazy"}`))
		var calling sync.WaitGroup
		for range goroutines {
			calling.Go(func() {
				for range 20 {
					for _, m := range methods {
						m.Begin().End()
					}
				}
			})
		}
		mode := []string{"sample", "aggregate"}[round%2]
		for i := range 4 {
			e.applyMethodFile(filed(t, fmt.Sprintf(`{"class": "racing", "method": "root", "mode": %q, "rate": 0.%d, "scope": "lazy"}`, mode, i+1)))
		}
		if round%4 == 3 { // off while calls are made
			e.applyMethodFile(off)
			calling.Wait()
			if got := on(methods); got != "" {
				t.Fatalf("round %d: on after all was switched off: %s", round, got)
			}
			for i, m := range methods {
				made[i] = m.Calls()
			}
			continue
		}
		calling.Wait()
		for i, m := range methods {
			if made[i] += goroutines * 20; m.Calls() != made[i] {
				t.Fatalf("round %d: %s: %d calls counted of %d", round, m.name, m.Calls(), made[i])
			}
		}
	}
}

// An activated method is as cheap as any other.
func TestActivation_NoAllocation(t *testing.T) {
	methods := graphOf(t, "cheap", "root 1", "inner")
	named(t, `{"version": 1, "methods": [{"class": "cheap", "method": "root", "rate": 1e-9, "cpu_rate": 0, "scope": "lazy"}]}`)
	methods[0].Begin().End()
	methods[1].Begin().End()
	before := methods[1].Calls()
	if allocs := testing.AllocsPerRun(1000, func() { methods[1].Begin().End() }); allocs != 0 {
		t.Errorf("%v allocations a call", allocs)
	}
	if calls := methods[1].Calls() - before; calls != 1001 {
		t.Errorf("%d calls counted", calls)
	}
	if allocs := testing.AllocsPerRun(1000, func() {
		forgotten(methods)
		methods[1].plan.Store(nil)
		methods[1].node.activate()
	}); allocs != 0 {
		t.Errorf("%v allocations an activation", allocs)
	}
}

func BenchmarkActivation(b *testing.B) {
	methods := graphOf(b, "activated", "root 1", "inner")
	named(b, `{"version": 1, "methods": [{"class": "activated", "method": "root", "scope": "lazy"}]}`)
	n, m := methods[1].node, methods[1]
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n.called.Store(false)
			m.plan.Store(nil)
			n.activate()
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			n.activate()
		}
	})
}
