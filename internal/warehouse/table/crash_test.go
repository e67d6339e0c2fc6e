package table

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

var errInjected = errors.New("injected")

// flakyDisk is the real disk with a fault at one step. The step fails before or after it takes effect; a write
// that fails before stores half of its bytes. After a crash every later step fails without effect.
type flakyDisk struct {
	lazyDisk
	at      int // number of the failing step, from 1; 0 for none
	after   bool
	crash   bool
	steps   int
	crashed bool
	trace   []string
}

// step counts and runs one step, or injects the fault.
func (d *flakyDisk) step(name string, do func() error) error {
	if d.crashed {
		return errInjected
	}
	d.steps++
	d.trace = append(d.trace, name)
	if d.steps != d.at {
		return do()
	}
	d.crashed = d.crash
	if d.after {
		_ = do()
	}
	return errInjected
}

func (d *flakyDisk) mkdir(path string) error {
	return d.step("mkdir", func() error { return d.lazyDisk.mkdir(path) })
}

func (d *flakyDisk) rename(from, to string) error {
	return d.step("rename "+filepath.Base(to), func() error { return d.lazyDisk.rename(from, to) })
}

func (d *flakyDisk) syncDir(path string) error {
	return d.step("sync "+filepath.Base(path), func() error { return d.lazyDisk.syncDir(path) })
}

func (d *flakyDisk) remove(path string) error {
	return d.step("remove "+filepath.Base(path), func() error { return d.lazyDisk.remove(path) })
}

func (d *flakyDisk) create(path string) (f diskFile, err error) {
	err = d.step("create "+filepath.Base(path), func() error {
		f, err = d.lazyDisk.create(path)
		return err
	})
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	return &flakyFile{f, d}, nil
}

type flakyFile struct {
	diskFile
	disk *flakyDisk
}

func (f *flakyFile) Write(p []byte) (n int, err error) {
	half := len(p) / 2
	err = f.disk.step("write", func() error {
		n, err = f.diskFile.Write(p)
		return err
	})
	if err != nil && n == 0 && !f.disk.after {
		n, _ = f.diskFile.Write(p[:half])
	}
	return n, err
}

func (f *flakyFile) Sync() error { return f.disk.step("fsync", f.diskFile.Sync) }

func (f *flakyFile) Close() error {
	err := f.disk.step("close", func() error { return nil })
	return errors.Join(err, f.diskFile.Close())
}

// scene returns the items of the crash tests: a is stored before the fault, b spans two dates.
func scene() (a, b, c methodspan.Item) {
	return item("p1-1", noon, 3), item("p1-2", noon.Add(-12*time.Hour-2*time.Second), 4), item("p2-1", noon, 2)
}

func prepare(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	w := openWriter(t, root, Options{})
	a, _, _ := scene()
	write(t, w, a)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return root
}

// stepsOf returns the number of steps of the write that the tests interrupt.
func stepsOf(t *testing.T) int {
	t.Helper()
	root := prepare(t)
	disk := &flakyDisk{}
	w := openWriter(t, root, Options{disk: disk})
	disk.steps = 0
	_, b, c := scene()
	write(t, w, b, c)
	return disk.steps
}

// wantStored checks that each row of items is stored once, and that no other row is.
func wantStored(t *testing.T, what, root string, items ...methodspan.Item) {
	t.Helper()
	if got, want := storedPlaces(t, root), wantPlaces(items...); !slices.Equal(got, want) {
		t.Fatalf("%s: stored %v, want %v", what, got, want)
	}
}

