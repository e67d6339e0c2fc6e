package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/test/fixture"
)

func TestExplain_NamesWeightBases(t *testing.T) {
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i, basis := range []string{methodspan.BasisExact, methodspan.BasisThreshold, methodspan.BasisServed, methodspan.BasisAssumed} {
		p.Call("a.B", "(entry)", fixture.Start.Add(time.Duration(i)*time.Second), time.Millisecond, time.Millisecond, 1, 1).WeightBasis = basis
	}
	r := corehour("explain", "--wide", "--warehouse", fixture.Write(t, []methodspan.Item{p.Item()}), "a.B")
	if r.code != exitNothing || !strings.Contains(r.stdout, "assumed, exact, served, threshold") {
		t.Errorf("%+v", r)
	}
}

// foreignCalls returns a warehouse with 100 spans of another SDK for each of two consecutive versions. The
// spans have the weight basis baseBasis or headBasis, and stand for 200 calls per version.
func foreignCalls(t *testing.T, baseBasis, headBasis string, cpu time.Duration) string {
	t.Helper()
	var items []methodspan.Item
	for i, basis := range []string{baseBasis, headBasis} {
		p := fixture.NewProcess(fmt.Sprintf("1.%d", i), fmt.Sprintf("i%d", i), fixture.Start.Add(time.Duration(i)*time.Hour))
		for n := range 100 {
			row := p.Call("web.Serve", "(entry)", fixture.Start.Add(time.Duration(i)*time.Hour+time.Duration(n)*20*time.Second), time.Millisecond, cpu, 0.5, 1)
			row.WeightBasis, row.Calls = basis, 2
		}
		items = append(items, p.Item())
	}
	return fixture.Write(t, items)
}

// Calls with the weight basis "assumed" are lower bounds. The commands print a note with the remedy, and
// cost computes dollars only with --include-assumed.
func TestCost_MarksAssumedCalls(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	root := foreignCalls(t, methodspan.BasisAssumed, methodspan.BasisAssumed, time.Millisecond)
	const note = "assumed: store/shop (production): 400 calls are a lower bound, because their sampling probability is unknown: use a consistent sampler"
	window := []string{"--warehouse", root, "--from", "2026-03-10", "--to", "2026-03-11"}
	for _, command := range [][]string{{"cost"}, {"check"}, {"report", "--format", "text"}} {
		if r := corehour(append(command, window...)...); !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), note) {
			t.Errorf("%s: %+v", command, r)
		}
	}
	if r := corehour(append([]string{"cost"}, window...)...); !strings.Contains(r.stdout, ">= 400") {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		more   []string
		priced bool
	}{{nil, false}, {[]string{"--include-assumed"}, true}} {
		var costs struct {
			Methods []struct {
				AssumedCalls float64  `json:"assumed_calls"`
				SelfUSD      *float64 `json:"self_usd"`
			}
		}
		r := corehour(slices.Concat([]string{"cost", "--json"}, window, c.more)...)
		if err := json.Unmarshal([]byte(r.stdout), &costs); err != nil || len(costs.Methods) != 1 {
			t.Fatalf("%v: %+v", err, r)
		}
		if m := costs.Methods[0]; m.AssumedCalls != 400 || (m.SelfUSD != nil) != c.priced {
			t.Errorf("%v: %+v", c.more, m)
		}
	}
	for _, basis := range []string{methodspan.BasisEstimated, methodspan.BasisConfigured, methodspan.BasisInherited, methodspan.BasisLegacy} {
		root := foreignCalls(t, basis, basis, time.Millisecond)
		if r := corehour("cost", "--warehouse", root, "--from", "2026-03-10", "--to", "2026-03-11"); r.code != exitNothing || strings.Contains(r.stdout, "assumed") || strings.Contains(r.stdout, ">= 400") {
			t.Errorf("%s: %+v", basis, r)
		}
	}
}

