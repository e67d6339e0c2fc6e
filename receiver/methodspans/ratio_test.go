package methodspans

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The vectors are the least ratio at which a sampler keeps a trace, found by asking the samplers
// of the SDKs for Python 1.45.2 and JavaScript 2.11.0, and by the arithmetic of the other languages.
func TestFamily_Number(t *testing.T) {
	text, err := os.ReadFile("testdata/ratio.json")
	require.NoError(t, err)
	var vectors map[string]map[string]float64 // by trace id and language
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	for id, byLanguage := range vectors {
		for language, want := range byLanguage {
			f, ok := familyOf[language]
			require.True(t, ok, language)
			assert.InDelta(t, want, f.number(traceID(t, id)), 1e-9, "%s of %s", id, language)
		}
	}
}

func traceID(t *testing.T, text string) (id pcommon.TraceID) {
	t.Helper()
	n, err := hex.Decode(id[:], []byte(text))
	require.NoError(t, err)
	require.Equal(t, len(id), n)
	return id
}

// randomIDs draws trace ids as SDKs do.
func randomIDs(r *rand.Rand, n int) []pcommon.TraceID {
	ids := make([]pcommon.TraceID, n)
	for i := range ids {
		for j := range ids[i] {
			ids[i][j] = byte(r.Uint32())
		}
	}
	return ids
}

// keptBy are those that the Go SDK's own sampler keeps.
func keptBy(sampler sdktrace.Sampler, ids []pcommon.TraceID) (kept []pcommon.TraceID) {
	for _, id := range ids {
		if sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: trace.TraceID(id)}).Decision == sdktrace.RecordAndSample {
			kept = append(kept, id)
		}
	}
	return kept
}

// The estimate is within 4 standard errors of the ratio; without a sampler there is none.
func TestRatioEstimate_Converges(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	r := rand.New(rand.NewPCG(22, 1))
	for _, ratio := range []float64{0.5, 0.25, 0.1, 0.01, 0.001} {
		for _, kept := range []int{50, 200, 2000} {
			ids := keptBy(sdktrace.TraceIDRatioBased(ratio), randomIDs(r, int(float64(kept)/ratio*1.5)))[:kept]
			var e ratioEstimate
			for i, id := range ids {
				if _, ok := e.ratio(); i < leastTraces {
					require.False(t, ok, "after %d traces", i)
				}
				e.observe(id, time.Unix(0, noon))
			}
			got, ok := e.ratio()
			require.True(t, ok, "%v of %d", ratio, kept)
			assert.InEpsilon(t, ratio, got, 4/float64(min(kept, mostTraces)), "%v of %d", ratio, kept)
		}
	}
}

// Once there is an estimate of a constant ratio, every later request has one.
func TestRatioEstimate_Holds(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 4))
	var e ratioEstimate
	refused := 0
	for i, id := range keptBy(sdktrace.TraceIDRatioBased(0.5), randomIDs(r, 2_000_000)) {
		e.observe(id, time.Unix(0, noon))
		if _, ok := e.ratio(); !ok && i >= leastTraces {
			refused++
		}
	}
	require.Zero(t, refused, "of a million")
}

func TestRatioEstimate_None(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 2))
	count := func(ids []pcommon.TraceID) (estimates int) {
		var e ratioEstimate
		for _, id := range ids {
			e.observe(id, time.Unix(0, noon))
			if _, ok := e.ratio(); ok {
				estimates++
			}
		}
		return estimates
	}
	assert.Zero(t, count(randomIDs(r, 200_000)), "all traces are kept")
	mixed := append(keptBy(sdktrace.TraceIDRatioBased(0.1), randomIDs(r, 10_000)), keptBy(sdktrace.TraceIDRatioBased(0.5), randomIDs(r, 2000))...)
	r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	assert.Less(t, count(mixed), 20, "traces of two ratios")
	counted := make([]pcommon.TraceID, 10_000)
	for i := range counted {
		counted[i] = pcommon.TraceID{14: byte(i >> 8), 15: byte(i)}
	}
	assert.Zero(t, count(counted), "ids that are counted up")
	timed := randomIDs(r, 10_000)
	for i := range timed {
		copy(timed[i][:4], []byte{0x69, 0x24, 0x5b, byte(i >> 8)}) // seconds, as some generators begin ids with
	}
	assert.Zero(t, count(timed), "ids that begin with the time")
}

// The estimate follows a raised ratio at once, a lowered one after a minute or 500 traces.
func TestRatioEstimate_FollowsChange(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 3))
	var e ratioEstimate
	now := time.Unix(0, noon)
	keep := func(ratio float64, n int) {
		for _, id := range keptBy(sdktrace.TraceIDRatioBased(ratio), randomIDs(r, int(float64(n)/ratio*2)+1000))[:n] {
			e.observe(id, now)
		}
	}
	keep(0.1, 1000)
	now = now.Add(time.Minute)
	keep(0.02, 5) // the first of a new minute do not contradict the ratio before
	got, ok := e.ratio()
	require.True(t, ok)
	assert.InEpsilon(t, 0.1, got, 0.01)
	keep(0.02, 100)
	got, ok = e.ratio()
	require.True(t, ok)
	assert.InEpsilon(t, 0.02, got, 0.05)
	now = now.Add(time.Minute)
	keep(0.5, 10)
	_, ok = e.ratio()
	assert.False(t, ok, "above the ratio before")
	keep(0.5, 100)
	got, ok = e.ratio()
	require.True(t, ok)
	assert.InEpsilon(t, 0.5, got, 0.05)

	e = ratioEstimate{}
	keep(1, 300) // as until a process has its first rate
	keep(0.25, mostTraces-300)
	_, ok = e.ratio()
	assert.False(t, ok, "traces of two ratios")
	keep(0.25, leastTraces)
	got, ok = e.ratio()
	require.True(t, ok)
	assert.InEpsilon(t, 0.25, got, 0.05)
}

// From its first estimate on, a steady service always has one: no window of traces begins without,
// also of ratios that take more than 50 traces.
func TestRatioEstimate_StableWithinError(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 4))
	for _, ratio := range []float64{0.2, 0.5, 0.9} {
		var e ratioEstimate
		unknown := 0
		kept := keptBy(sdktrace.TraceIDRatioBased(ratio), randomIDs(r, int(40*mostTraces/ratio)))
		for i, id := range kept {
			e.observe(id, time.Unix(0, noon).Add(time.Duration(i)*estimateFor/400))
			if got, ok := e.ratio(); !ok && i >= mostTraces {
				unknown++
			} else if ok {
				require.InEpsilon(t, ratio, got, 0.2)
			}
		}
		assert.Less(t, unknown, len(kept)/1000, "%v, of %d traces", ratio, len(kept))
	}
}
