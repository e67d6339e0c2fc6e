package cost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// grouped assigns the calls of each request to a group: "checkout", "search" or none. Every tenth measured call of Log
// becomes an aggregate row of several calls, without a group. It returns the inclusive cost of Serve by group.
func grouped(items []methodspan.Item) map[string]float64 {
	serve := map[string]float64{}
	for i := range items {
		for j := range items[i].Rows {
			r := &items[i].Rows[j]
			if r.Kind != methodspan.KindCall {
				continue
			}
			if r.Group = []string{"checkout", "search", ""}[r.StartNS%3]; r.Class == "shop/log" && r.StartNS%10 == 0 {
				r.Kind, r.Group = methodspan.KindAggregate, ""
			}
			if full := r.Class + "." + r.Method; full == methodspan.ParseFunction(fixture.Serve).Full() {
				serve[r.Group] += float64(r.CPUNS) / nsPerCoreHour
			}
		}
	}
	return serve
}

// Groups add up to the costs of methods, alone and with any other dimension. The costs of methods do not depend on
// groups.
func TestGroups_AddUp(t *testing.T) {
	for seed := range uint64(2) {
		shop := fixture.Shop{
			Seed: seed, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 30, Requests: 15,
			Rate: map[string]float64{fixture.Total: 0.4, fixture.Rate: 0.2, fixture.Log: 0.5}, CPURate: 0.7, CallerLookups: []float64{1, 0.6}[seed%2],
		}
		items, _ := shop.Run()
		grouped(items)
		root := fixture.Write(t, items)
		byMethod := map[string]float64{}
		whole := 0.0
		for _, l := range computeWith(t, root, Options{}).Methods {
			byMethod[l.Method] = *l.SelfCoreHours
			whole += *l.SelfCoreHours
		}
		for _, by := range []string{"group", "service,group", "group,method", "group,class,version"} {
			parsed, err := ParseBy(by)
			if err != nil {
				t.Fatal(err)
			}
			r := computeWith(t, root, Options{By: parsed})
			sum, calls, methods := 0.0, 0.0, map[string]float64{}
			for _, l := range r.Groups {
				calls += l.Calls
				if l.SelfCoreHours == nil {
					continue
				}
				sum += *l.SelfCoreHours
				methods[l.Method] += *l.SelfCoreHours
				if l.SelfCoreHoursSE == nil || !(*l.SelfCoreHoursSE > 0) {
					t.Errorf("by %s: %s %s without a standard error", by, l.Group, l.Method)
				}
			}
			near(t, "sum by "+by, &sum, whole, 1e-9)
			near(t, "attributed", &r.Services[0].AttributedCoreHours, whole, 1e-9)
			if by == "group,method" {
				for name, want := range byMethod {
					got := methods[name]
					near(t, name, &got, want, 1e-9)
				}
			}
		}
	}
}

// If everything is measured, a group costs the time of its entry calls. Counts do not fall into the unknown group, and
// rows of several calls do.
func TestGroups_Cost(t *testing.T) {
	shop := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 30, Requests: 30}
	items, truth := shop.Run()
	serve := grouped(items)
	r := computeWith(t, fixture.Write(t, items), Options{By: []Dimension{ByGroup}})
	found, calls := map[string]*Line{}, 0.0
	for i := range r.Groups {
		found[r.Groups[i].Group] = &r.Groups[i]
		calls += r.Groups[i].Calls
	}
	if len(found) != 4 || found["(unknown)"] == nil || found["(none)"] == nil {
		t.Fatalf("%+v", r.Groups)
	}
	all := 0.0
	for _, n := range truth.Calls {
		all += float64(n)
	}
	near(t, "calls", &calls, all, 1e-9)
	// The cost of rows of several calls is in the unknown group, and was subtracted from their callers.
	rest := serve["checkout"] + serve["search"] + serve[""] - *found["(unknown)"].SelfCoreHours
	sum := *found["checkout"].SelfCoreHours + *found["search"].SelfCoreHours + *found["(none)"].SelfCoreHours
	near(t, "known groups", &sum, rest, 5e-5)
	for _, name := range []string{"checkout", "search"} {
		if cost := *found[name].SelfCoreHours; math.Abs(cost/serve[name]-1) > 0.05 {
			t.Errorf("%s costs %v, its entry calls took %v", name, cost, serve[name])
		}
	}
}

// Groups beyond the maximum are combined into one.
func TestGroups_Bounded(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 240 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 1)
		p.Call("a.B", methodspan.CallerEntry, at, time.Second, time.Millisecond, 1, 1).Group = fmt.Sprint("request-", i)
	}
	r := computeWith(t, fixture.Write(t, []methodspan.Item{p.Item()}), Options{By: []Dimension{ByGroup}})
	sum := 0.0
	for _, l := range r.Groups {
		sum += l.Calls
	}
	if len(r.Groups) != 101 || sum != 240 {
		t.Errorf("%d groups of %v calls", len(r.Groups), sum)
	}
}

