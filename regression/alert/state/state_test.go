package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func raised(id string, severity alert.Severity) alert.Alert {
	return alert.Alert{
		ID: id, Kind: alert.Regression, Service: "shop", Class: "c", Method: "m", Metric: "cpu", Basis: "self", Severity: severity,
		Base: 100, Head: 200, ChangePercent: 100, Interval: [2]float64{90, 110}, FirstSeen: noon,
	}
}

func everybody(*alert.Alert) bool { return true }

// pending returns the pending alerts of a sink as text.
func pending(s *State, name string, refreshes bool) string {
	var out []string
	pending := s.Pending(name, refreshes, everybody)
	for _, status := range []alert.Status{alert.Firing, alert.Resolved} {
		for _, a := range pending[status] {
			out = append(out, string(status)+" "+a.ID)
		}
		s.MarkSent(name, status, pending[status], noon)
	}
	return strings.Join(out, ", ")
}

// The life cycle of an alert, as a sink receives it.
func TestState_LifeCycle(t *testing.T) {
	s := &State{Version: Version}
	at := noon
	look := func(gone bool, alerts ...alert.Alert) {
		at = at.Add(time.Minute)
		s.Merge(at, alerts, nil, func(*alert.Alert) (string, bool) { return "gone", gone })
	}
	expect := func(step, want string) {
		t.Helper()
		if got := pending(s, "slack", false); got != want {
			t.Errorf("%s: told %q, want %q", step, got, want)
		}
	}
	look(false, raised("a", alert.Info), raised("b", alert.Info))
	expect("raised", "firing a, firing b")
	look(false, raised("a", alert.Info), raised("b", alert.Info))
	expect("seen again", "")
	if got := pending(s, "alertmanager", true); got != "firing a, firing b" {
		t.Errorf("refreshed with %q", got)
	}
	look(false, raised("a", alert.Critical))
	for _, a := range s.Pending("slack", false, everybody)[alert.Firing] {
		if len(a.Earlier) != 1 || a.Earlier[0] != alert.Info {
			t.Errorf("the severities sent before are %q, want info", a.Earlier)
		}
	}
	expect("worse, and one not looked at", "firing a")
	look(false, raised("a", alert.Info))
	expect("milder", "")
	if s.Open[0].Alert.Severity != alert.Critical {
		t.Error("the severity went down")
	}
	look(true, raised("a", alert.Info))
	expect("gone", "resolved b")
	look(true, raised("a", alert.Info), raised("b", alert.Info))
	expect("back", "firing b")
	s.Merge(at, nil, []alert.Alert{raised("c", alert.Info)}, func(*alert.Alert) (string, bool) { return "", false })
	expect("silenced", "")
	look(false, raised("c", alert.Info))
	expect("the silence ended", "firing c")
	at = at.Add(forgetAfter)
	look(false)
	expect("forgotten", "resolved a, resolved b, resolved c")
	if pending(s, "alertmanager", true) != "resolved a, resolved b" {
		t.Error("who was told is told again")
	}
	if len(s.Open) != 0 {
		t.Errorf("still open: %+v", s.Open)
	}
}

// An alert that was never sent to a sink is resolved without a message.
func TestState_ResolvedBeforeSent(t *testing.T) {
	s := &State{Version: Version}
	s.Merge(noon, []alert.Alert{raised("a", alert.Info)}, nil, nil)
	s.Merge(noon, nil, nil, func(*alert.Alert) (string, bool) { return "gone", true })
	if len(s.Open) != 0 {
		t.Errorf("%+v", s.Open)
	}
}

func TestState_Bounded(t *testing.T) {
	s := &State{Version: Version}
	var many []alert.Alert
	for i := range MaxOpen + 10 {
		many = append(many, raised(fmt.Sprintf("id-%d", i), alert.Info))
	}
	s.Merge(noon, many[:20], nil, nil)
	s.Merge(noon.Add(time.Minute), many[20:], nil, func(*alert.Alert) (string, bool) { return "", false })
	if len(s.Open) != MaxOpen || s.Dropped != 10 {
		t.Errorf("%d open, %d dropped", len(s.Open), s.Dropped)
	}
	s.Accepted = make([]Acceptance, MaxAccepted)
	for i := range 3 {
		a := raised(fmt.Sprintf("id-%d", i), alert.Info)
		a.Method = a.ID
		if _, err := s.Accept(&a, "me", "because", noon); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Accepted) != MaxAccepted || s.Accepted[MaxAccepted-1].ID != "id-2" {
		t.Errorf("%d accepted", len(s.Accepted))
	}
}

