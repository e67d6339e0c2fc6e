package cost

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// scene is a group of methods with one distribution of CPU times.
type scene struct {
	name    string
	ms      func(*rand.Rand) float64
	records int // per method, expected
	history int // records of a day before the window
	count   int // methods; a tenth of them in short tests
	// least is the minimum share of printed intervals, most the maximum.
	least, most float64
}

func scenes() []scene {
	lognormal := func(s float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return math.Exp(s * r.NormFloat64()) }
	}
	pareto := func(a float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return math.Pow(r.Float64(), -1/a) }
	}
	rare := func(r *rand.Rand) float64 {
		x := math.Exp(r.NormFloat64() / 2)
		if r.Float64() < 0.003 {
			x *= 400
		}
		return x
	}
	zeros := func(r *rand.Rand) float64 { return float64(r.IntN(2)) * math.Exp(r.NormFloat64()) }
	return []scene{
		{"lognormal 1", lognormal(1), 130, 0, 300, 0.90, 1},
		{"lognormal 1", lognormal(1), 400, 0, 500, 0.90, 1},
		{"lognormal 1, five versions", lognormal(1), 4800, 0, 50, 0.90, 1},
		{"lognormal 0.5", lognormal(0.5), 130, 0, 200, 0.90, 1},
		{"lognormal 1.5", lognormal(1.5), 400, 0, 200, 0.80, 1},
		{"Pareto 3", pareto(3), 400, 0, 100, 0.80, 1},
		{"Pareto 1.3", pareto(1.3), 130, 0, 200, 0, 0.05},
		{"Pareto 1.3", pareto(1.3), 400, 0, 200, 0, 0.02},
		{"Pareto 1.3", pareto(1.3), 4800, 0, 20, 0, 0.02},
		{"0.3% x400, a day before", rare, 400, 5000, 100, 0, 0.1},
		{"0.3% x400", rare, 4800, 0, 50, 0.5, 1},
		{"half of them zero", zeros, 1, 0, 100, 0, 0},
		{"half of them zero", zeros, 5, 0, 100, 0, 0},
	}
}

// scenesCosts draws the calls of every scene, times a fiftieth of them, and returns the warehouse and the true cost
// of each method in the window in core hours.
func scenesCosts(t *testing.T, seed uint64, share float64) (root string, truth map[string]float64) {
	const rate = 0.02
	before, start := fixture.Start.AddDate(0, 0, -1), fixture.Start
	truth = map[string]float64{}
	r := rand.New(rand.NewPCG(seed, 29))
	var items []methodspan.Item
	for _, version := range []string{"1", "2", "3", "4", "5"} {
		p := fixture.NewProcess(version, "host-"+version, before)
		record := func(name string, s *scene, from time.Time, records int, sum *float64) {
			var counts [60]int64
			for range int(float64(records) / rate) {
				x, minute := s.ms(r), r.IntN(60)
				counts[minute]++
				if sum != nil {
					*sum += x / 3.6e6 // ms in an hour
				}
				if r.Float64() < rate {
					at := from.Add(time.Duration(minute)*time.Minute + time.Duration(r.IntN(59_000))*time.Millisecond)
					cpu := time.Duration(x * float64(time.Millisecond))
					p.Call(name, methodspan.CallerEntry, at, 2*cpu, cpu, rate, 1)
				}
			}
			for minute, n := range counts {
				if n > 0 {
					p.Counts(name, from.Add(time.Duration(minute)*time.Minute), time.Minute, n)
				}
			}
		}
		for i, s := range scenes() {
			versions := 1
			if s.records >= 4800 {
				versions = 5
			}
			for n := range int(math.Ceil(float64(s.count) * share)) {
				if versions == 1 && n%5 != int(version[0]-'1') {
					continue
				}
				name := fmt.Sprintf("s%02d.M%04d", i, n)
				sum := 0.0
				record(name, &s, start, s.records/versions, &sum)
				truth[name] += sum
				if s.history > 0 {
					record(name, &s, before, s.history, nil)
				}
			}
		}
		items = append(items, p.Item())
	}
	return fixture.Write(t, items), truth
}

// Most lines with more than a hundred records have an interval, which contains the truth as often as it promises. Only
// a tail that the sample cannot bound gets a lower bound, and a few records get neither.
func TestIntervals_KindsAndCoverage(t *testing.T) {
	fixture.SkipRaced(t)
	share := 1.0
	if testing.Short() {
		share = 0.15
	}
	root, truth := scenesCosts(t, 1, share)
	from := fixture.Start.Add(-time.Minute)
	w, err := query.Open(context.Background(), root, query.Window{From: from, To: from.AddDate(0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	table, err := Compute(context.Background(), w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]*Line{}
	for i := range table.Methods {
		l := &table.Methods[i]
		lines[l.Class+"."+l.Method] = l
	}
	total := 0
	for i, s := range scenes() {
		var all, printed, covered, bounds, falseBounds, records float64
		for n := range int(math.Ceil(float64(s.count) * share)) {
			name := fmt.Sprintf("s%02d.M%04d", i, n)
			l, true := lines[name], truth[name]
			all++
			if l == nil {
				continue
			}
			records += float64(l.CPUMeasured)
			switch {
			case l.SelfCoreHoursInterval != nil:
				printed++
				if l.SelfCoreHoursInterval[0] <= true && true <= l.SelfCoreHoursInterval[1] {
					covered++
				}
			case l.SelfCoreHoursLeast != nil:
				bounds++
				if *l.SelfCoreHoursLeast > true {
					falseBounds++
				}
			}
		}
		total += int(all)
		t.Logf("%-26s %5.0f records: %4.0f methods, interval %5.1f%%, covered %5.1f%%; lower bound %5.1f%%, above the truth %.0f",
			s.name, records/all, all, 100*printed/all, 100*covered/max(1, printed), 100*bounds/all, falseBounds)
		chance := 2 * math.Sqrt(0.05*0.95/max(1, all)) // two standard errors of a share
		if share := printed / all; share < s.least-chance || share > s.most+chance {
			t.Errorf("%s, %d records: %.0f of %.0f lines have an interval", s.name, s.records, printed, all)
		}
		if missed := (printed - covered) / all; missed > 0.07+chance {
			t.Errorf("%s, %d records: %.0f of %.0f intervals miss the truth", s.name, s.records, printed-covered, printed)
		}
		if falseBounds > 0.02*all+2 {
			t.Errorf("%s, %d records: %.0f of %.0f lower bounds are above the truth", s.name, s.records, falseBounds, bounds)
		}
	}
	t.Logf("%d methods", total)
}
