package decide

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lively returns a strategy whose state has a value in every field.
func lively(t *testing.T, name string) *bench {
	b := newBench(t, func(c *Config) { c.Strategy, c.Scorecard.Enabled, c.MaxMethods = name, true, 6 })
	next := Group{Namespace: "eu", Service: "shop", Version: "2"}
	before := Group{Namespace: "eu", Service: "shop", Version: "1"}
	cheap, rare := called(named(before, "cheap"), 6e6, 1e-3, 100, 1), called(named(before, "rare"), 3, 0.5, 1e6, 2)
	foreign := called(named(before, "foreign"), 6e3, 0.1, 1e7, 2)
	foreign.Foreign = true
	foreign.CPU = WeightedSums{}
	b.steps(3, cheap, rare, foreign)
	for i := range 5 {
		b.step(rare, foreign, called(named(next, "rare"), 6, 0.5, 2e6, 1), called(named(next, fmt.Sprint(i)), 60, 0.01, 1e5, 1))
	}
	return b
}

// A restored strategy continues like the saved one.
func TestState_RoundTrip(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		saved := lively(t, name)
		data := saved.s.Snapshot()
		restored := lively(t, name)
		restored.s = New(saved.config())
		require.NoError(t, restored.s.Restore(data))
		assert.JSONEq(t, string(data), string(restored.s.Snapshot()))
		restored.now = saved.now
		seen := called(named(Group{Namespace: "eu", Service: "shop", Version: "1"}, "rare"), 30, 0.5, 1e6, 2)
		for range 3 {
			saved.step(seen)
			restored.step(seen)
			require.Equal(t, len(saved.last), len(restored.last))
			for key, want := range saved.last {
				got := restored.decision(key)
				assert.InEpsilon(t, want.P+1, got.P+1, 1e-9, key)
				assert.Equal(t, want.Mode, got.Mode)
				assert.Equal(t, want.Score, got.Score)
				assert.Equal(t, want.Class, got.Class)
			}
		}
	})
}

func (b *bench) config() Config {
	switch s := b.s.(type) {
	case *tiers:
		return s.cfg
	case *budget:
		return s.cfg
	}
	b.t.Fatalf("unknown strategy %T", b.s)
	return Config{}
}

func TestState_CorruptedChangesNothing(t *testing.T) {
	whole := string(lively(t, StrategyBudget).s.Snapshot())
	require.True(t, json.Valid([]byte(whole)))
	group := `{"service": "s", "first": 1, "last": 1, "weight": 0, "called": 0, "methods": [%s]}`
	method := `{"method": "m", "seen": 1, "calls": [0,0,0,0,0], "wall": [0,0,0,0], "cpu": [0,0,0,0]%s}`
	in := func(fields string) string {
		return fmt.Sprintf(`{"version": 1, "last": 1, "groups": [`+group+`]}`, fmt.Sprintf(method, fields))
	}
	for name, c := range map[string]struct{ data, want string }{
		"empty":            {``, "state must be JSON that Snapshot made: EOF"},
		"cut off":          {whole[:len(whole)/2], "state must be JSON that Snapshot made: unexpected EOF"},
		"two":              {whole + whole, "state must be one JSON object, found more behind it"},
		"another version":  {`{"version": 2}`, "state must have version 1, found 2"},
		"unknown field":    {in(`, "x": 1`), `state must be JSON that Snapshot made: json: unknown field "x"`},
		"rate above 1":     {in(`, "p": 1.5`), "state: groups[0]: methods[0]: `p` must be between 0 and 1, found 1.5"},
		"negative":         {in(`, "entry": -1`), "state: groups[0]: methods[0]: `entry, called, callee_wall, callee_cpu` must be amounts, found -1"},
		"unknown class":    {in(`, "learned": "x"`), "state: groups[0]: methods[0]: `learned` must be one of [\"\" \"entry\" \"mid\" \"inner\"], found \"x\""},
		"unknown looks":    {in(`, "looks": "x"`), "state: groups[0]: methods[0]: `looks` must be one of [\"\" \"entry\" \"mid\" \"inner\"], found \"x\""},
		"trim":             {`{"version": 1, "last": 1, "trim": 3}`, "`trim` must be between 0.5 and 2, found 3"},
		"unknown score":    {in(`, "score": {"label": "x", "balance": 1, "records": 1}`), "state: groups[0]: methods[0]: `label` must be one of [\"normal\" \"hotspot\" \"unmanaged\" \"off\"], found \"x\""},
		"no time":          {`{"version": 1, "last": -1}`, "`last` must be between 0 and 8589934592 seconds, found -1"},
		"group twice":      {fmt.Sprintf(`{"version": 1, "last": 1, "groups": [`+group+","+group+`]}`, fmt.Sprintf(method, ""), fmt.Sprintf(method, "")), "state: groups[1]: group must be there once, found it twice"},
		"method twice":     {fmt.Sprintf(`{"version": 1, "last": 1, "groups": [`+group+`]}`, fmt.Sprintf(method, "")+","+fmt.Sprintf(method, "")), "state: groups[0]: methods[1]: method must be there once, found it twice"},
		"group of nothing": {fmt.Sprintf(`{"version": 1, "last": 1, "groups": [`+group+`]}`, ""), "state: groups[0]: group must have methods, found none"},
		"too large":        {strings.Repeat(" ", 5e6), "state must have at most 4124672 bytes for `max_methods` 6, found 5000000"},
		"endless name":     {in(`, "signature": "` + strings.Repeat("x", 5000) + `"`), "state: groups[0]: methods[0]: names must have at most 4096 bytes, found 5000"},
	} {
		t.Run(name, func(t *testing.T) {
			b := lively(t, StrategyBudget)
			before := b.s.Snapshot()
			assert.EqualError(t, b.s.Restore([]byte(c.data)), c.want)
			assert.Equal(t, string(before), string(b.s.Snapshot()))
		})
	}
}

func TestState_LowerBoundKeepsNewest(t *testing.T) {
	saved := newBench(t, nil)
	for i := range 20 {
		saved.step(called(named(shop, fmt.Sprint(i)), 60, 0.1, 1e6, 1))
	}
	small := newBench(t, func(c *Config) { c.MaxMethods = 5 })
	require.NoError(t, small.s.Restore(saved.s.Snapshot()))
	small.now = saved.now
	small.step()
	assert.Len(t, small.last, 5)
	for i := 15; i < 20; i++ {
		assert.Contains(t, small.last, named(shop, fmt.Sprint(i)))
	}
}

// FuzzRestore: a strategy accepts or refuses any file, and after accepting one it can decide and save.
func FuzzRestore(f *testing.F) {
	b := &testing.T{}
	f.Add(lively(b, StrategyBudget).s.Snapshot())
	f.Add(lively(b, StrategyTiers).s.Snapshot())
	f.Add([]byte(`{"version": 1, "last": 1, "groups": []}`))
	f.Add([]byte(`{"version": 1, "last": 8589934592, "groups": [{"service": "s", "first": 0, "last": 0, "weight": 1e99, "called": 1e-300,` +
		`"methods": [{"method": "(overflow)", "seen": 1, "calls": [1e99,1,-1,1e99,1e-300], "wall": [1e99,1e-300,1e99,1e99], "cpu": [0,0,0,0]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{StrategyBudget, StrategyTiers} {
			b := newBench(t, func(c *Config) { c.Strategy, c.Scorecard.Enabled = name, true })
			if b.s.Restore(data) != nil {
				continue
			}
			b.step()
			b.step(called(named(shop, "m"), 60, 0.1, 1e6, 1))
			if err := b.s.Restore(b.s.Snapshot()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