func TestState_Accept(t *testing.T) {
	s := &State{Version: Version}
	a := raised("0123456789", alert.Info)
	s.Merge(noon, []alert.Alert{a}, nil, nil)
	pending(s, "slack", false)
	if found, err := s.Find("0123"); err != nil || found == nil {
		t.Fatal(found, err)
	}
	accepted, err := s.Accept(&a, "ann", "it checks signatures now", noon)
	if err != nil || accepted.String() != "accepted by ann on 2026-03-10 because it checks signatures now" {
		t.Fatal(accepted, err)
	}
	if got := pending(s, "slack", false); got != "resolved 0123456789" {
		t.Errorf("told %q", got)
	}
	change := func(base, head, low float64, f func(*alert.Alert)) *alert.Alert {
		b := raised("other", alert.Info)
		b.BaseVersion, b.Base, b.Head, b.Interval[0] = "9", base, head, low
		if f != nil {
			f(&b)
		}
		return &b
	}
	for _, tc := range []struct {
		name  string
		alert *alert.Alert
		want  bool
	}{
		{"itself", &a, true},
		{"a little more", change(100, 215, 110, nil), true},
		{"more, not significant", change(100, 300, 50, nil), true},
		{"significantly more", change(100, 300, 150, nil), false},
		{"the next version, from the accepted level", change(200, 300, 30, nil), false},
		{"another method", change(100, 200, 90, func(a *alert.Alert) { a.Method = "n" }), false},
		{"another environment", change(100, 200, 90, func(a *alert.Alert) { a.Environment = "test" }), false},
		{"wall time", change(100, 200, 90, func(a *alert.Alert) { a.Metric = "wall" }), false},
		{"the whole time", change(100, 200, 90, func(a *alert.Alert) { a.Basis = "inclusive" }), false},
	} {
		if got := s.Covers(tc.alert, 10) != nil; got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	if !s.Withdraw("0123456789") || s.Withdraw("0123456789") || s.Covers(&a, 10) != nil {
		t.Error("not withdrawn")
	}
	budget := raised("b", alert.Info)
	budget.Kind = alert.Budget
	if _, err := s.Accept(&budget, "ann", "x", noon); err == nil {
		t.Error("a budget was accepted")
	}
	if _, err := Find([]alert.Alert{raised("aa1", ""), raised("aa2", "")}, "aa"); err == nil {
		t.Error("an ambiguous id")
	}
}

// Two callers of one method are two alerts, in one evaluation and across two.
func TestState_TwoCallersTwoAlerts(t *testing.T) {
	oftener := func(caller string) alert.Alert {
		a := raised("", alert.Info)
		a.Kind, a.Caller, a.Base, a.Head, a.Basis = alert.MoreCalls, caller, 1, 2, "calls per call of its caller"
		a.ID = alert.ID(&a)
		return a
	}
	x, y := oftener("c.x"), oftener("c.y")
	still := func(*alert.Alert) (string, bool) { return "", false }
	for _, looks := range [][][]alert.Alert{{{x, y}}, {{x}, {x, y}}} {
		s := &State{Version: Version}
		var firing []string
		for _, alerts := range looks {
			s.Merge(noon, alerts, nil, still)
			firing = append(firing, pending(s, "slack", false))
		}
		if got := strings.Join(firing, ", "); got != "firing "+x.ID+", firing "+y.ID || len(s.Open) != 2 {
			t.Errorf("%d looks: told %q", len(looks), got)
		}
		if _, err := s.Accept(&x, "ann", "by intent", noon); err != nil {
			t.Fatal(err)
		}
		if s.Covers(&x, 2) == nil || s.Covers(&y, 2) != nil {
			t.Error("accepting one of two callers covers the other, or not itself")
		}
	}
}

// A whole service has no level: the acceptance covers one comparison, up to its change.
func TestState_AcceptWholeService(t *testing.T) {
	service := func(kind, base, head string, change, low float64) *alert.Alert {
		a := &alert.Alert{
			Kind: kind, Service: "shop", Metric: "cpu", Basis: "standardised", BaseVersion: base, HeadVersion: head,
			ChangePercent: change, Interval: [2]float64{low, 2*change - low},
		}
		if kind == alert.Drift { // its id contains no versions
			a.FirstSeen = map[string]time.Time{"1": noon, "8": noon.AddDate(0, 2, 0)}[base]
		}
		a.ID = alert.ID(a)
		return a
	}
	for _, kind := range []string{alert.WholeService, alert.Drift} {
		s := &State{Version: Version}
		for _, accepted := range []*alert.Alert{service(kind, "1", "2", 5, 4), service(kind, "8", "9", 7, 6)} {
			if s.Covers(accepted, 2) != nil {
				t.Errorf("%s of %s: covered by what was accepted of another comparison", kind, accepted.BaseVersion)
			}
			if _, err := s.Accept(accepted, "ann", "a newer compiler", noon); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			name  string
			alert *alert.Alert
			want  bool
		}{
			{"itself", service(kind, "1", "2", 5, 4), true},
			{"the other one", service(kind, "8", "9", 7, 6), true},
			{"a little more", service(kind, "1", "2", 7, 6), true},
			{"more, not significant", service(kind, "1", "2", 50, 4), true},
			{"significantly more", service(kind, "1", "2", 50, 40), false},
			{"significantly more of the other", service(kind, "8", "9", 900, 800), false},
		} {
			if got := s.Covers(tc.alert, 2) != nil; got != tc.want {
				t.Errorf("%s, %s: %v", kind, tc.name, got)
			}
		}
	}
	nothing := service(alert.WholeService, "1", "2", 0, 0)
	if _, err := (&State{Version: Version}).Accept(nothing, "ann", "x", noon); err == nil {
		t.Error("an alert without level and change was accepted")
	}
}

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "state")
	store := At(dir)
	if s, err := store.Read(); err != nil || len(s.Open) != 0 {
		t.Fatal(s, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("reading made a directory")
	}
	// Concurrent updates, each adding an alert: none is lost.
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			err := At(dir).Update(func(s *State) error {
				s.Merge(noon, []alert.Alert{raised(fmt.Sprint(i), alert.Info)}, nil, func(*alert.Alert) (string, bool) { return "", false })
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s, err := store.Read()
	if err != nil || len(s.Open) != 8 {
		t.Fatal(s, err)
	}
	if err := store.Update(func(s *State) error { s.Open = nil; return errors.New("no") }); err == nil {
		t.Error("the error is lost")
	}
	if s, _ = store.Read(); len(s.Open) != 8 {
		t.Error("a failed change counts")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	path := filepath.Join(dir, fileName)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		string(whole[:len(whole)/2]): "is damaged", "": "is damaged", "[]": "is damaged", `{"version": 0}`: "has version 0, this program reads version 1", "\x00\x00": "is damaged",
		`{"version": 1, "opne": []}`: "is damaged", `{"version": 2, "new": true}`: "has version 2, this program reads version 1", `{"version": 1, "open": []}`: "its checksum is",
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := store.Read()
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", data, err)
		}
		if uerr := store.Update(func(*State) error { return nil }); uerr == nil {
			t.Errorf("%q was overwritten", data)
		}
	}
}

// A flipped bit anywhere in the file gives an error, and no part of the state is used.
func TestStoreRead_FlippedBit(t *testing.T) {
	store := At(t.TempDir())
	err := store.Update(func(s *State) error {
		s.Merge(noon, []alert.Alert{raised("a", alert.Info)}, nil, func(*alert.Alert) (string, bool) { return "", true })
		s.Accepted = []Acceptance{{ID: "b", Kind: alert.MoreCalls, Service: "crc32c:00000000", Level: 3, At: noon}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(store.dir, fileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := store.Read(); err != nil || len(s.Accepted) != 1 || s.Accepted[0].Service != "crc32c:00000000" || s.Checksum != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	for at := range whole {
		for bit := range 8 {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 1 << bit
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if s, err := store.Read(); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("with another bit %d of byte %d: %+v, %v", bit, at, s, err)
			}
		}
	}
}

func FuzzStoreRead(f *testing.F) {
	f.Add(`{"version":1,"accepted":[{"kind":"more_calls","level":3}]}`)
	f.Add(`{"version":1,"open":[{"alert":{"id":"a"},"sent":null}],"accepted":[],"dropped":0}`)
	f.Fuzz(func(t *testing.T, data string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := At(dir).Read()
		if err != nil {
			return
		}
		s.Merge(noon, []alert.Alert{raised("a", alert.Info)}, nil, func(*alert.Alert) (string, bool) { return "", true })
		pending(s, "slack", false)
	})
}

// The state of a warehouse is next to it, or in the working directory under a name derived from a remote location.
func TestDirectoryOf(t *testing.T) {
	for warehouse, want := range map[string]string{
		"/srv/warehouse/":                  "/srv/warehouse.state",
		"s3://rows/eu?region=eu-central-1": "corehour-s3-rows-eu.state",
	} {
		if got := DirectoryOf(warehouse); got != want {
			t.Errorf("%s: %s, want %s", warehouse, got, want)
		}
	}
}
