package samplingrates

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/confighttp"
)

// A waiting client is woken by a change of its rates, and by nothing else.
func TestPoll_Push(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.set("shop", tableOf("1", 0.5))
	answered := r.later(question1, "If-None-Match", `W/"1"`)
	r.awaitWaiting(1)
	asked := r.source.count()
	r.source.set("other", tableOf("1", 0.1)) // closes the channel of all
	require.Eventually(t, func() bool { return r.source.count() > asked }, patience, time.Millisecond)
	select {
	case got := <-answered:
		t.Fatalf("answered %+v though nothing changed for it", got)
	default:
	}
	r.source.set("shop", tableOf("2", 0.25))
	got := <-answered
	require.NoError(t, got.err)
	assert.Equal(t, 200, got.status)
	assert.Equal(t, `W/"2"`, got.header.Get("ETag"))
	assert.Contains(t, got.body, `"p":0.25`)
	assert.Equal(t, map[string]int64{"": 1}, r.counted("pushes"))
	assert.Equal(t, map[string]int64{"waiting": 0, "answers": 1, "services": 0, "tables": 0}, r.counted("table_size"))
}

func (f *fakeSource) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// Provisional rates are kept from a process, which may have better ones, until
// there are others; a stock SDK, which would not begin without, gets them.
func TestPoll_Provisional(t *testing.T) {
	r := start(t, testConfig(nil))
	unmet := tableOf("1", 0.01)
	unmet.Provisional = true
	r.source.set("shop", unmet)
	got := r.get("/v1/rates?service=shop")
	assert.Equal(t, 503, got.status)
	assert.Contains(t, got.body, "nothing has arrived from this service yet")
	assert.Regexp(t, "^[2-4]$", got.header.Get("Retry-After"))
	assert.Equal(t, 200, r.get("/sampling?service=shop").status)

	answered := r.later(question1)
	r.awaitWaiting(1)
	again := tableOf("1", 0.01)
	again.Provisional = true
	asked := r.source.count()
	r.source.set("shop", again)
	require.Eventually(t, func() bool { return r.source.count() > asked }, patience, time.Millisecond)
	r.source.set("shop", tableOf("1", 0.01)) // the same rates, learned
	assert.Equal(t, 200, (<-answered).status)

	r.source.set("shop", unmet)
	answered = r.later(question1)
	r.awaitWaiting(1)
	require.NoError(t, r.server.Shutdown(t.Context()))
	assert.Equal(t, 503, (<-answered).status)
}

// The length of a wait, with the clock of a synctest bubble.
func TestPoll_WaitDuration(t *testing.T) {
	for _, c := range []struct {
		name, wait  string
		write, read time.Duration
		want        time.Duration
	}{
		{name: "as asked", wait: "10s", write: 30 * time.Second, want: 10 * time.Second},
		{name: "not at all", wait: "0s", write: 30 * time.Second, want: 0},
		{name: "no longer than 25 s", wait: "1h", want: 25 * time.Second},
		{name: "within the write timeout", wait: "25s", write: 12 * time.Second, want: 7 * time.Second},
		{name: "within the read timeout", wait: "25s", write: 30 * time.Second, read: 9 * time.Second, want: 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, testConfig(func(config *Config) { config.HTTP.WriteTimeout, config.HTTP.ReadTimeout = c.write, c.read }))
				r.source.set("shop", tableOf("1", 0.5))
				handler := r.server.handler()
				held := map[time.Duration]bool{}
				for range 20 {
					began := time.Now()
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, knowing("1", c.wait))
					require.Equal(t, http.StatusNotModified, w.Code)
					require.Empty(t, w.Body.String())
					took := time.Since(began)
					require.LessOrEqual(t, took, c.want)
					require.GreaterOrEqual(t, took, c.want*9/10)
					held[took] = true
				}
				if c.want > 0 {
					assert.Greater(t, len(held), 15, "waits are jittered")
				}
				require.NoError(t, r.server.Shutdown(t.Context()))
			})
		})
	}
}

func knowing(revision, wait string) *http.Request {
	request := httptest.NewRequest(http.MethodGet, "/v1/rates?service=shop&wait="+wait, nil)
	request.Header.Set("If-None-Match", etag(revision))
	return request
}

