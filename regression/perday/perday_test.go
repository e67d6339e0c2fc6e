package perday

import (
	"testing"
	"time"

	"github.com/corehour/corehour/regression/query"
)

func TestObserve_FirstRowToLastCounts(t *testing.T) {
	at := func(minutes float64) time.Time {
		return time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC).Add(time.Duration(minutes * float64(time.Minute)))
	}
	for _, test := range []struct {
		what           string
		from, to       time.Time
		first, counted time.Time
		want           time.Duration
	}{
		{"the service began within the window", at(-60), time.Time{}, at(-30), at(-0.5), 29*time.Minute + 30*time.Second},
		{"a service that stopped", at(-60), at(0), at(-30), at(-10), 20 * time.Minute},
		{"counts that reach beyond the window", at(-60), at(-30), at(-60), at(-29.5), 30 * time.Minute},
		{"the second after the start", at(-60), time.Time{}, at(-1), at(-1).Add(time.Second), time.Second},
		{"nothing was counted yet", at(-60), time.Time{}, at(-1), time.Time{}, 0},
		{"counts before the window only", at(-60), time.Time{}, at(-59), at(-70), 0},
	} {
		b := Observe(query.Window{From: test.from, To: test.to}, query.Bill{First: test.first, Counted: test.counted})
		if b.Length != test.want {
			t.Errorf("%s: %v, want %v", test.what, b.Length, test.want)
		}
	}
}

func TestBasis_String(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 12 * time.Second: "12 s", 200 * time.Minute: "3 h 20 min", time.Hour: "1 h", 61 * time.Second: "1 min 1 s",
		49 * time.Hour: "2 d 1 h", 24*time.Hour - time.Second: "1 d", 72 * time.Hour: "3 d",
	} {
		if got := (Basis{d}).String(); got != "ran for "+want {
			t.Errorf("%v: %s", d, got)
		}
	}
	if _, ok := (Basis{}).PerDay(1); ok {
		t.Error("a day of no time")
	}
	if usd, ok := (Basis{6 * time.Hour}).PerDay(1); !ok || usd != 4 {
		t.Error(usd)
	}
}