// regress skips a pair of versions if the weight basis of only one of them is "assumed".
func TestRegress_AssumedAgainstKnown(t *testing.T) {
	clock(t, evening)
	for _, c := range []struct {
		base, head string
		skipped    bool
	}{
		{methodspan.BasisAssumed, methodspan.BasisThreshold, true},
		{methodspan.BasisEstimated, methodspan.BasisAssumed, true},
		{methodspan.BasisEstimated, methodspan.BasisThreshold, false},
		{methodspan.BasisAssumed, methodspan.BasisAssumed, false},
	} {
		r := corehour("regress", "--warehouse", foreignCalls(t, c.base, c.head, 0), "--from", "2026-03-10", "--to", "2026-03-11")
		if said := strings.Contains(strings.Join(strings.Fields(r.stdout+r.stderr), " "), "how spans were sampled is known of version"); said != c.skipped {
			t.Errorf("%s and %s: %+v", c.base, c.head, r)
		}
		if c.skipped && r.code != exitCannotTell {
			t.Errorf("%s and %s: exit status %d", c.base, c.head, r.code)
		}
	}
}

// Spans without CPU time get a table of wall time, without columns that have no values.
func TestCost_StockSpans(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	for n := range 300 {
		at := fixture.Start.Add(time.Duration(n) * 10 * time.Second)
		p.Call("web.Serve", "(entry)", at, 30*time.Millisecond, -1, 1, 0)
		p.Call("web.Load", "web.Serve", at, 20*time.Millisecond, -1, 1, 0)
	}
	item := p.Item()
	for i := range item.Rows {
		item.Rows[i].WeightBasis, item.Rows[i].Calls = methodspan.BasisThreshold, 1
	}
	args := []string{"--warehouse", fixture.Write(t, []methodspan.Item{item}), "--from", "2026-03-10", "--to", "2026-03-11"}
	text := corehour(append([]string{"cost", "--wide"}, args...)...)
	golden(t, "cost_stock.txt", text.stdout)
	if strings.Contains(text.stdout, " - ") || strings.Contains(text.stdout, "how it adds up") {
		t.Errorf("figures that nothing has: %+v", text)
	}
	if r := corehour(append([]string{"cost", "--format", "markdown"}, args...)...); !strings.Contains(r.stdout, "| self wall-h | wall 95% | incl wall-h | calls |") {
		t.Errorf("%+v", r)
	}
	r := corehour(append([]string{"cost", "--format", "csv"}, args...)...)
	rows, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v: %+v", err, r)
	}
	for i, seconds := range []float64{6, 3} {
		got, err := strconv.ParseFloat(rows[1+i][slices.Index(rows[0], "self_wall_hours")], 64)
		if err != nil || math.Abs(got*3600-seconds) > 1e-9 {
			t.Errorf("line %d: own wall time %v hours, %v, want %v s", i, got, err, seconds)
		}
	}
	for _, format := range []string{"text", "html"} {
		r := corehour(append([]string{"report", "--format", format}, args...)...)
		if r.code != exitNothing || !strings.Contains(r.stdout, "0.00167") || !strings.Contains(r.stdout, "0.00250") {
			t.Errorf("%s: %+v", format, r)
		}
	}
}

// All commands print a note if spans of several processes may be merged, because the instance is empty
// or only a network address.
func TestMergedProcesses_Marked(t *testing.T) {
	skipLong(t)
	clock(t, evening)
	window := []string{"--from", "2026-03-10", "--to", "2026-03-11"}
	for instance, merged := range map[string]bool{"": true, methodspan.MayBeMerged + "10.0.0.7:40123": true, "web-7d9f/12": false} {
		var items []methodspan.Item
		for i := range 2 {
			p := fixture.NewProcess(fmt.Sprintf("1.%d", i), instance, fixture.Start)
			p.Resource.ProcessStartNS = 0
			for n := range 100 {
				row := p.Call("web.Serve", "(entry)", fixture.Start.Add(time.Duration(i)*time.Hour+time.Duration(n)*20*time.Second), time.Millisecond, -1, 1, 0)
				row.WeightBasis, row.Calls = methodspan.BasisThreshold, 1
			}
			items = append(items, p.Item())
		}
		root := fixture.Write(t, items)
		for _, command := range [][]string{{"cost"}, {"check"}, {"regress"}, {"report", "--format", "text"}} {
			r := corehour(slices.Concat(command, []string{"--warehouse", root}, window)...)
			if said := strings.Contains(strings.Join(strings.Fields(r.stdout), " "), "processes may be merged: store/shop (production)"); said != merged {
				t.Errorf("instance %q: %s: %+v", instance, command, r)
			}
		}
	}
}

