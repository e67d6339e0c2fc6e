package methodspans

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// A million traces a minute stay within the bound in docs/reference/bounds.md, and traces forgotten
// early are counted.
func TestTraces_Bounded(t *testing.T) {
	const minutes, perMinute = 2, 1_000_000
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	r := rand.New(rand.NewPCG(22, 5))
	before := heap()
	table, counts := newTraces(), new(requestCounts)
	begin := time.Unix(0, noon)
	var most int64
	var id pcommon.TraceID
	for i := range minutes * perMinute {
		for j := range id {
			id[j] = byte(r.Uint32())
		}
		_, isNew := table.probability(id, 0.25, begin.Add(time.Duration(i)*time.Minute/perMinute), counts)
		assert.True(t, isNew)
		if i%10_000 == 0 {
			most = max(most, heap()-before)
		}
	}
	assert.LessOrEqual(t, table.size(), int64(2*maxTraces))
	assert.LessOrEqual(t, most, int64(10<<20))
	t.Logf("%d traces, %.1f MB at most, %d forgotten sooner", table.size(), float64(most)/(1<<20), counts.overflow[tableTraces])
	assert.Equal(t, int64(minutes*perMinute), table.size()+counts.overflow[tableTraces], "all but those of the table are forgotten")
	known, isNew := table.probability(id, 0, begin.Add(minutes*time.Minute), counts)
	assert.Equal(t, 0.25, known)
	assert.False(t, isNew)
}
