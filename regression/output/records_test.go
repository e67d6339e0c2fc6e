package output

import (
	"strings"
	"testing"
	"time"
)

type part struct {
	Low float64 `json:"low"`
}

type record struct {
	Name     string      `json:"name,omitempty"`
	N        int64       `json:"n"`
	Set      bool        `json:"set"`
	X        *float64    `json:"x"`
	Interval *[2]float64 `json:"interval"`
	Least    *float64    `json:"least"`
	Part     *part       `json:"part"`
}

// One list of columns defines the header and the rows, even if values of a record are unknown.
func TestRecords(t *testing.T) {
	type dated struct {
		At time.Time `json:"at"`
		*record
	}
	at := time.Date(2026, 3, 10, 12, 0, 0, 5, time.FixedZone("", 3600))
	records := []dated{
		{at, &record{Name: "=a", N: 1 << 60, Set: true, X: new(1e-9), Interval: &[2]float64{1, 2e21}, Least: new(7.0), Part: &part{3}}},
		{at, &record{Least: new(0.5)}},
		{at, nil},
	}
	d := &Document{}
	d.Add(Records(records, "at", "name", "n", "set", "x", "low=interval.0|least", "high=interval.1", "part_low=part.low"))
	var b strings.Builder
	if err := d.Write(&b, CSV); err != nil {
		t.Fatal(err)
	}
	if want := "at,name,n,set,x,low,high,part_low\n" +
		"2026-03-10T11:00:00Z,'=a,1152921504606846976,true,0.000000001,1,2000000000000000000000,3\n" +
		"2026-03-10T11:00:00Z,,0,false,,0.5,,\n2026-03-10T11:00:00Z,,,,,,,\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
