package cost

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
	"github.com/corehour/corehour/test/fixture"
)

// calls adds methods with random CPU times in ms. measured is the number of measured calls per method and minute.
func calls(r *rand.Rand, p *fixture.Process, minutes, measured int, methods map[string]func(*rand.Rand) float64) {
	const each = 100 // calls per measured call
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		for minute := range minutes {
			at := fixture.Start.Add(time.Duration(minute) * time.Minute)
			p.Counts(name, at, time.Minute, int64(each*measured))
			for range measured {
				x := time.Duration(methods[name](r) * float64(time.Millisecond))
				p.Call(name, methodspan.CallerEntry, at, 2*x, x, 1.0/each, 1)
			}
		}
	}
}

func lognormal(s float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return math.Exp(s * r.NormFloat64()) }
}

// The interval, computed through the SQL, contains the true cost about as often as its level promises. The truth lies
// above it no more often than above a symmetric interval.
func TestIntervals_CoverTruth(t *testing.T) {
	const methods, minutes, measured = 150, 30, 10
	for _, c := range []struct {
		spread, least float64
	}{{1, 0.90}, {1.5, 0.86}} {
		m := map[string]func(*rand.Rand) float64{}
		for i := range methods {
			m[fmt.Sprintf("a.M%03d", i)] = lognormal(c.spread)
		}
		p := fixture.NewProcess("1", "a", fixture.Start)
		calls(rand.New(rand.NewPCG(7, uint64(10*c.spread))), p, minutes, measured, m)
		w, err := query.Open(context.Background(), fixture.Write(t, []methodspan.Item{p.Item()}), query.Window{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		costs, err := w.Costs(context.Background(), query.CostQuery{Group: columns([]Dimension{ByMethod}), TimeBucket: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		total := map[string]float64{}
		for _, m := range costs.Methods {
			total[m.Method] = m.SelfX
		}
		truth := math.Exp(c.spread*c.spread/2) * 1e6 * minutes * measured * 100
		var held, above, symmetric float64
		for _, g := range costs.Groups {
			e, interval, ok := g.Residuals.HallInterval(total[g.Method], level)
			if !ok || g.Residuals.Count != minutes {
				t.Fatalf("%+v", g)
			}
			if interval.Low <= truth && truth <= interval.High {
				held++
			}
			if truth > interval.High {
				above++
			}
			if truth > e.Value+e.Margin(level) {
				symmetric++
			}
		}
		if held < c.least*methods || held > 0.995*methods || above > symmetric {
			t.Errorf("spread %v: %.1f%% held the truth; it lay above %.1f%%, and above %.1f%% of symmetric ones",
				c.spread, 100*held/methods, 100*above/methods, 100*symmetric/methods)
		}
	}
}

// An interval is printed unless calls too rare for the sample determine the cost, which is then a lower bound, or few
// calls were timed.
func TestIntervals_SampledTail(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	r := rand.New(rand.NewPCG(1, 2))
	calls(r, p, 30, 10, map[string]func(*rand.Rand) float64{
		"a.Even": lognormal(0.5),
		"a.Skew": func(r *rand.Rand) float64 { // one call in 150 costs 300 times as much
			if r.IntN(150) == 0 {
				return 300
			}
			return 1
		},
	})
	calls(r, p, 30, 2, map[string]func(*rand.Rand) float64{"a.Few": lognormal(0.5)})
	_, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	for name, want := range map[string]stats.Warning{"a.Even": "", "a.Skew": stats.LowerBound, "a.Few": stats.FewRecords} {
		l, bound := methods[name], want == stats.LowerBound
		if l.Warning != string(want) || l.LowerBound != bound || (l.SelfUSDInterval == nil) != (want != "") || !l.Uncertain && want == stats.FewRecords ||
			(l.SelfCoreHoursInterval == nil) != (want != "") || l.SelfCoreHoursSE == nil || (l.SelfCoreHoursLeast == nil) == bound {
			t.Errorf("%s: %q %+v", name, l.Warning, l)
		}
	}
	if skew := methods["a.Skew"]; !(*skew.SelfCoreHoursLeast < *skew.SelfCoreHours && *skew.SelfUSDLeast < *skew.SelfUSD && *skew.SelfCoreHoursLeast >= 0) {
		t.Errorf("at least %v of %v core hours, %v of %v dollars", *skew.SelfCoreHoursLeast, *skew.SelfCoreHours, *skew.SelfUSDLeast, *skew.SelfUSD)
	}
	even := methods["a.Even"]
	if i := even.SelfCoreHoursInterval; i[1]-*even.SelfCoreHours <= *even.SelfCoreHours-i[0] {
		t.Errorf("costs are skew, and the interval %v of %v is not", *i, *even.SelfCoreHours)
	}
}

// All calls above a threshold are timed. If their CPU is timed, they are known, and the other calls determine the error.
// If it is not, CPU costs have a tail that was not sampled.
func TestTails_Taken(t *testing.T) {
	for _, cpu := range []bool{true, false} {
		p := fixture.NewProcess("1", "a", fixture.Start)
		r := rand.New(rand.NewPCG(3, 4))
		for minute := range 30 {
			at := fixture.Start.Add(time.Duration(minute) * time.Minute)
			p.Counts("a.B", at, time.Minute, 3000)
			for range 30 {
				p.Call("a.B", methodspan.CallerEntry, at, 2*time.Millisecond, time.Millisecond+time.Duration(r.IntN(1e5)), 0.01, 1)
			}
			if minute%10 == 0 {
				x, cpuP := 400*time.Millisecond, 1.0
				if !cpu && minute > 0 { // CPU is timed for one of them
					x, cpuP = -1, 0.3
				}
				p.Call("a.B", methodspan.CallerEntry, at, 500*time.Millisecond, x, 1, cpuP).Stratum = methodspan.StratumTail
			}
		}
		_, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
		want := stats.LowerBoundCPU
		if cpu {
			want = ""
		}
		if l := methods["a.B"]; l.Warning != string(want) || (l.SelfUSDInterval == nil) != (want != "") {
			t.Errorf("CPU of the tail timed: %v: %q %v", cpu, l.Warning, l.SelfUSDInterval)
		}
	}
}

// The skewness of calls is also known from the days before: a short window that has no sampled expensive call yet has
// no interval.
func TestTails_EarlierDaysGiveSkewness(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	before := fixture.NewProcess("1", "a", fixture.Start.AddDate(0, 0, -3))
	at := fixture.Start.AddDate(0, 0, -3)
	before.Counts("a.B", at, time.Minute, 20_000)
	for i := range 200 {
		x := time.Millisecond
		if i == 100 {
			x = 300 * time.Millisecond
		}
		before.Call("a.B", methodspan.CallerEntry, at, 2*x, x, 0.01, 1)
	}
	p := fixture.NewProcess("1", "a", fixture.Start)
	calls(r, p, 30, 10, map[string]func(*rand.Rand) float64{"a.B": lognormal(0.3)})
	items := [][]methodspan.Item{{before.Item()}, {p.Item()}}
	for i, want := range []stats.Warning{stats.LowerBound, ""} { // with and without the earlier day
		from := fixture.Start.Add(-time.Hour)
		w, err := query.Open(context.Background(), fixture.Write(t, items[i:]...), query.Window{From: from, To: from.AddDate(0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		report, err := Compute(context.Background(), w, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if l := report.Methods[0]; l.Warning != string(want) || l.CPUMeasured != 300 {
			t.Errorf("%d: %q, %d records", i, l.Warning, l.CPUMeasured)
		}
	}
}

// Nearly all costs without a variance have no interval, computed through the SQL: it would not contain the truth. The
// lower bound is at most the truth.
func TestTails_NoVariance(t *testing.T) {
	const methods, minutes, measured = 60, 30, 10
	m := map[string]func(*rand.Rand) float64{}
	for i := range methods {
		m[fmt.Sprintf("a.M%03d", i)] = func(r *rand.Rand) float64 { return math.Exp(r.ExpFloat64() / 1.5) }
	}
	p := fixture.NewProcess("1", "a", fixture.Start)
	calls(rand.New(rand.NewPCG(11, 12)), p, minutes, measured, m)
	_, lines := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	truth := 3e6 * minutes * measured * 100 / 3.6e12
	above, printed := 0, 0
	for _, l := range lines {
		if l.SelfCoreHoursInterval != nil || l.SelfCoreHoursLeast == nil {
			printed++
			continue
		}
		if *l.SelfCoreHoursLeast > truth {
			above++
		}
	}
	if len(lines) != methods || above > 2 || printed > 3 {
		t.Errorf("%d of %d lower bounds are above the truth; %d intervals", above, len(lines), printed)
	}
}
