package delivery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corehour/corehour/regression/alert"
)

func TestAppendFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	of := func(ids ...string) (out []alert.Alert) {
		for _, id := range ids {
			out = append(out, alert.Alert{ID: id, Reason: "r\n\x1b"})
		}
		return out
	}
	appended := func(want string, alerts []alert.Alert) {
		t.Helper()
		fresh, err := AppendFile(path, alerts)
		got := ""
		for _, a := range fresh {
			got += a.ID
		}
		if err != nil || got != want {
			t.Errorf("appended %q, %v; want %q", got, err, want)
		}
	}
	appended("", nil)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("a file without alerts")
	}
	appended("ab", of("a", "b"))
	appended("c", of("a", "c", "b"))
	appended("", of("a", "b", "c"))

	// The last line is cut off, as by a crash, and follows a very long line of another writer.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strings.Repeat("x", 3<<20) + "\n" + `{"id":"d","met`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	appended("d", of("d", "a"))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		var a alert.Alert
		if json.Unmarshal([]byte(line), &a) == nil {
			whole++
		}
	}
	if whole != 4 {
		t.Errorf("%d whole alerts", whole)
	}
	if _, err := AppendFile(t.TempDir(), of("a")); err == nil {
		t.Error("a directory is a file of alerts")
	}
}

// A process raises an alert once. After a restart it raises only alerts that its file does not contain.
func TestRemembered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	both := []alert.Alert{{ID: "a"}, {ID: "b"}}
	for _, test := range []struct {
		name string
		r    *Remembered
		want int
	}{{"no file", &Remembered{}, 2}, {"a new file", &Remembered{File: path}, 2}, {"a file that holds them", &Remembered{File: path}, 0}} {
		for _, want := range []int{test.want, 0} {
			if fresh, err := test.r.Fresh(both); err != nil || len(fresh) != want {
				t.Errorf("%s: %d fresh, want %d (%v)", test.name, len(fresh), want, err)
			}
		}
	}
	r := &Remembered{}
	for i := range maxRemembered + 1 {
		if _, err := r.Fresh([]alert.Alert{{ID: string(rune(i + 0x10000))}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.ids) != maxRemembered || r.ids[string(rune(0x10000))] {
		t.Errorf("%d are remembered, with the oldest", len(r.ids))
	}
}
