package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// shortRun writes three processes of release 1.0 that run for 75 s, and three of 1.1 that start 40 s later. factor is the
// cost of app.Slow in 1.1; the first two seconds of each process are twice as expensive.
func shortRun(t *testing.T, seed uint64, factor float64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var items []methodspan.Item
	for i := range 6 {
		version, start := "1.0", fixture.Start
		if i >= 3 {
			version, start = "1.1", fixture.Start.Add(40*time.Second)
		}
		p := fixture.NewProcess(version, fmt.Sprint("p", i), start)
		p.Resource.Service = "shop"
		end := fixture.Start.Add(75 * time.Second)
		for from := start; from.Before(end); from = from.Add(5 * time.Second) {
			for method, cost := range map[string]float64{"app.Slow": 80e3, "app.Same": 30e3, "app.Other": 10e3} {
				if method == "app.Slow" && version == "1.1" {
					cost *= factor
				}
				const calls = 150
				p.Counts(method, from, 5*time.Second, calls)
				for k := range calls {
					at := from.Add(time.Duration(k) * 5 * time.Second / calls)
					cpu := cost * (1 + 0.2*rng.NormFloat64())
					if at.Sub(start) < 2*time.Second {
						cpu *= 2
					}
					took := time.Duration(max(1e3, cpu))
					p.Call(method, methodspan.CallerEntry, at, 2*took, took, 1, 1)
				}
			}
			p.Beat(from, 5*time.Second, 50*time.Millisecond, from.Add(5*time.Second).Equal(end))
		}
		items = append(items, p.Item())
	}
	return fixture.Write(t, items)
}

// Runs of about a minute are judged without flags: time buckets follow from their length, and the warm-up is learned.
func TestRegress_RunOfAMinute(t *testing.T) {
	fixture.SkipRaced(t)
	clock(t, fixture.Start.Add(10*time.Minute))
	if r := corehour("regress", "--warehouse", shortRun(t, 1, 1.6)); r.code != exitFound || len(regexp.MustCompile(`(?m)^REGRESSED `).FindAllString(r.stdout, -1)) != 1 ||
		!regexp.MustCompile(`^REGRESSED app\.Slow \([^)]*1\.0 -> 1\.1[^)]*\): \+(5[4-9]|6[0-6])% CPU per call`).MatchString(r.stdout) {
		t.Errorf("exit %d:\n%s%s", r.code, r.stdout, r.stderr)
	}
	for seed := range uint64(4) {
		if r := corehour("regress", "--warehouse", shortRun(t, 10+seed, 1)); r.code != exitNothing {
			t.Errorf("nothing changed, seed %d: exit %d:\n%s%s", seed, r.code, r.stdout, r.stderr)
		}
	}
}
