package histogram

import (
	"math"
	"math/rand/v2"
	"testing"
)

func init() { Prepare() }

func TestBin_Logarithm(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(x int64) {
		t.Helper()
		want := 0
		if x >= 1 {
			want = int(math.Floor(math.Log(float64(x)) / math.Log(Gamma)))
		}
		if got := Bin(x); got != want {
			t.Fatalf("Bin(%d) = %d, want %d", x, got, want)
		}
	}
	for x := int64(-2); x < 100_000; x++ {
		check(x)
	}
	for range 1_000_000 {
		check(int64(random.Uint64() >> (1 + random.IntN(63))))
	}
	check(math.MaxInt64)
	for b := range lower {
		if x := lower[b]; x < 1<<50 { // beyond, neighbouring integers share a logarithm
			check(int64(x))
			check(int64(x) - 1)
		}
	}
}

func TestMoveInto_AddsAndEmpties(t *testing.T) {
	var a, b H
	a.Add(0)
	a.Add(1500)
	b.Add(1500)
	b.Add(math.MaxInt64)
	a.MoveInto(&b)
	sum := uint32(0)
	b.Each(func(_ int, n uint32) { sum += n })
	if sum != 4 {
		t.Errorf("the sum holds %d durations, want 4", sum)
	}
	a.Each(func(bin int, n uint32) { t.Errorf("bin %d still holds %d", bin, n) })
}

func TestAdd_RetainsMemory(t *testing.T) {
	var a, b H
	a.Add(1000)
	a.MoveInto(&b)
	if n := testing.AllocsPerRun(100, func() { a.Add(1000); a.MoveInto(&b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	var h H
	x := int64(1)
	for b.Loop() {
		h.Add(x)
		x = (x*3 + 7) & (1<<24 - 1)
	}
}

func BenchmarkPrepare(b *testing.B) {
	for b.Loop() {
		for bin := range lower {
			lowest(bin)
		}
	}
}
