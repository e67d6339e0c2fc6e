package cost

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// stock stores spans as a stock SDK sends them, from one request every 2 seconds per instance. Serve calls Load and
// Render one after the other, Fan calls Part twice at the same time.
func stock(t *testing.T, rate float64, seed uint64) (root string, truth map[string][2]float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	truth = map[string][2]float64{}
	var items []methodspan.Item
	for _, instance := range []string{"a", "b"} {
		p := fixture.NewProcess("1", instance, fixture.Start)
		p.Resource.Service = "web"
		call := func(at time.Time, name, caller string, wall, own time.Duration, kept bool) {
			sums := truth[name]
			truth[name] = [2]float64{sums[0] + float64(own), sums[1] + float64(wall)}
			if kept {
				row := p.Call(name, caller, at, wall, -1, rate, 0)
				row.WeightBasis, row.Calls = methodspan.BasisThreshold, 1/rate
			}
		}
		for n := range 3000 {
			at := fixture.Start.Add(time.Duration(n) * 2 * time.Second)
			kept := rng.Float64() < rate // for the whole trace
			load := time.Duration(float64(time.Millisecond) * (1 + rng.ExpFloat64()))
			render := time.Duration(float64(2*time.Millisecond) * (1 + rng.ExpFloat64()))
			own := time.Duration(float64(time.Millisecond) * (0.5 + rng.ExpFloat64()))
			call(at, "web.Serve", "(entry)", own+load+render, own, kept)
			call(at, "web.Load", "web.Serve", load, load, kept)
			call(at, "web.Render", "web.Serve", render, render, kept)
			call(at, "web.Fan", "(entry)", load+time.Microsecond, time.Microsecond, kept)
			call(at, "web.Part", "web.Fan", load, load, kept)
			call(at, "web.Part", "web.Fan", load, load, kept)
		}
		items = append(items, p.Item())
	}
	return fixture.Write(t, items), truth
}