// With --no-frameworks, spans of frameworks are excluded and their time counts as own time of their callers.
func TestFlagNoFrameworks_ExcludesRows(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	const server, driver = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", "io.opentelemetry.jdbc"
	var items []methodspan.Item
	for i := range 2 {
		p := fixture.NewProcess(fmt.Sprintf("1.%d", i), "a", fixture.Start)
		call := func(class, method, caller string, at time.Time, wall time.Duration) {
			row := p.Call("x", caller, at, wall, -1, 1, 0)
			row.Class, row.Method, row.WeightBasis, row.Calls = class, method, methodspan.BasisThreshold, 1
		}
		for n := range 100 {
			at := fixture.Start.Add(time.Duration(i)*time.Hour + time.Duration(n)*20*time.Second)
			call(server, "GET /cart", "(entry)", at, 40*time.Millisecond)
			call("shop/cart.Cart", "Total", server+".GET /cart", at, 30*time.Millisecond)
			call(driver, "SELECT shop", "shop/cart.Cart.Total", at, 20*time.Millisecond)
		}
		items = append(items, p.Item())
	}
	window := []string{"--warehouse", fixture.Write(t, items), "--from", "2026-03-10", "--to", "2026-03-11"}
	for _, command := range [][]string{{"cost", "--wide"}, {"cost", "--by", "caller,method", "--wide"}, {"regress", "--wide"}, {"report", "--format", "text", "--wide"}} {
		for _, left := range []bool{false, true} {
			args := slices.Concat(command, window)
			if left {
				args = append(args, "--no-frameworks")
			}
			r := corehour(args...)
			if !strings.Contains(r.stdout, "shop/cart.Cart.Total") || strings.Contains(r.stdout, driver+".SELECT shop") == left {
				t.Errorf("%q: %+v", args, r)
			}
		}
	}
	for _, c := range []struct {
		args    []string
		seconds float64
	}{{window, 200 * 0.01}, {append(window, "--no-frameworks"), 200 * 0.03}} {
		var costs struct {
			Methods []struct {
				Method        string
				SelfWallHours float64 `json:"self_wall_hours"`
			}
		}
		r := corehour(append([]string{"cost", "--json"}, c.args...)...)
		if err := json.Unmarshal([]byte(r.stdout), &costs); err != nil {
			t.Fatalf("%v: %+v", err, r)
		}
		for _, m := range costs.Methods {
			if m.Method == "Total" && math.Abs(m.SelfWallHours*3600-c.seconds) > 1e-6 {
				t.Errorf("%q: own time %v s, want %v", c.args, m.SelfWallHours*3600, c.seconds)
			}
		}
	}
}

const remedy = "so there are at least as many: " + methodspan.AssumedRemedy

// explain prints how many calls are lower bounds, and why they have no dollars.
func TestExplain_MarksAssumed(t *testing.T) {
	clock(t, evening)
	for basis, assumed := range map[string]bool{methodspan.BasisAssumed: true, methodspan.BasisThreshold: false} {
		r := corehour("explain", "--wide", "--warehouse", foreignCalls(t, basis, basis, time.Millisecond), "web.Serve")
		for _, want := range []string{"400 calls are a lower bound", ">= 200", "corehour cost --include-assumed"} {
			if r.code != exitNothing || strings.Contains(r.stdout, want) != assumed {
				t.Errorf("%s: %q: %+v", basis, want, r)
			}
		}
	}
}