// A change reaches a thousand clients spread over half a second, none later, and
// is encoded once.
func TestPoll_SpreadsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 1000
		r := newRig(t, testConfig(nil))
		r.source.set("shop", tableOf("1", 0.5))
		handler := r.server.handler()
		var mu sync.Mutex
		var reached []time.Duration
		var changed time.Time
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, knowing("1", "25s"))
				mu.Lock()
				defer mu.Unlock()
				if w.Code == http.StatusOK && w.Header().Get("ETag") == etag("2") {
					reached = append(reached, time.Since(changed))
				}
			})
		}
		synctest.Wait()
		changed = time.Now()
		r.source.set("shop", tableOf("2", 0.25))
		wg.Wait()
		require.Len(t, reached, clients)
		tenths := map[int]int{}
		for _, after := range reached {
			require.Less(t, after, clients*wakePace)
			tenths[int(after*10/(clients*wakePace))]++
		}
		for i := range 10 {
			assert.InDelta(t, clients/10, tenths[i], clients/10, "tenth %d of the time", i)
		}
		assert.Equal(t, map[string]int64{"": clients}, r.counted("pushes"))
		require.NoError(t, r.server.Shutdown(t.Context()))
	})
}

// With any number of clients, none waits for its turn longer than a second.
func TestPoll_Turns(t *testing.T) {
	w := waiting{most: 1 << 40}
	for _, n := range []int64{1, 100, 1 << 30} {
		w.now.Store(n)
		for range 100 {
			assert.Less(t, w.turn(), min(time.Duration(n)*wakePace+1, longestSpread+1))
		}
	}
}

// Beyond the limit clients are answered at once, with a long pause.
func TestPoll_WaitingClientsBounded(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.Limits.MaxWaiting = 2 }))
	r.source.set("shop", tableOf("1", 0.5))
	first, second := r.later(question1, "If-None-Match", `W/"1"`), r.later(question1, "If-None-Match", `W/"1"`)
	r.awaitWaiting(2)
	got := r.get(question1, "If-None-Match", `W/"1"`)
	assert.Equal(t, 304, got.status)
	assert.Regexp(t, "^([5-9]|10)$", got.header.Get("Retry-After"))
	assert.Equal(t, map[string]int64{"waiting": 1}, r.counted("overflow"))
	r.source.set("shop", tableOf("2", 0.5))
	for _, answered := range []<-chan reply{first, second} {
		assert.Equal(t, 200, (<-answered).status)
	}
	assert.Equal(t, 200, r.get(question1).status, "what needs no waiting is not refused")
}

// A client that disconnects frees its place.
func TestPoll_ClientLeaves(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.set("shop", tableOf("1", 0.5))
	ctx, leave := context.WithCancel(t.Context())
	answered := make(chan reply, 1)
	go func() { answered <- r.askWith(ctx, http.MethodGet, question1, "If-None-Match", `W/"1"`) }()
	r.awaitWaiting(1)
	leave()
	assert.ErrorIs(t, (<-answered).err, context.Canceled)
	r.awaitWaiting(0)
	require.Eventually(t, func() bool { return r.counted("requests")["rates gone"] == 1 }, patience, time.Millisecond)
}

// Shutdown answers waiting clients at once.
func TestPoll_ShutdownAnswersWaiting(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.set("shop", tableOf("1", 0.5))
	var all []<-chan reply
	for range 50 {
		all = append(all, r.later(question1, "If-None-Match", `W/"1"`))
	}
	r.awaitWaiting(50)
	began := time.Now()
	require.NoError(t, r.server.Shutdown(t.Context()))
	assert.Less(t, time.Since(began), longestWait/2)
	for _, answered := range all {
		got := <-answered
		require.NoError(t, got.err)
		assert.Equal(t, 304, got.status)
	}
	assert.Error(t, r.get(question1).err, "nobody listens")
	require.NoError(t, r.server.Shutdown(t.Context()), "twice")
}

