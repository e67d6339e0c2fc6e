package bigquery_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fake"
)

// A bad file is moved to the dead files, but the disk is too full to record that. It is given up
// once there is room.
func TestLoader_GiveUpFileOnFullDisk(t *testing.T) {
	s := fake.New(t)
	s.Refuse = func(r fake.Row) string {
		if r["batch_id"] == "bad" {
			return "the service does not like it"
		}
		return ""
	}
	dir := t.TempDir()
	var l *bigquery.Loader
	var mend func() error
	load := byHand()
	load.ByHand(func(what string) {
		if what == "moved" && mend == nil {
			mend = l.FillDisk()
		}
	})
	o := options(s, dir)
	l = openLoader(t, o, load)
	r := rand.New(rand.NewPCG(25, 1))
	bad, good, last := randomItem(r, "bad", 8), randomItem(r, "good", 8), randomItem(r, "last", 8)
	for _, item := range []methodspan.Item{bad, good, last} {
		for j := range item.Rows { // one file per item
			item.Rows[j].StartNS = noon.UnixNano() - int64(j)
		}
	}
	spool(t, l, bad)
	_ = l.Round(t.Context(), true)
	spool(t, l, good)
	for range 20 {
		if err := l.Round(t.Context(), true); mend != nil {
			if err == nil {
				t.Error("the round succeeded on a full disk")
			}
			break
		}
	}
	if mend == nil {
		t.Fatal("the file was not given up")
	}
	if err := mend(); err != nil {
		t.Fatal(err)
	}
	spool(t, l, last)
	rounds(t, l, 20)
	exact(t, s, []methodspan.Item{good, last})
	if st := l.Stats(); st.DeadLetters != 8 || st.DeadLettersDropped != 0 || st.SpoolRows != 0 || st.UnknownRows != 0 {
		t.Errorf("%+v", st)
	}
	if dead, err := filepath.Glob(filepath.Join(dir, "dead", "*.parquet")); err != nil || len(dead) != 1 {
		t.Errorf("%v %v", dead, err)
	}
	if spooled, err := os.ReadDir(filepath.Join(dir, "spool")); err != nil || len(spooled) != 0 {
		t.Errorf("%v %v", spooled, err)
	}
}