// The interval of a group contains its true cost, although its calls were not counted by group.
func TestGroups_Intervals(t *testing.T) {
	fixture.SkipRaced(t)
	const seeds = 20
	covered, printed := 0, 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 9))
		p := fixture.NewProcess("1", "a", fixture.Start)
		truth := 0.0
		for minute := range 60 {
			at := fixture.Start.Add(time.Duration(minute) * time.Minute)
			p.Counts("a.B", at, time.Minute, 60)
			for range 60 {
				cpu := math.Exp(0.5*rng.NormFloat64()) * 1e6
				group := "batch"
				if rng.Float64() < 0.7 {
					group = "web"
				} else {
					truth += cpu / nsPerCoreHour
				}
				if rng.Float64() < 0.2 {
					p.Call("a.B", methodspan.CallerEntry, at.Add(time.Duration(rng.Int64N(int64(time.Minute)))), time.Second, time.Duration(cpu), 0.2, 1).Group = group
				}
			}
		}
		r := computeWith(t, fixture.Write(t, []methodspan.Item{p.Item()}), Options{By: []Dimension{ByGroup}})
		for _, l := range r.Groups {
			if l.Group == "batch" && l.SelfCoreHoursInterval != nil {
				if printed++; l.SelfCoreHoursInterval[0] <= truth && truth <= l.SelfCoreHoursInterval[1] {
					covered++
				}
			}
		}
	}
	if printed < seeds*9/10 || covered < printed*17/20 {
		t.Errorf("%d of %d intervals of 95%% hold the truth", covered, printed)
	}
	t.Logf("%d of %d intervals of 95%% hold the truth", covered, printed)
}

// The calls of a method that was never timed are in the unknown group.
func TestGroups_CountedCallsWithoutGroup(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 30 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 40)
		p.Counts("a.C", at, time.Minute, 50)
		p.Call("a.B", methodspan.CallerEntry, at, time.Second, time.Millisecond, 0.025, 1).Group = "web"
	}
	r := computeWith(t, fixture.Write(t, []methodspan.Item{p.Item()}), Options{By: []Dimension{ByGroup}})
	if len(r.Groups) != 2 || r.Groups[0].Group != "web" || r.Groups[1].Group != query.UnknownGoroutineGroup {
		t.Fatalf("%+v", r.Groups)
	}
	near(t, "calls of the group", &r.Groups[0].Calls, 1200, 1e-9)
	near(t, "unmeasured", &r.Groups[1].UnmeasuredCalls, 1500, 1e-9)
	if r.Groups[1].SelfCoreHours != nil {
		t.Errorf("%+v", r.Groups[1])
	}
}

// Goroutine groups are not kept by the hourly rollup.
func TestGroups_RolledUpRows(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 60 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 10)
		for j, group := range []string{"batch", "batch", "web", ""} {
			p.Call("a.B", methodspan.CallerEntry, at.Add(time.Duration(j)*time.Second), time.Second, time.Duration(100+i%7)*time.Millisecond, 0.4, 1).Group = group
		}
	}
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	hours := func() (found map[string]float64, sum float64) {
		found = map[string]float64{}
		for _, l := range computeWith(t, root, Options{By: []Dimension{ByGroup}}).Groups {
			found[l.Group], sum = *l.SelfCoreHours, sum+*l.SelfCoreHours
		}
		return found, sum
	}
	before, whole := hours()
	if ratio := before["batch"] / before["web"]; len(before) != 3 || math.Abs(ratio-2) > 1e-3 {
		t.Errorf("%v", before)
	}
	rollUp(t, root, levels[2].policy)
	if after, sum := hours(); len(after) != 1 || math.Abs(after["(unknown)"]/whole-1) > 1e-6 || sum != after["(unknown)"] {
		t.Errorf("%v, before the rollup %v", after, before)
	}
}

// Callees without a group do not make the cost of a group negative: it is uncertain, with an interval that contains
// the truth.
func TestGroups_CalleesWithoutGroup(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	own := map[string]time.Duration{"/list": 10 * time.Millisecond, "/export": time.Millisecond, "/health": 4 * time.Millisecond}
	query := map[string]time.Duration{"/list": 2 * time.Millisecond, "/export": 40 * time.Millisecond, "/health": 0}
	for minute := range 30 {
		at := fixture.Start.Add(time.Duration(minute) * time.Minute)
		p.Counts("web.Serve", at, time.Minute, 15)
		p.Counts("db.Query", at, time.Minute, 10)
		for i := range 5 {
			for url := range own {
				whole := own[url] + query[url]
				p.Call("web.Serve", methodspan.CallerEntry, at.Add(time.Duration(i)*time.Second), whole, whole, 1, 1).Group = url
				if query[url] > 0 {
					p.Call("db.Query", methodspan.ParseFunction("web.Serve").Full(), at.Add(time.Duration(i)*time.Second), query[url], query[url], 1, 1)
				}
			}
		}
	}
	r := computeWith(t, fixture.Write(t, []methodspan.Item{p.Item()}), Options{By: []Dimension{ByGroup, ByMethod}})
	seen, sum := 0, 0.0
	for _, l := range r.Groups {
		if l.SelfCoreHours == nil {
			continue
		}
		sum += *l.SelfCoreHours
		if l.Method != "Serve" {
			continue
		}
		seen++
		truth, i := (150 * own[l.Group]).Hours(), l.SelfCoreHoursInterval
		if *l.SelfCoreHours < 0 || !l.Uncertain || l.Why == "" || i == nil || i[0] > truth+1e-9 || truth > i[1]+1e-9 {
			t.Errorf("%s: %v core hours, interval %v, uncertain %v (%s), want %v", l.Group, *l.SelfCoreHours, i, l.Uncertain, l.Why, truth)
		}
	}
	if whole := (150 * 57 * time.Millisecond).Hours(); seen != 3 || math.Abs(sum-whole) > 1e-9 {
		t.Errorf("%d groups, %v core hours, want %v", seen, sum, whole)
	}
}