// The rates of a sampler are withdrawn when it ends.
func TestPoll_WithdrawWhileWaiting(t *testing.T) {
	r := start(t, testConfig(nil))
	r.server.publication = publication{}
	withdraw, err := r.server.Publish("adaptive_sampler", r.source)
	require.NoError(t, err)
	r.source.set("shop", tableOf("1", 0.5))
	answered := r.later(question1, "If-None-Match", `W/"1"`)
	r.awaitWaiting(1)
	withdraw()
	assert.Equal(t, 503, (<-answered).status)
	assert.Equal(t, 503, r.get(question1).status)
	assert.Equal(t, 503, r.get("/sampling?service=shop").status)
	assert.Equal(t, 503, r.get("/v1/explain?service=shop&method=m").status)
}

// Encoded answers are bounded by bytes; an evicted answer is encoded again.
func TestAnswers_Bounded(t *testing.T) {
	a := newAnswers(10_000)
	made := 0
	get := func(service, revision string) int64 {
		t.Helper()
		found, gone := a.answerFor(answerKey{service: service}, revision, func(*answer) ([]byte, error) {
			made++
			return fmt.Appendf(nil, "%s %s %01000d", service, revision, 0), nil
		})
		require.Contains(t, string(found.plain), service+" "+revision)
		require.LessOrEqual(t, a.bytes, a.most)
		return gone
	}
	for i := range 5 {
		get(fmt.Sprint(i), "1")
	}
	assert.Equal(t, 5, made)
	get("0", "1")
	assert.Equal(t, 5, made, "encoded once")
	get("0", "2")
	assert.Equal(t, 6, made, "a new revision takes the place of the old one")
	assert.EqualValues(t, 5, a.size())
	gone := int64(0)
	for i := range 100 {
		gone += get(fmt.Sprint(i), "2")
	}
	assert.Equal(t, gone, 100-a.size())
	var sum int
	for at := a.order.Front(); at != nil; at = at.Next() {
		sum += at.Value.(*answer).weight()
	}
	assert.Equal(t, sum, a.bytes)

	tiny := newAnswers(1)
	found, gone := tiny.answerFor(answerKey{}, "1", func(*answer) ([]byte, error) { return []byte("{}"), nil })
	assert.Equal(t, "{}", string(found.plain), "what is larger than all the room is served, and not kept")
	assert.EqualValues(t, 1, gone)
	assert.Zero(t, tiny.bytes)
}

// Long names and long queries do not exceed the memory bound: an answer keeps only the names of a query, and they
// count.
func TestAnswers_SizeIncludesNames(t *testing.T) {
	const mib = 1 << 20
	r := newRig(t, testConfig(func(c *Config) { c.Limits.MaxAnswersMiB = 1 }))
	t.Cleanup(func() { require.NoError(t, r.server.Shutdown(t.Context())) })
	r.source.set("shop", tableOf("1", 0.5))
	handler := r.server.handler() // without the HTTP server, whose spans the test's recorder would keep
	ask := func(i int, name, ignored string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/v1/rates?service=shop&version=%d%s&x=%s", i, name, ignored), nil))
		require.Equal(t, 200, w.Code)
	}
	ignored := strings.Repeat("x", 15<<10)
	ask(-1, "", ignored)
	before := heap()
	for i := range 1200 {
		ask(i, "", ignored)
	}
	require.Greater(t, r.counted("table_size")["answers"], int64(1000), "short names leave room for many")
	assert.Less(t, heap()-before, 8*mib)

	name := strings.Repeat("n", 4000)
	for i := range 400 {
		ask(i, name, "")
	}
	assert.LessOrEqual(t, r.counted("table_size")["answers"], int64(mib/len(name)))
}

// heap is what is in use after a collection, in bytes.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestAnswers_EncodedOnce(t *testing.T) {
	a := newAnswers(1 << 20)
	var made int
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			found, _ := a.answerFor(answerKey{}, "1", func(*answer) ([]byte, error) { made++; return []byte("{}"), nil })
			assert.NotEmpty(t, found.packed)
		})
	}
	wg.Wait()
	assert.Equal(t, 1, made)
}

func TestDefaults_EqualCollectorServers(t *testing.T) {
	assert.Equal(t, confighttp.NewDefaultServerConfig().WriteTimeout, testConfig(nil).HTTP.WriteTimeout)
	assert.Equal(t, longestWait, testConfig(nil).maxWait())
}
