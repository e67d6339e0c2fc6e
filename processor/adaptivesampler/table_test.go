package adaptivesampler

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

func bounded(methods int) *Config {
	c := adaptive()
	c.Rates, c.MaxMethods = nil, methods
	return c
}

func names(from, to int) batch {
	b := of("1")
	for i := from; i < to; i++ {
		b.call(fmt.Sprint("pkg.f", i), 1, "ot=th:0;rv:ffffffffffffff")
	}
	return b
}

// sizes returns the counted places, the existing spellings and the groups.
func (t *methodTable) sizes() (places, spellings, groups int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, g := range t.groups {
		spellings += len(g.plain) + len(g.apart)
	}
	return t.count, spellings, len(t.groups)
}

// Methods beyond the bound share the overflow place: they are counted there and sampled at its rate. Rules of the
// method file still apply to each of them.
func TestTable_Overflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := bounded(8)
		config.MethodsFile = methodsFile(t, `{"version": 1, "methods": [{"class": "pkg", "method": "f19", "mode": "off"}, {"class": "pkg", "method": "f18", "rate": 0.75}]}`)
		s := &scripted{unknown: 0.5}
		s.say(decide.OverflowMethod, 0.125)
		r := startWith(t, config, 1, s, componenttest.NewNopHost())
		r.send(names(0, 8).Traces)
		for range 3 {
			r.send(names(8, 20).Traces)
		}
		turn(t)
		got := s.last()
		assert.Len(t, got, 9)
		assert.Equal(t, 36.0, got[decide.OverflowMethod].Wall.Records)
		assert.Equal(t, decide.Group{Service: "shop", Version: "1"}.Overflow(), got[decide.OverflowMethod].Key)
		assert.Contains(t, r.counters(), "overflow_spans: 36")
		inForce := make(map[string]float64)
		for _, span := range spansOf(r.send(names(7, 20).Traces)) {
			inForce[span.Name()] = number(t, span, methodspan.AttrP)
		}
		assert.Equal(t, 0.5, inForce["pkg.f7"])
		assert.Equal(t, 0.125, inForce["pkg.f8"])
		assert.Equal(t, 0.75, inForce["pkg.f18"])
		assert.NotContains(t, inForce, "pkg.f19")
	})
}

// Methods that are seen once displace each other, never methods in use.
func TestTable_Eviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{unknown: 1}
		r := startWith(t, bounded(80), 1, s, componenttest.NewNopHost())
		l := r.processor.(*resends).loop
		for i := range 20 {
			r.send(names(0, 40).Traces)                    // in use
			r.send(names(1000+40*i, 1000+40*(i+1)).Traces) // once each
			turn(t)
		}
		places, spellings, _ := l.table.sizes()
		assert.LessOrEqual(t, places, 80)
		assert.Equal(t, spellings, places)
		for i := range 40 {
			assert.Contains(t, s.last(), fmt.Sprint("f", i))
		}
		assert.Greater(t, r.figures()["evictions"], 100.0)
		for range 5 { // one spelling of a method after another
			b := of("1")
			for i := range 200 {
				b.call(fmt.Sprintf("pkg/x.Sum[int%d]", i), 1, "")
			}
			r.send(b.Traces)
		}
		places, _, _ = l.table.sizes()
		assert.LessOrEqual(t, places, 80, "spellings are bounded, too")
		turn(t)
		assert.Equal(t, 1000.0, s.last()["Sum"].Wall.Records+s.last()[decide.OverflowMethod].Wall.Records)
	})
}

// The number of service versions is bounded.
func TestTable_VersionsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{unknown: 0.5}
		r := startWith(t, bounded(50_000), 1, s, componenttest.NewNopHost())
		l := r.processor.(*resends).loop
		for i := range maxGroups + 10 {
			b := of(fmt.Sprint(i))
			b.call("f", 1, "ot=th:0;rv:ffffffffffffff")
			require.Len(t, spansOf(r.send(b.Traces)), 1)
		}
		b := of(strings.Repeat("v", maxName+1))
		b.call("f", 1, "")
		r.send(b.Traces)
		_, _, groups := l.table.sizes()
		assert.Equal(t, maxGroups, groups)
		assert.Contains(t, r.counters(), "overflow_spans: 11")
		turn(t)
		assert.Equal(t, 11.0, s.last()[decide.OverflowMethod].Wall.Records)
		assert.Equal(t, methodspan.Overflow, s.last()[decide.OverflowMethod].Key.Service)
	})
}

// Versions not seen for long make room for new ones, even if there is room for their methods.
func TestTable_EvictsOldVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startWith(t, bounded(50_000), 1, &scripted{unknown: 0.5}, componenttest.NewNopHost())
		l := r.processor.(*resends).loop
		meet := func(version string) {
			b := of(version)
			b.call("f", 1, "")
			r.send(b.Traces)
		}
		for i := range maxGroups {
			meet(fmt.Sprint("old-", i))
		}
		for range 5 {
			turn(t)
			meet("old-0")
		}
		_, _, groups := l.table.sizes()
		assert.Equal(t, maxGroups-maxGroups/4, groups)
		meet("new")
		turn(t)
		l.table.mu.RLock()
		defer l.table.mu.RUnlock()
		spellings, versions := 0, make(map[string]bool)
		for id, g := range l.table.groups {
			versions[id.Version] = true
			for _, m := range g.methods {
				spellings += m.spellings
			}
		}
		assert.Equal(t, spellings, l.table.count)
		assert.True(t, versions["old-0"])
		assert.True(t, versions["new"])
	})
}