// An alert contains the assumed share and the remedy, in JSON and in chat.
func TestAlerts_MarkAssumed(t *testing.T) {
	clock(t, evening)
	chat := newInbox(t)
	t.Setenv("COREHOUR_TEST_CHAT", chat.URL)
	for basis, assumed := range map[string]bool{methodspan.BasisAssumed: true, methodspan.BasisThreshold: false} {
		var items []methodspan.Item
		for i := range 2 {
			for _, instance := range []string{"a", "b", "c"} {
				p := fixture.NewProcess(fmt.Sprintf("1.%d", i), fmt.Sprint(instance, i), fixture.Start.Add(time.Duration(i)*time.Hour))
				for n := range 1000 {
					d := time.Duration(1+i)*time.Millisecond + time.Duration(n%7)*time.Microsecond
					row := p.Call("web.Serve", "(entry)", fixture.Start.Add(time.Duration(i)*time.Hour+time.Duration(n)*3*time.Second), d, d, 1, 1)
					row.WeightBasis, row.Calls = basis, 1
				}
				items = append(items, p.Item())
			}
		}
		root := fixture.Write(t, items)
		args := []string{"regress", "--method", "threshold", "--json", "--slack", "env:COREHOUR_TEST_CHAT", "--warehouse", root, "--from", "2026-03-10", "--to", "2026-03-11"}
		r := corehour(args...)
		var found struct {
			Alerts []struct {
				AssumedShare float64  `json:"assumed_share"`
				USDPerDay    *float64 `json:"usd_per_day"`
				Reason       string
			}
			Comparisons []struct {
				AssumedShare float64 `json:"assumed_share"`
			}
		}
		if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || r.code != exitFound || len(found.Alerts) != 1 || len(found.Comparisons) != 1 {
			t.Fatalf("%s: %v: %+v", basis, err, r)
		}
		a := found.Alerts[0]
		if strings.Contains(a.Reason, remedy) != assumed || (a.AssumedShare == 1) != assumed || (found.Comparisons[0].AssumedShare == 1) != assumed || (a.USDPerDay == nil) != assumed {
			t.Errorf("%s: %+v", basis, found)
		}
		if got := strings.Join(chat.take(), ""); strings.Contains(got, remedy) != assumed || got == "" {
			t.Errorf("%s: told %q", basis, got)
		}
	}
}

// A drift alert contains the assumed share and the remedy.
func TestDrift_MarksAssumed(t *testing.T) {
	unracedWhenShort(t)
	clock(t, april)
	d := months()
	d.Basis = methodspan.BasisAssumed
	r := corehour("drift", "--json", "--warehouse", d.Write(t))
	var found struct {
		Alerts []struct {
			AssumedShare float64 `json:"assumed_share"`
			Reason       string
		}
		Services []struct {
			AssumedShare float64 `json:"assumed_share"`
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || len(found.Alerts) == 0 || len(found.Services) != 1 || found.Services[0].AssumedShare != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, a := range found.Alerts {
		if a.AssumedShare != 1 || !strings.Contains(a.Reason, remedy) {
			t.Errorf("%+v", a)
		}
	}
}

// A budget with assumed calls cannot be reported as met, because these calls have no dollars.
func TestBudgets_MarkAssumed(t *testing.T) {
	clock(t, evening)
	budgets := write(t, "budgets.json", `{"version":1,"budgets":[{"name":"web","class":"web","usd_per_day":1000},{"name":"shop","service":"shop","usd_per_day":1000}]}`)
	for basis, code := range map[string]int{methodspan.BasisAssumed: exitCannotTell, methodspan.BasisThreshold: exitNothing} {
		assumed := code == exitCannotTell
		root := foreignCalls(t, basis, basis, time.Millisecond)
		fixture.Append(t, root, fixture.Start.Add(24*time.Hour), func() []methodspan.Item {
			p := fixture.NewProcess("1.1", "own", fixture.Start)
			p.Counts("web.Own", fixture.Start, time.Minute, 100)
			for i := range 50 {
				p.Call("web.Own", "(entry)", fixture.Start.Add(time.Duration(i)*time.Second), time.Millisecond, time.Millisecond, 0.5, 1)
			}
			return []methodspan.Item{p.Item()}
		}())
		r := corehour("cost", "--json", "--budgets", budgets, "--warehouse", root, "--from", "2026-03-10", "--to", "2026-03-11")
		var found struct {
			Budgets struct {
				Spendings []cost.Spending
			}
		}
		if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || r.code != code || len(found.Budgets.Spendings) != 2 {
			t.Fatalf("%s: %v: %+v", basis, err, r)
		}
		for _, s := range found.Budgets.Spendings {
			if (s.AssumedCalls == 400) != assumed || strings.Contains(s.AtLeast, "400 calls are a lower bound") != assumed || s.SpentUSD == nil || (s.Interval == nil) != assumed {
				t.Errorf("%s: %+v", basis, s)
			}
		}
	}
}
