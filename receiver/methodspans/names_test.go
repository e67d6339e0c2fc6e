package methodspans

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

type clock struct{ at time.Time }

func newClock() *clock                 { return &clock{time.Unix(1_790_000_000, 0)} }
func (c *clock) now() time.Time        { return c.at }
func (c *clock) forward(periods int64) { c.at = c.at.Add(time.Duration(periods) * namePeriod) }

func admit(n *names, service, name string, t *requestCounts) bool {
	s := n.lock(serviceKey{"", service}, "", t)
	defer s.mu.Unlock()
	return s.methods.admit(n.hash(name), n.maxNames)
}

func TestNames_UsedNamesStay(t *testing.T) {
	c := newClock()
	n := newNames(10, 3, c.now)
	var tl requestCounts
	for _, name := range []string{"a", "b", "c"} {
		assert.True(t, admit(n, "shop", name, &tl))
	}
	assert.False(t, admit(n, "shop", "d", &tl), "full")
	c.forward(1)
	assert.False(t, admit(n, "shop", "d", &tl), "what was seen a period ago keeps its place")
	assert.True(t, admit(n, "shop", "a", &tl))
	assert.False(t, admit(n, "shop", "d", &tl))
	c.forward(1)
	assert.True(t, admit(n, "shop", "d", &tl), "b and c were not seen for a whole period")
	assert.True(t, admit(n, "shop", "b", &tl))
	assert.False(t, admit(n, "shop", "c", &tl))
	assert.True(t, admit(n, "shop", "a", &tl))
	c.forward(7)
	assert.True(t, admit(n, "shop", "c", &tl))
	var sizes [tableCount]int64
	n.sizes(&sizes)
	assert.EqualValues(t, 1, sizes[tableMethods])
}

func TestNames_RepeatedNameCountsOnce(t *testing.T) {
	c := newClock()
	n := newNames(10, 4, c.now)
	var tl requestCounts
	for range 3 {
		for _, name := range []string{"a", "b", "c"} {
			assert.True(t, admit(n, "shop", name, &tl))
		}
		c.forward(1)
	}
	assert.True(t, admit(n, "shop", "a", &tl))
	assert.True(t, admit(n, "shop", "d", &tl), "one place is left")
	assert.False(t, admit(n, "shop", "e", &tl))
}

// A service keeps its methods while another sender invents services.
func TestNames_FloodEvictsOwnServices(t *testing.T) {
	n := newNames(10, 3, newClock().now)
	var tl requestCounts
	as := func(sender, service, name string) bool {
		s := n.lock(serviceKey{"", service}, sender, &tl)
		defer s.mu.Unlock()
		return s.methods.admit(n.hash(name), n.maxNames)
	}
	for i := range 1000 {
		for j := range 5 {
			as("flood", fmt.Sprintf("s%d", i), fmt.Sprintf("m%d", j))
		}
		if i == 500 { // a service that comes later
			for _, name := range []string{"a", "b", "c"} {
				assert.True(t, as("host", "shop", name))
			}
		}
	}
	assert.False(t, as("host", "shop", "d"), "its three are known still")
	assert.True(t, as("host", "shop", "a"))
	var sizes [tableCount]int64
	n.sizes(&sizes)
	assert.EqualValues(t, 10, sizes[tableServices])
	assert.EqualValues(t, 991, tl.overflow[tableServices])
}

func TestNames_BoundedPerService(t *testing.T) {
	n := newNames(10, 2, newClock().now)
	var tl requestCounts
	for i := range 10 {
		admit(n, "noisy", fmt.Sprint(i), &tl)
	}
	assert.True(t, admit(n, "shop", "a", &tl))
}

func TestNames_CallersBounded(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.Limits.MaxMethods = 2 }), nil)
	got := r.receive(batch("a", 1, func(spans ptrace.SpanSlice) {
		for _, caller := range []string{"a.b", "c.d", "e.f", "(entry)", "a.b", "(overflow)"} {
			addCall(spans).Attributes().PutStr(methodspan.AttrCaller, caller)
		}
	}))
	var callers []string
	for _, span := range spansOf(got) {
		v, _ := span.Attributes().Get(methodspan.AttrCaller)
		callers = append(callers, v.Str())
	}
	assert.Equal(t, []string{"a.b", "c.d", "(overflow)", "(entry)", "a.b", "(overflow)"}, callers)
	assert.Equal(t, map[string]int64{"callers": 1}, r.counted("overflow"))
}