func wantTidy(t *testing.T, what, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, tmpSuffix) {
			t.Errorf("%s: %s is left over", what, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A crash at any step of a commit stores the whole write or nothing of it. The next start recovers or
// removes its files, and repeated items count once.
func TestWriter_CrashAtEveryStep(t *testing.T) {
	a, b, c := scene()
	steps := stepsOf(t)
	if steps < 20 {
		t.Fatalf("a write over two dates has %d steps", steps)
	}
	outcomes := map[string]int{}
	for at := 1; at <= steps; at += everyStep(3) {
		for _, after := range []bool{false, true} {
			root := prepare(t)
			disk := &flakyDisk{after: after, crash: true}
			w := openWriter(t, root, Options{disk: disk})
			disk.at, disk.steps, disk.trace = at, 0, nil
			_, err := w.Write(context.Background(), []methodspan.Item{b, c})
			if err == nil {
				t.Fatalf("step %d failed and Write did not", at)
			}
			what := fmt.Sprintf("crash at step %d (%s), after=%v", at, disk.trace[len(disk.trace)-1], after)
			w.Close()

			w = openWriter(t, root, Options{})
			wantTidy(t, what, root)
			if n := len(storedPlaces(t, root)); n == len(a.Rows) {
				outcomes["none"]++
				wantStored(t, what, root, a)
			} else {
				outcomes["all"]++
				wantStored(t, what, root, a, b, c)
			}
			write(t, w, a, b, c)
			wantStored(t, what+", repeated", root, a, b, c)
			w.Close()
			openWriter(t, root, Options{}).Close()
			wantStored(t, what+", started again", root, a, b, c)
		}
	}
	if outcomes["none"] == 0 || outcomes["all"] == 0 {
		t.Errorf("the crashes came too early or too late: %v", outcomes)
	}
}

// After an error at any step, without a crash, the same items can be written again. An error before the last
// rename leaves no file behind.
func TestWriter_ErrorAtEveryStep(t *testing.T) {
	a, b, c := scene()
	for at := 1; at <= stepsOf(t); at += everyStep(3) {
		for _, after := range []bool{false, true} {
			root := prepare(t)
			disk := &flakyDisk{after: after}
			w := openWriter(t, root, Options{disk: disk})
			disk.at, disk.steps, disk.trace = at, 0, nil
			_, err := w.Write(context.Background(), []methodspan.Item{b, c})
			what := fmt.Sprintf("error at step %d (%s), after=%v", at, disk.trace[at-1], after)
			var typed *warehouse.Error
			if !errors.As(err, &typed) || !errors.Is(err, errInjected) || typed.Hint == "" {
				t.Fatalf("%s: %v", what, err)
			}
			if !errors.Is(err, warehouse.ErrUnknown) {
				wantStored(t, what, root, a)
				wantTidy(t, what, root)
			}
			res := write(t, w, b, c)
			if res.Rows+res.DuplicateRows != len(b.Rows)+len(c.Rows) {
				t.Errorf("%s: %+v", what, res)
			}
			write(t, w, a, b, c)
			wantStored(t, what, root, a, b, c)
			w.Close()
			openWriter(t, root, Options{}).Close()
			wantStored(t, what+", started again", root, a, b, c)
		}
	}
}

// After any sequence of writes, failures, crashes, restarts and repeats, all acknowledged items are stored, and
// no item is stored twice.
func TestWriter_RandomFaults(t *testing.T) {
	faults := 0
	for seed := range uint64(30 / everyStep(6)) {
		rng := rand.New(rand.NewPCG(seed, 7))
		root := t.TempDir()
		disk := &flakyDisk{}
		w := openWriter(t, root, Options{disk: disk})
		var all, open []methodspan.Item // open: not acknowledged yet
		acknowledged := map[string]bool{}
		for round := range 20 {
			for range rng.IntN(3) {
				start := noon.Add(-time.Duration(rng.IntN(3)) * 24 * time.Hour)
				it := item(fmt.Sprintf("p%d-%d", rng.IntN(2), 100*round+len(all)), start, 1+rng.IntN(3))
				all, open = append(all, it), append(open, it)
			}
			// A repeat can combine other items than the attempt before.
			batch := slices.Clone(open)
			rng.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
			batch = batch[:rng.IntN(len(batch)+1)]
			*disk = flakyDisk{at: rng.IntN(60), after: rng.IntN(2) == 0, crash: rng.IntN(2) == 0}
			_, err := w.Write(context.Background(), batch)
			if err == nil {
				for _, it := range batch {
					acknowledged[it.ID] = true
				}
				open = slices.DeleteFunc(open, func(it methodspan.Item) bool { return acknowledged[it.ID] })
			} else {
				faults++
			}
			for disk.crashed || rng.IntN(8) == 0 {
				w.Close()
				*disk = flakyDisk{at: rng.IntN(60), after: rng.IntN(2) == 0, crash: true}
				var werr error
				if w, werr = NewWriter(root, Options{disk: disk, Now: (&clock{noon}).now}); werr != nil {
					faults++
					*disk = flakyDisk{crashed: true} // fails every step until the next restart
					w = &Writer{}
				}
			}
			if err == nil {
				have := map[string]bool{}
				for _, p := range storedPlaces(t, root) {
					have[p[:strings.IndexByte(p, '/')]] = true
				}
				for id := range acknowledged {
					if !have[id] {
						t.Fatalf("seed %d, round %d: %s was acknowledged and is not stored", seed, round, id)
					}
				}
			}
		}
		*disk = flakyDisk{}
		write(t, w, all...)
		wantStored(t, fmt.Sprintf("seed %d", seed), root, all...)
		w.Close()
		w = openWriter(t, root, Options{})
		write(t, w, all...)
		wantStored(t, fmt.Sprintf("seed %d, started again", seed), root, all...)
		w.Close()
	}
	if faults < 100/everyStep(6) {
		t.Errorf("only %d faults came to pass", faults)
	}
}
