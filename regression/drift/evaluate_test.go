package drift

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// history returns methods with a noise of 1% per day, called by two callers whose costs differ by a factor of five.
// change is added to the logarithm of the cost of method 0. share is the part of its calls that comes from the more
// expensive caller.
func history(methods, days int, change, share func(day int) float64) *History {
	r := rand.New(rand.NewPCG(1, 9))
	h := &History{Callers: []string{"cheap", "dear"}, Days: days}
	for m := range methods {
		h.Methods = append(h.Methods, string(rune('A'+m)))
		for d := range days {
			level, dear := 0.01*r.NormFloat64()+0.1*float64(d%7), 0.5
			if m == 0 {
				level += change(d)
				dear = share(d)
			}
			for c, part := range []float64{1 - dear, dear} {
				n := math.Round(10_000 * part)
				h.Rows = append(h.Rows, Day{Method: int32(m), Caller: int32(c), Day: int32(d), Records: n, Weight: 10 * n,
					Capped: 10 * n * []float64{1000, 5000}[c] * math.Exp(level), Log: 10 * n * (math.Log([]float64{1000, 5000}[c]) + level)})
			}
		}
	}
	return h
}

func none(int) float64 { return 0 }
func half(int) float64 { return 0.5 }

// driftsOf replays a history and returns its drifts.
func driftsOf(t *testing.T, h *History) []Drift {
	t.Helper()
	c, err := Replay(h)
	if err != nil {
		t.Fatal(err)
	}
	return c.Drifts
}

func TestReplay_DatesStep(t *testing.T) {
	found := driftsOf(t, history(20, 77, func(d int) float64 {
		if d >= 50 {
			return math.Log(1.05)
		}
		return 0
	}, half))
	if len(found) != 1 {
		t.Fatalf("found %+v", found)
	}
	f := found[0]
	if f.Method != "A" || f.Shape != Jump || !f.Current || math.Abs(f.Change-0.05) > 0.01 || f.Began < 48 || f.Began > 52 {
		t.Errorf("found %+v", f)
	}
}

func TestReplay_SlowRise(t *testing.T) {
	found := driftsOf(t, history(20, 77, func(d int) float64 { return 0.001 * float64(d) }, half))
	if len(found) != 1 || found[0].Method != "A" || !found[0].Current || math.Abs(found[0].Change-0.057) > 0.015 {
		t.Errorf("found %+v", found)
	}
}

// Changes of the caller mix and weekday effects are not drifts.
func TestReplay_CallerMixAndWeekdays(t *testing.T) {
	if found := driftsOf(t, history(20, 77, none, func(d int) float64 { return 0.3 + 0.005*float64(d) })); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
}

func TestReplay_WholeService(t *testing.T) {
	h := history(20, 77, none, half)
	for i := range h.Rows {
		r := &h.Rows[i]
		r.Capped *= math.Exp(0.002 * float64(r.Day))
		r.Log += r.Weight * 0.002 * float64(r.Day)
	}
	found := driftsOf(t, h)
	if len(found) != 1 || found[0].Method != wholeService {
		t.Errorf("found %+v", found)
	}
}

func TestEvaluate_ShortHistory(t *testing.T) {
	h := history(20, LeastDays-1, func(d int) float64 { return 0.01 * float64(d) }, half)
	if found, err := Evaluate(h); err != nil || len(found) != 0 {
		t.Errorf("found %+v, %v", found, err)
	}
	h.Rows[5].Caller = 7
	if _, err := Evaluate(h); err == nil || !strings.Contains(err.Error(), "row 5") {
		t.Errorf("a row of no caller: %v", err)
	}
	// Days without records are left out.
	gaps := history(20, 77, func(d int) float64 { return 0.002 * float64(d) }, half)
	gaps.Rows = slices.DeleteFunc(gaps.Rows, func(r Day) bool { return r.Day%10 == 4 })
	if found := driftsOf(t, gaps); len(found) != 1 || found[0].Method != "A" {
		t.Errorf("with gaps: %+v", found)
	}
}
