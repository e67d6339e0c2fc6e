package drift

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// stepUp returns a step of a given size, as a logarithm, on day at.
func stepUp(at int, size float64) func(int) float64 {
	return func(day int) float64 {
		if day < at {
			return 0
		}
		return size
	}
}

func TestReplay(t *testing.T) {
	h := history(8, 200, stepUp(70, math.Log(1.1)), half)
	c, err := Replay(h)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Drifts) != 1 {
		t.Fatalf("found %+v", c.Drifts)
	}
	d := c.Drifts[0]
	if d.Method != "A" || d.Shape != Jump || d.Began < 69 || d.Began > 71 || d.Confirmed < 77 || d.Confirmed > 98 || d.Current {
		t.Errorf("found %+v", d)
	}
	if d.Change < 0.08 || d.Change > 0.12 || d.Interval[0] > 0.1 || d.Interval[1] < 0.1 || d.Interval[0] < 0.03 {
		t.Errorf("changed by %v, %v", d.Change, d.Interval)
	}
	for _, s := range c.Methods {
		if !s.Judged || s.Days != window || s.Surest == nil {
			t.Errorf("state %+v", s)
		}
	}
}

// A second step is a separate drift with its own date.
func TestReplay_TwoSteps(t *testing.T) {
	h := history(8, 200, func(day int) float64 { return stepUp(70, 0.06)(day) + stepUp(120, 0.2)(day) }, half)
	c, err := Replay(h)
	if err != nil || len(c.Drifts) != 2 {
		t.Fatalf("%v: %+v", err, c)
	}
	for i, began := range []int{70, 120} {
		if d := c.Drifts[i]; d.Method != "A" || d.Began < began-1 || d.Began > began+1 || d.Confirmed < began || d.Confirmed > began+28 {
			t.Errorf("found %+v, began on day %d", d, began)
		}
	}
	if d := c.Drifts[1]; math.Abs(d.Change-0.22) > 0.03 {
		t.Errorf("the second is %+v", d)
	}
}

// Replay runs only some evaluations. The result equals that of all, and does not depend on the order of the rows.
func TestReplay_EqualsAllEvaluations(t *testing.T) {
	for _, effect := range []float64{0, 0.012, 0.1} {
		h := history(6, 130, stepUp(70, effect), half)
		all, counted := newEvaluations(h), newEvaluations(h)
		counted.evaluateNeeded()
		for day := LeastDays; day <= h.Days; day++ {
			all.made[day], _ = evaluate(all.historyUntil(day, lookBack))
		}
		if effect == 0 && len(counted.made) > h.Days/confirmations+confirmations {
			t.Errorf("%d looks at nothing", len(counted.made))
		}
		want := all.confirmed()
		if got := counted.confirmed(); !reflect.DeepEqual(got, want) || (effect > 0.02) != (len(want) == 1) {
			t.Errorf("%v: %d are reported, want %d", effect, len(got), len(want))
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(h.Rows), func(i, j int) { h.Rows[i], h.Rows[j] = h.Rows[j], h.Rows[i] })
		if got := driftsOf(t, h); len(got) != len(want) || len(got) > 0 && (got[0].Began != want[0].Began || got[0].Confirmed != want[0].Confirmed) {
			t.Errorf("%v: in another order %d are reported, want %d", effect, len(got), len(want))
		}
	}
}

// A history that ends a day later or begins a day later gives the same drifts.
func TestReplay_SameWhenHistoryShifts(t *testing.T) {
	h := history(6, 140, stepUp(80, 0.1), half)
	want := driftsOf(t, h)
	if len(want) != 1 {
		t.Fatalf("%+v", want)
	}
	for _, k := range []int{1, 2, 6} {
		cut := *h
		cut.Days, cut.Rows = h.Days-k, nil
		for _, r := range h.Rows {
			if r.Day -= int32(k); r.Day >= 0 {
				cut.Rows = append(cut.Rows, r)
			}
		}
		got := driftsOf(t, &cut)
		if len(got) != 1 || got[0].Began+k != want[0].Began || got[0].Confirmed+k != want[0].Confirmed {
			t.Errorf("%d days fewer: %+v, want %+v", k, got, want)
		}
		cut.Days, cut.Rows = h.Days-k, h.Rows
		if got := driftsOf(t, &cut); len(got) != 1 || got[0].Began != want[0].Began || got[0].Confirmed != want[0].Confirmed {
			t.Errorf("asked %d days before: %+v, want %+v", k, got, want)
		}
	}
}

func TestReplay_NotEnoughData(t *testing.T) {
	for _, days := range []int{0, 1, 20, 26} {
		c, err := Replay(history(6, days, none, half))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Methods {
			if s.Judged || len(c.Drifts) > 0 {
				t.Errorf("%d days: %+v", days, c)
			}
		}
	}
	// Days with few records do not count.
	h := history(6, 90, none, half)
	for i := range h.Rows {
		if h.Rows[i].Method == 2 {
			h.Rows[i].Records = leastRecords - 1
		}
	}
	c, err := Replay(h)
	if err != nil {
		t.Fatal(err)
	}
	if c.Methods[2].Judged || c.Methods[2].Days != 0 || !c.Methods[3].Judged {
		t.Errorf("%+v", c.Methods)
	}
	if same, err := Replay(h); err != nil || !reflect.DeepEqual(same.Drifts, c.Drifts) {
		t.Errorf("%v", err)
	}
}