func wallOf(t *testing.T, root string, by ...Dimension) *Table {
	t.Helper()
	w, err := query.Open(context.Background(), root, query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := Compute(context.Background(), w, Options{Wall: true, By: by})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A service without CPU times has wall times, ordered by self wall time, which excludes callees. If callees ran at the
// same time, the self time is clipped and marked.
func TestWallTime_ServicesWithoutCPU(t *testing.T) {
	root, truth := stock(t, 1, 1)
	r := wallOf(t, root)
	var order []string
	for _, m := range r.Methods {
		order = append(order, m.Method)
		want := truth["web."+m.Method]
		near(t, m.Method+" in all", m.InclusiveWallHours, want[1]/nsPerHour, 1e-9)
		if m.Method == "Fan" {
			if !m.SelfWallClipped || *m.SelfWallHours != 0 || m.SelfWallHoursInterval != nil {
				t.Errorf("callees took longer than Fan: %+v", m)
			}
			continue
		}
		near(t, m.Method+" own", m.SelfWallHours, want[0]/nsPerHour, 1e-9)
		if m.SelfWallClipped || m.SelfWallHoursInterval == nil || m.SelfUSD != nil || m.SelfCoreHours != nil || m.Uncertain {
			t.Errorf("%+v", m)
		}
	}
	if want := []string{"Render", "Part", "Load", "Serve", "Fan"}; !slices.Equal(order, want) {
		t.Errorf("ordered %v, want %v", order, want)
	}
	for _, l := range wallOf(t, root, ByCaller).Groups {
		if l.Caller == "web.Serve" {
			near(t, "what Serve called", l.InclusiveWallHours, (truth["web.Load"][1]+truth["web.Render"][1])/nsPerHour, 1e-9)
		}
	}
	if whole := wallOf(t, root, ByService).Groups; len(whole) != 1 {
		t.Errorf("%+v", whole)
	} else {
		near(t, "the service from outside", whole[0].InclusiveWallHours, (truth["web.Serve"][1]+truth["web.Fan"][1])/nsPerHour, 1e-9)
	}
}

// With sampled traces, the intervals contain the truth about as often as their level promises.
func TestWallTime_SampledTraces(t *testing.T) {
	var z []float64
	held, all := 0, 0
	for seed := range uint64(6) {
		root, truth := stock(t, 0.2, seed)
		for _, m := range wallOf(t, root).Methods {
			if m.Method == "Fan" {
				continue
			}
			want := truth["web."+m.Method][0] / nsPerHour
			z = append(z, (*m.SelfWallHours-want) / *m.SelfWallHoursSE)
			all++
			if i := m.SelfWallHoursInterval; i[0] <= want && want <= i[1] {
				held++
			}
		}
	}
	mean := 0.0
	for _, x := range z {
		mean += x / float64(len(z))
	}
	if math.Abs(mean) > 1 || held < all*4/5 {
		t.Errorf("%d of %d intervals hold the truth, errors are %.2f standard errors in the mean", held, all, mean)
	}
}

// Services with measured CPU keep their CPU figures and have no wall time instead.
func TestWallTime_NextToCPU(t *testing.T) {
	root, _ := stock(t, 1, 1)
	shop := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 30, Requests: 20}
	items, _ := shop.Run()
	fixture.Append(t, root, fixture.Start.Add(24*time.Hour), items)
	for _, m := range wallOf(t, root).Methods {
		if cpu, wall := m.SelfCoreHours != nil, m.SelfWallHours != nil; cpu == wall || wall != (m.Name == "web") {
			t.Errorf("%s of %s: CPU %v, wall %v", m.Method, m.Name, cpu, wall)
		}
	}
	for _, l := range wallOf(t, root, ByEnvironment).Groups {
		if l.SelfWallHours != nil {
			t.Errorf("wall time of a part of what the line is of: %+v", l)
		}
	}
}

// Without the spans of frameworks, their time is own time of their callers.
func TestWallTime_WithoutFrameworks(t *testing.T) {
	const server, driver = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", "io.opentelemetry.jdbc"
	p := fixture.NewProcess("1", "a", fixture.Start)
	call := func(class, method, caller string, at time.Time, wall time.Duration) {
		row := p.Call("x", caller, at, wall, -1, 1, 0)
		row.Class, row.Method, row.WeightBasis, row.Calls = class, method, methodspan.BasisThreshold, 1
	}
	for n := range 100 {
		at := fixture.Start.Add(time.Duration(n) * 20 * time.Second)
		call(server, "GET /cart", "(entry)", at, 40*time.Millisecond)
		call("shop/cart.Cart", "Total", server+".GET /cart", at, 30*time.Millisecond)
		call(driver, "SELECT shop", "shop/cart.Cart.Total", at, 20*time.Millisecond)
	}
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	for _, without := range []bool{false, true} {
		for _, by := range [][]Dimension{{ByMethod}, {ByCaller, ByMethod}} {
			r := computeWith(t, root, Options{Wall: true, By: by}, query.WithoutFrameworks(without))
			lines, seconds := 3, 1.0
			if without {
				lines, seconds = 1, 3
			}
			if len(r.Lines()) != lines {
				t.Errorf("without frameworks %t: %+v", without, r.Lines())
			}
			for _, l := range r.Methods {
				if l.Method == "Total" {
					near(t, "own time of Total", l.SelfWallHours, seconds/3600, 1e-9)
				}
			}
		}
	}
}

// A few sampled spans have no interval of their wall time.
func TestWallTime_FewRecords(t *testing.T) {
	for records, printed := range map[int]bool{1: false, 5: false, 300: true} {
		p := fixture.NewProcess("1", "a", fixture.Start)
		for n := range records {
			wall := time.Duration(10+n%7) * time.Millisecond
			p.Call("web.Serve", "(entry)", fixture.Start.Add(time.Duration(n)*10*time.Second), wall, -1, 0.1, 0)
		}
		item := p.Item()
		for i := range item.Rows {
			item.Rows[i].WeightBasis, item.Rows[i].Calls = methodspan.BasisThreshold, 10
		}
		l := wallOf(t, fixture.Write(t, []methodspan.Item{item})).Methods[0]
		if l.SelfWallHours == nil || (l.SelfWallHoursInterval != nil) != printed || !printed && !l.Uncertain {
			t.Errorf("%d records: %v hours, interval %v, uncertain %v", records, l.SelfWallHours, l.SelfWallHoursInterval, l.Uncertain)
		}
	}
}
