package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// timedBy returns a warehouse with two versions of a service. In every one-minute interval each process counts
// 10 calls and claims to have measured the given number of calls.
func timedBy(t *testing.T, measured int64) string {
	t.Helper()
	var items []methodspan.Item
	for i := range 8 {
		start := fixture.Start.Add(time.Duration(i/4) * 30 * time.Minute)
		p := fixture.NewProcess(fmt.Sprint(1+i/4), fmt.Sprintf("p-%d", i), start)
		for minute := range 30 {
			at := start.Add(time.Duration(minute) * time.Minute)
			p.Counts("shop.Cart.Add", at, time.Minute, 10)
			cost := time.Duration(1000 + 100*(i+minute)%700)
			sum := p.Call("shop.Cart.Add", "(entry)", at.Add(20*time.Second), cost*time.Duration(measured), cost*time.Duration(measured), 1, 1)
			sum.Kind, sum.EndNS = methodspan.KindAggregate, at.Add(30*time.Second).UnixNano()
			sum.Measured, sum.CPUMeasured = measured, measured
			p.Beat(at, time.Minute, time.Second, minute == 29)
		}
		items = append(items, p.Item())
	}
	return fixture.Write(t, items)
}

// TestRecords_AtMostCountedCalls: processes that claim to have measured more calls than they counted get
// the same figures, intervals and record counts as processes that measured all their calls.
func TestRecords_AtMostCountedCalls(t *testing.T) {
	unracedWhenShort(t)
	clock(t, fixture.Start.Add(24*time.Hour))
	honest, forged := timedBy(t, 10), timedBy(t, 1<<44)
	for _, command := range []string{"cost --json", "cost --by version --json", "regress --json", "explain --json shop.Cart.Add", "drift --json"} {
		args := append(strings.Fields(command), "--from", "2026-03-10", "--to", "2026-03-11")
		want := corehour(append(args, "--warehouse", honest)...)
		got := corehour(append(args, "--warehouse", forged)...)
		if want.code != got.code || want.stdout == "" {
			t.Errorf("%s: exit %d, of all calls %d: %s", command, got.code, want.code, got.stderr)
		}
		one, two := tenDigits(strings.ReplaceAll(want.stdout, honest, "")), tenDigits(strings.ReplaceAll(got.stdout, forged, ""))
		if one != two {
			t.Errorf("%s: %s", command, firstDifference(one, two))
		}
	}
}
