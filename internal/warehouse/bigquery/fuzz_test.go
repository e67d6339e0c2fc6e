package bigquery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corehour/corehour/internal/warehouse"
)

// A start reads any remains of a journal or returns an error, and can read its own compacted state.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"version":1}`+"\n"+`{"seq":1,"at":"2026-03-10T12:00:00Z","stream":"s","offset":0,"rows":2,"items":["a-1"]}`+"\n"+`{"seq":1,"done":true}`+"\n"), []byte(`{"version":1,"seq":0}`))
	f.Add([]byte(`{"version":1}`+"\n"+`{"seq":3,"stream":"s","offset":5,"rows":2,"part":"a-2","stored":7}`+"\n"+`{"seq":`), []byte(`{"version":1,"seq":2,"parts":{"a-2":5},"pages":[{"last":"2026-03-10T12:00:00Z","ids":{"a-":"1-5"}}]}`))
	f.Fuzz(func(t *testing.T, lines, state []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{journalName: lines, stateName: state} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		intake, err := warehouse.NewIntake(warehouse.IntakeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		j, err := openJournal(dir, intake)
		if err != nil {
			return
		}
		defer j.file.Close()
		if err := j.compact(); err != nil {
			t.Fatal(err)
		}
		again, err := warehouse.NewIntake(warehouse.IntakeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if k, err := openJournal(dir, again); err != nil {
			t.Errorf("the compacted journal can't be read: %v", err)
		} else {
			if k.seq != j.seq || len(k.partial) != len(j.partial) {
				t.Errorf("read %d and %d parts, want %d and %d", k.seq, len(k.partial), j.seq, len(j.partial))
			}
			k.file.Close()
		}
	})
}

// Any answer of a service is converted to a value or an error.
func FuzzValue(f *testing.F) {
	f.Add(`"5"`, "INTEGER", "")
	f.Add(`[{"v":{"f":[{"v":"a"},{"v":"1.5"}]}}]`, "RECORD", "REPEATED")
	f.Add(`"AAE="`, "BYTES", "NULLABLE")
	f.Fuzz(func(t *testing.T, text, kind, mode string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		field := Field{Name: "x", Type: kind, Mode: mode, Fields: []Field{{Name: "name", Type: "STRING"}, {Name: "value", Type: "FLOAT"}}}
		if got, err := valueOf(v, field); err == nil && v != nil && got == nil {
			t.Errorf("%s as %s %s is NULL", text, mode, kind)
		}
	})
}

// A journal or a state of another version is refused, with the file and both versions.
func TestJournal_Version(t *testing.T) {
	open := map[string]func(dir string, intake *warehouse.Intake) (lineFile, error){
		journalName: func(dir string, intake *warehouse.Intake) (lineFile, error) {
			j, err := openJournal(dir, intake)
			if err != nil {
				return lineFile{}, err
			}
			return j.lineFile, j.begin(&intent{Stream: "s"})
		},
		loadJournalName: func(dir string, intake *warehouse.Intake) (lineFile, error) {
			b, err := openLoadJournal(dir, intake)
			if err != nil {
				return lineFile{}, err
			}
			return b.lineFile, b.record(&loadLine{Files: []spooledFile{{Name: "f"}}}, true)
		},
	}
	for _, c := range []struct{ journal, file, content, fault string }{
		{journalName, journalName, "", ""},
		{journalName, journalName, `{"seq":1,"stream":"s"}`, "must have version 1, found 0"},
		{journalName, journalName, `{"version":2}`, "must have version 1, found 2"},
		{journalName, stateName, `{"version":1,"seq":1}`, ""},
		{journalName, stateName, `{"version":2}`, "must have version 1, found 2"},
		{loadJournalName, loadJournalName, "", ""},
		{loadJournalName, loadJournalName, `{"version":0}`, "must have version 1, found 0"},
		{loadJournalName, loadStateName, `{"version":2}`, "must have version 1, found 2"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, c.file)
		if c.content != "" {
			if err := os.WriteFile(path, []byte(c.content+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		intake, err := warehouse.NewIntake(warehouse.IntakeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := open[c.journal](dir, intake)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), path+" "+c.fault) {
				t.Errorf("%s with %s: %v", c.file, c.content, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s with %s: %v", c.file, c.content, err)
		}
		if err := l.file.Close(); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, c.journal)); c.content == "" && (err != nil || !strings.HasPrefix(string(data), `{"version":1}`+"\n")) {
			t.Errorf("%s begins with %s %v", c.journal, data, err)
		}
	}
}
