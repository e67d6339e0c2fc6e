package corehour

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	watchedMode = NewMethod("watched.Mode")
	watchedRate = NewMethod("watched.Rate")
)

// fileAt returns the path of a method file and a function that writes it.
func fileAt(t *testing.T) (path string, write func(string)) {
	path = filepath.Join(t.TempDir(), "methods.json")
	return path, func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func watched(mode string, rate string) string {
	return `{"version": 1, "methods": [
	  {"class": "watched", "method": "Mode", "rate": 0.5, "mode": "` + mode + `"},
	  {"class": "watched", "method": "Rate", "rate": ` + rate + `}]}`
}

// A change of the file applies after two equal readings. An invalid file changes nothing and is logged once.
// Counts are exact throughout, and are cut where a method's mode changes.
func TestMethodFile_Followed(t *testing.T) {
	path, write := fileAt(t)
	said := hear(t)
	write(watched("sample", "0.25"))
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		_, stop := start(t, WithHTTPClient(c.client()), WithMethodFile(path))
		made := map[*Method]int64{}
		check := func(when string, mode Mode, rate float64) {
			t.Helper()
			synctest.Wait()
			if got := planOf(watchedMode).mode; got != mode {
				t.Errorf("%s: mode %s, want %s", when, got, mode)
			}
			if got := planOf(watchedRate).rate; got != rate {
				t.Errorf("%s: rate %v, want %v", when, got, rate)
			}
			for _, m := range []*Method{watchedMode, watchedRate} {
				if m.plan.Load() == nil {
					continue
				}
				for range 10 {
					m.Begin().End()
					made[m]++
				}
			}
		}
		check("at the start", Sample, 0.25)
		write(watched("aggregate", "0.125"))
		time.Sleep(filePause + time.Millisecond)
		check("seen once", Sample, 0.25)
		time.Sleep(filePause)
		check("seen twice", Aggregate, 0.125)
		write(watched("off", "0.5")[:40])
		time.Sleep(filePause)
		check("half written", Aggregate, 0.125)
		write(watched("off", "0.5"))
		time.Sleep(filePause)
		check("written, seen once", Aggregate, 0.125)
		time.Sleep(filePause)
		check("off", Off, 0.5)
		write("{")
		time.Sleep(10 * filePause)
		check("broken", Off, 0.5)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * filePause)
		check("gone", Off, 0.5)
		write(watched("sample", "1"))
		time.Sleep(2 * filePause)
		check("back", Sample, 1)
		write("{")
		time.Sleep(10 * filePause)
		check("broken again", Sample, 1)
		if s := Stats(); s.FileReloads != 3 || s.FileFaults != 3 {
			t.Errorf("%d reloads and %d faults counted, want 3 and 3", s.FileReloads, s.FileFaults)
		}
		stop()
		intervals := c.spans(t, "process")
		if last := intervals[len(intervals)-1]; last.int("corehour.sdk.method_file.reloads") != 3 || last.int("corehour.sdk.method_file.faults") != 3 {
			t.Errorf("the last interval says %v", last.attrs)
		}
		got := counted(c, t)
		for m, n := range made {
			if got[m.Name()] != n {
				t.Errorf("%s: %d counted of %d", m.Name(), got[m.Name()], n)
			}
		}
		// Each change of mode (to aggregate, to off, back) ends an interval inside a minute, in
		// addition to the minutes and the end.
		if inside := len(c.spans(t, "process")) - 1; inside < 3 {
			t.Errorf("%d intervals ended before the last", inside)
		}
	})
	if n := strings.Count(said(), "is not taken"); n != 2 { // broken, gone
		t.Errorf("%d messages about bad changes, want 2:\n%s", n, said())
	}
}

// A file named by the environment can appear later. With strict methods a file with a fault is never
// applied.
func TestMethodFile_AppearsLater(t *testing.T) {
	for _, strict := range []bool{false, true} {
		path, write := fileAt(t)
		t.Setenv("COREHOUR_METHODS", path)
		options := []Option{WithWriter(io.Discard)}
		if strict {
			write(`{"version": 1}`)
			options = append(options, WithStrictMethods())
		}
		synctest.Test(t, func(t *testing.T) {
			_, stop := start(t, options...)
			time.Sleep(3 * filePause)
			write(`{"version": 1, "methods": [{"class": "watched", "method": "Rate", "rate": 0.75}, {"class": "watched", "method": "Mode", "rate": 7}]}`)
			time.Sleep(3 * filePause)
			synctest.Wait()
			want := 0.75
			if strict {
				want = defaultRate
			}
			if got := planOf(watchedRate).rate; got != want {
				t.Errorf("strict %t: rate %v, want %v", strict, got, want)
			}
			stop()
		})
	}
}
