package corehour

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/ring"
)

// The cost of a counted call is known in and out of the processor's caches: methods are called in turn,
// few of them or more than the first caches hold.
func TestCounts_OutOfCacheCost(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes more time than what is measured")
	}
	few, many := countedInTurn(t, 32), countedInTurn(t, 1<<15)
	t.Logf("few methods: %.1f ns in a loop, said %.1f; many: a call took %.1f, said %.1f", few.loop, few.said, many.actual, many.said)
	if many.actual < 3*many.loop {
		t.Skip("the caches hold all methods")
	}
	// Other programs on the same processors evict some of it, in proportion.
	if more := few.said - few.loop; more > (many.said-many.loop)/10 {
		t.Errorf("calls that find all in the caches take %.1f ns more than in a loop, those that do not %.1f", more, many.said-many.loop)
	}
	// Readers assume an error of half of the reported cost.
	if many.said < many.actual/2 || many.said > 2*many.actual {
		t.Errorf("a call took %.1f ns, said %.1f", many.actual, many.said)
	}
}

// inTurn returns the actual cost of a counted call in ns, its cost in a loop, and the reported cost.
type inTurn struct{ actual, loop, said float64 }

func countedInTurn(t *testing.T, many int) inTurn {
	e := &engine{config: config{random: rand.New(rand.NewPCG(2, 2)).Uint64}, ring: ring.New[record](1024), cells: newCellTable(1)}
	e.batchMask = uint64(len(e.ring.Places) - 1)
	e.probe.countedPS.Store(e.costOf(settings{}, countedCalls))
	methods := make([]Method, many)
	for i := range methods {
		m := &methods[i]
		m.counters.Store(&m.first)
		m.located.Store(true)
		m.shardCounters(shardCount())
	}
	order := rand.New(rand.NewPCG(1, 1)).Perm(many)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := uint64(1)
	walk := func(count bool) float64 {
		before := hostclock.ThreadCPU()
		for _, i := range order {
			for range 200 { // so that consecutive calls do not overlap in the processor
				x = x*6364136223846793005 + 1442695040888963407
			}
			if count {
				methods[i].Begin().End()
			}
		}
		return float64(hostclock.ThreadCPU()-before) / float64(many)
	}
	for i := range methods {
		methods[i].plan.Store(newPlan(e, &methods[i], settings{rate: 0.002, noCaller: true}))
	}
	walk(true)
	took, walks := 0.0, 0.0
	for ; e.probe.outOfCache.n.Load() < 1000; walks++ {
		took += walk(true) - walk(false)
		e.ring.Dequeue(nil, len(e.ring.Places))
	}
	said, _ := e.probe.counted()
	if x == 0 {
		t.Error("no work was done")
	}
	return inTurn{took / walks, float64(e.probe.countedPS.Load()) / 1000, float64(said) / 1000}
}
