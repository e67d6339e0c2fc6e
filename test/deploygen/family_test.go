package deploygen_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/test/deploygen"
)

func families() []deploygen.Scene {
	return append(deploygen.SmallServices(), deploygen.Independent()...)
}

// changedMethods returns the number of methods that change in a scene.
func changedMethods(s deploygen.Scene) int {
	methods := s.Structure.Methods
	n := map[string]int{
		deploygen.Nothing: 0, deploygen.Leaf: 1, deploygen.Middle: 1, deploygen.Root: 1,
		deploygen.Two: 2, deploygen.Third: methods / 3, deploygen.Half: methods / 2, deploygen.All: methods,
	}[s.Change.Where]
	if rare := s.Disturbance.Rare; rare.P > 0 && !rare.Both {
		n++
	}
	return n
}

func TestDraw_EveryScene(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	names := map[string]bool{}
	for i, s := range families() {
		if names[s.Name()] {
			t.Fatalf("two scenes are %s", s.Name())
		}
		names[s.Name()] = true
		s.Records, s.Duration = 20, 3*time.Minute // small, because there are 14,000 scenes
		d := deploygen.Draw(s, uint64(i))
		if len(d.Methods) != s.Structure.Methods || len(d.Processes) != s.Base+s.Head || len(d.Hosts) != len(d.Processes) {
			t.Fatalf("%s: %d methods, %d processes, %d hosts", s.Name(), len(d.Methods), len(d.Processes), len(d.Hosts))
		}
		changed := 0
		for _, m := range d.Methods {
			if !m.Unchanged {
				changed++
			}
			if m.Unchanged != (m.Own == 0) {
				t.Errorf("%s: %s: unchanged %t, own change %g", s.Name(), m.Name, m.Unchanged, m.Own)
			}
			for _, x := range []float64{m.Inclusive, m.MeasuredOwn, m.MeasuredInclusive} {
				if math.IsNaN(x) || math.Abs(x) > 4 {
					t.Errorf("%s: %s: %+v", s.Name(), m.Name, m.Truth)
				}
			}
		}
		if want := changedMethods(s); changed != want {
			t.Errorf("%s: %d methods changed, want %d", s.Name(), changed, want)
		}
		for v, want := range []int{s.Base, s.Head} {
			got := 0
			for _, p := range d.Processes {
				if p.Head == (v == 1) {
					got++
				}
			}
			if got != want {
				t.Errorf("%s: version %d has %d processes", s.Name(), v, got)
			}
		}
	}
	// 13 structures with 15 changes each. 9 changes do not fit the chain of one method, 6 the chain of two,
	// and 1 the chain of three.
	small := (13*15 - 9 - 6 - 1) * 5 * (12 + 3)
	independent := 3 * 3 * (3*13 + 4)
	if got := []int{len(deploygen.SmallServices()), len(deploygen.Independent())}; got[0] != small || got[1] != independent {
		t.Errorf("%d scenes, want %d and %d", got, small, independent)
	}
}

// TestPick_AllScenesBeforeRepeats expects all scenes before any scene repeats.
func TestPick_AllScenesBeforeRepeats(t *testing.T) {
	family := deploygen.Independent()
	picked := deploygen.Pick(family, 2*len(family), 1)
	seen := map[string]int{}
	for i, s := range picked {
		if i == len(family) && len(seen) != len(family) {
			t.Errorf("the first %d scenes are %d different ones", i, len(seen))
		}
		seen[s.Name()]++
	}
	for name, n := range seen {
		if n != 2 {
			t.Errorf("%s was picked %d times", name, n)
		}
	}
	if !slices.Equal(picked[:50], deploygen.Pick(family, 50, 1)) {
		t.Error("the same seed picks other scenes")
	}
	if slices.Equal(picked[:50], deploygen.Pick(family, 50, 2)) {
		t.Error("another seed picks the same scenes")
	}
}