// A version can be evicted while a batch of it is processed. The batch then adds the version and its methods again,
// and the counted places match the existing ones.
func TestTable_VersionEvictedDuringBatch(t *testing.T) {
	config := bounded(50_000)
	config.Interval = time.Hour
	r := startWith(t, config, 1, &scripted{unknown: 0.5}, componenttest.NewNopHost())
	table := r.processor.(*resends).loop.table
	for i := range maxGroups {
		b := of(fmt.Sprint("old-", i))
		b.call("f", 1, "")
		r.send(b.Traces)
	}
	gone := decide.Group{Service: "shop", Version: "old-7"}
	table.mu.Lock()
	table.epoch += 9
	for id, g := range table.groups {
		if id != gone {
			g.overflow.used = table.epoch - 3
		}
	}
	table.mu.Unlock()

	batch, other := table.begin(""), table.begin("")
	batch.enter(gone, 0)
	other.enter(gone, 0)
	for _, name := range []string{"g", "h"} {
		m, _ := batch.lookup(qualified(name))
		m.now.calls = 7
	}
	_, _ = other.lookup(qualified("i"))
	batch.group.overflow.now.calls = 5
	evicted := make(chan int)
	go func() { evicted <- table.evict() }()
	for table.mu.TryRLock() { // until the other goroutine waits for the lock
		table.mu.RUnlock()
		runtime.Gosched()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		other.end(time.Now())
	}()
	batch.end(time.Now())
	assert.Equal(t, maxGroups/4, <-evicted)
	<-ended

	places, spellings, _ := table.sizes()
	assert.Equal(t, spellings, places)
	back := table.groups[gone]
	require.NotNil(t, back)
	assert.Len(t, back.methods, 3)
	assert.Equal(t, 5.0, back.overflow.now.calls, "counted once, though two batches brought it back")
	for _, name := range []string{"g", "h"} {
		assert.Equal(t, 7.0, back.plain[name].now.calls)
	}
}

// Any characters are allowed in names.
func TestTable_HostileNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &scripted{unknown: 0.5}, &desk{}
		config := keeping(t)
		r := startWith(t, config, 1, s, host{deskID: d})
		hostile := []string{"", "\x00", "\xff\xfe", "(overflow)", "(entry)", "../../etc/passwd", "a\nb", "*", "\u202e", "'; DROP TABLE", strings.Repeat("n", 3000), "a.b.c::d#e", "[[[", "(*", ")"}
		for range 3 {
			b := of("\x1b[31m")
			for _, name := range hostile {
				b.call(name, 1, "").SetName(name)
				counts(b, name, 1)
			}
			r.send(b.Traces)
			for _, name := range hostile {
				s.say(name, 0.5)
			}
			turn(t)
		}
		for _, name := range hostile {
			for _, e := range d.source.Explain(rates.Target{Service: "shop"}, name) {
				assert.NotEmpty(t, e.Reason)
			}
		}
		var calls float64
		for _, step := range s.steps {
			for _, m := range step {
				calls += m.Calls
			}
		}
		assert.Equal(t, float64(3*len(hostile)), calls, "no call is lost for want of a name")
		was, _ := d.source.Rates(rates.Target{Service: "shop", Version: "\x1b[31m"})
		r.stop()
		d = &desk{}
		again := startWith(t, config, 1, s, host{deskID: d})
		is, _ := d.source.Rates(rates.Target{Service: "shop", Version: "\x1b[31m"})
		assert.NotNil(t, was)
		assert.NotNil(t, is)
		assert.Equal(t, 0, again.logs.FilterMessageSnippet("not usable").Len())
	})
}

// A sender that invents versions and methods leaves room for other senders.
func TestTable_SingleSenderBounded(t *testing.T) {
	r := startWith(t, bounded(80), 1, &scripted{unknown: 0.5}, componenttest.NewNopHost())
	table := r.processor.(*resends).loop.table
	meet := func(sender, version string, methods int) {
		batch := table.begin(sender)
		batch.enter(decide.Group{Service: "shop", Version: version}, 0)
		for i := range methods {
			batch.lookup(qualified(fmt.Sprint(version, ".f", i)))
		}
		batch.end(time.Now())
	}
	for i := range 2 * maxGroups {
		meet("flood", fmt.Sprint("invented-", i), 2)
	}
	meet("host", "real", 8)
	real := table.groups[decide.Group{Service: "shop", Version: "real"}]
	require.NotNil(t, real)
	assert.Len(t, real.methods, 8)
	assert.Equal(t, map[string]*holding{"flood": {shareOf(maxGroups), shareOf(80)}, "host": {1, 8}}, table.holders)

	table.mu.Lock()
	table.epoch += 9 // as if idle for nine intervals
	table.mu.Unlock()
	table.evict()
	places, spellings, groups := table.sizes()
	assert.Equal(t, spellings, places)
	total := holding{}
	for _, h := range table.holders {
		total.groups, total.methods = total.groups+h.groups, total.methods+h.methods
	}
	assert.Equal(t, holding{groups, places}, total)
	assert.Equal(t, roomOf(maxGroups), groups)
}

// Two concurrent batches bring the same version, and only one of them has its price.
func TestTable_KeepsKnownPrice(t *testing.T) {
	config := bounded(100)
	config.Interval = time.Hour
	r := startWith(t, config, 1, &scripted{unknown: 0.5}, componenttest.NewNopHost())
	table := r.processor.(*resends).loop.table
	id := decide.Group{Service: "shop", Version: "1"}
	priced, unpriced := table.begin(""), table.begin("")
	priced.enter(id, 0.05)
	unpriced.enter(id, 0)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		priced.end(time.Now())
	}()
	for table.mu.TryRLock() { // until the other goroutine waits for the lock
		table.mu.RUnlock()
		runtime.Gosched()
	}
	unpriced.end(time.Now())
	<-ended
	assert.InDelta(t, 0.05, table.groups[id].price(), 1e-12)
}
