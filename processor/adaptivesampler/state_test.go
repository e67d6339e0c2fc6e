package adaptivesampler

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap/zapcore"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/statefile"
)

func keeping(t *testing.T) *Config {
	c := adaptive()
	c.State.File = filepath.Join(t.TempDir(), "sampler.state")
	return c
}

// A restarted sampler continues with the same tables and revisions, the same rates in force and the same state of
// the strategy.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := keeping(t)
		before := &scripted{unknown: 0.5, state: "what was learned"}
		before.say("Total", 0.1)
		before.say("off", 0)
		before.say("GET /", 0.2)
		d := &desk{}
		r := startWith(t, config, 1, before, host{deskID: d})
		b := of("1")
		b.call("shop/cart.(*Cart).Total", 1, "")
		b.call("shop/cart.(*Cart).unnamed", 1, "")
		b.call("off", 1, "")
		b.foreign("GET /", 1, methodspan.BasisAssumed, "", pcommon.TraceID{})
		r.send(b.Traces)
		turn(t)
		was, _ := d.source.Rates(shop1)
		r.stop()
		assert.Contains(t, r.logs.All()[0].Message, "no state yet")

		after, d := &scripted{unknown: 0.5}, &desk{}
		again := startWith(t, config, 1, after, host{deskID: d})
		assert.Equal(t, "what was learned", after.state)
		require.NotNil(t, after.rules, "the state holds no rules")
		is, changed := d.source.Rates(shop1)
		assert.Equal(t, was.Revision, is.Revision)
		assert.Equal(t, was, is)
		b = of("1")
		b.call("shop/cart.(*Cart).Total", 1, "ot=th:0;rv:ffffffffffffff")
		b.call("off", 1, "")
		out := spansOf(again.send(b.Traces))
		require.Len(t, out, 1)
		assert.Equal(t, 0.1, number(t, out[0], methodspan.AttrP))
		after.say("Total", 0.105)
		after.say("off", 0)
		after.say("GET /", 0.2)
		b = of("1")
		b.foreign("GET /", 1, methodspan.BasisAssumed, "", pcommon.TraceID{})
		again.send(b.Traces)
		turn(t)
		assert.False(t, isClosed(changed), "the first step after a restart is one like any other")
		assert.Empty(t, again.logs.FilterLevelExact(zapcore.ErrorLevel).All())
	})
}

// The state is also written at run time. A failed write is logged.
func TestState_WrittenPeriodically(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := keeping(t)
		r := startWith(t, config, 1, &scripted{state: "x"}, host{deskID: &desk{}})
		time.Sleep(config.State.Interval)
		synctest.Wait()
		_, err := statefile.Load(config.State.File)
		require.NoError(t, err)
		require.NoError(t, os.Remove(config.State.File))
		require.NoError(t, os.MkdirAll(filepath.Join(config.State.File, "in the way"), 0o700))
		time.Sleep(config.State.Interval)
		synctest.Wait()
		assert.Contains(t, r.counters(), "state_writes result=saved: 1")
		assert.Contains(t, r.counters(), "state_writes result=failed: 1")
		assert.Equal(t, 1, r.logs.FilterMessageSnippet("state could not be written").Len())
	})
}

// An invalid state file is logged once and moved aside. The sampler then starts as if for the first time: it neither
// keeps nor drops everything.
func TestState_Invalid(t *testing.T) {
	valid := func(s samplerState) []byte {
		data, err := json.Marshal(s)
		require.NoError(t, err)
		return statefile.Encode(data)
	}
	good := samplerState{Strategy: "budget", Learned: []byte("x")}
	with := func(m methodState) samplerState {
		s := good
		s.Groups = []groupState{{Service: "shop", Version: "1", Methods: []methodState{m}}}
		return s
	}
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"torn":          {valid(good)[:len(valid(good))-3], "must hold"},
		"foreign":       {[]byte("{}"), "found another file"},
		"no JSON":       {statefile.Encode([]byte("[")), "unexpected EOF"},
		"more behind":   {statefile.Encode([]byte("{} {}")), "must hold one state"},
		"newer fields":  {statefile.Encode([]byte(`{"strategy": "budget", "x": 1}`)), "unknown field"},
		"strategy":      {valid(samplerState{Strategy: "tiers"}), `must be of the strategy budget, found "tiers"`},
		"not restored":  {valid(samplerState{Strategy: "budget", Learned: []byte("no good")}), "must be good, found no good"},
		"rate above 1":  {valid(with(methodState{Name: "f", Mode: "sample", Rate: 2})), "groups[0].methods[0] must hold a mode and rates between 0 and 1"},
		"rate 0":        {valid(with(methodState{Name: "f", Mode: "sample"})), "must hold a mode and rates"},
		"negative":      {valid(with(methodState{Name: "f", Mode: "off", CPURate: -1})), "must hold a mode and rates"},
		"unknown mode":  {valid(with(methodState{Name: "f", Mode: "all", Rate: 1})), "must hold a mode and rates"},
		"endless names": {valid(with(methodState{Name: string(make([]byte, 5000)), Mode: "off"})), "must hold a mode and rates"},
	} {
		t.Run(name, func(t *testing.T) {
			config := keeping(t)
			require.NoError(t, os.WriteFile(config.State.File, c.file, 0o600))
			d := &desk{}
			r := startWith(t, config, 1, &scripted{unknown: 0.25}, host{deskID: d})
			errors := r.logs.FilterLevelExact(zapcore.ErrorLevel).All()
			require.Len(t, errors, 1)
			assert.Contains(t, errors[0].ContextMap()["error"], c.says)
			moved, err := os.ReadFile(config.State.File + ".refused")
			require.NoError(t, err)
			assert.Equal(t, c.file, moved)
			assert.Contains(t, r.counters(), "state_writes result=failed: 1")

			b := of("1")
			b.call("f", 1, "ot=th:0;rv:ffffffffffffff")
			assert.Equal(t, 0.25, number(t, spansOf(r.send(b.Traces))[0], methodspan.AttrP))
			table, _ := d.source.Rates(shop1)
			assert.Equal(t, 0.25, *table.Default.P)
			r.stop()
			_, err = statefile.Load(config.State.File)
			assert.NoError(t, err, "a good one takes its place")
		})
	}
}

// A state file that cannot be read can be valid. It is not overwritten, neither at run time nor at shutdown.
func TestState_Unreadable(t *testing.T) {
	for name, place := range map[string]func(file string) error{
		"unreadable": func(file string) error { return os.Symlink(t.TempDir(), file) }, // for root, too
		"immovable": func(file string) error {
			return errors.Join(os.WriteFile(file, []byte("no state"), 0o600), os.MkdirAll(file+".refused", 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := keeping(t)
				file := config.State.File
				require.NoError(t, place(file))
				was, err := os.Lstat(file)
				require.NoError(t, err)
				r := startWith(t, config, 1, &scripted{unknown: 0.5}, host{deskID: &desk{}})
				unchanged := func() {
					is, err := os.Lstat(file)
					require.NoError(t, err)
					require.True(t, os.SameFile(was, is))
				}
				for range 3 {
					time.Sleep(config.State.Interval)
					synctest.Wait()
					unchanged()
				}
				assert.Contains(t, r.counters(), "state_writes result=failed: 4")
				require.Len(t, r.logs.FilterLevelExact(zapcore.ErrorLevel).All(), 1, "it is said once")
				assert.Contains(t, r.logs.All()[0].Message, "not saved while the file is there")
				r.stop()
				unchanged()

				r = startWith(t, config, 1, &scripted{unknown: 0.5}, host{deskID: &desk{}})
				require.NoError(t, os.Rename(file, file+".away"))
				time.Sleep(config.State.Interval)
				synctest.Wait()
				_, err = statefile.Load(file)
				assert.NoError(t, err, "what is learned is saved as soon as the file is away")
				r.stop()
			})
		})
	}
}

func TestState_FileExclusive(t *testing.T) {
	config := keeping(t)
	startWith(t, config, 1, &scripted{}, host{deskID: &desk{}})
	other := build(t, config, 1, &scripted{})
	err := other.processor.Start(context.Background(), host{deskID: &desk{}})
	assert.ErrorContains(t, err, "`state::file` must be one sampler's alone, found ")
	assert.ErrorContains(t, err, "of processors::adaptive_sampler and processors::adaptive_sampler")
	other.stop()
}

// The state of both real strategies survives a restart of the processor.
func TestRestart_RealStrategies(t *testing.T) {
	for _, strategy := range []string{decide.StrategyTiers, decide.StrategyBudget} {
		t.Run(strategy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := keeping(t)
				config.Strategy = strategy
				d := &desk{}
				r := startWith(t, config, 1, strategyOf(config), host{deskID: d})
				for range 10 {
					b := of("1")
					for range 50 {
						b.call("f", 0.01, "")
					}
					counts(b, "f", 5000)
					r.send(b.Traces)
					turn(t)
				}
				was, _ := d.source.Rates(shop1)
				require.NotEmpty(t, was.Methods)
				explained := d.source.Explain(shop1, "f")
				r.stop()
				d = &desk{}
				startWith(t, config, 1, strategyOf(config), host{deskID: d})
				is, _ := d.source.Rates(shop1)
				assert.Equal(t, was.Revision, is.Revision)
				assert.Equal(t, explained[0].RateAsked, d.source.Explain(shop1, "f")[0].RateAsked)
				assert.NotEqual(t, rates.Unseen, d.source.Explain(shop1, "f")[0].State)
			})
		})
	}
}

// A killed sampler continues from the last written state. Its successor makes the decisions that it would have made.
func TestState_ProcessKilled(t *testing.T) {
	for _, strategy := range []string{decide.StrategyTiers, decide.StrategyBudget} {
		t.Run(strategy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				halfPast()
				config := keeping(t)
				config.Strategy, config.State.Interval = strategy, config.Interval+time.Second
				d, successors := &desk{}, &desk{}
				r := startWith(t, config, 1, strategyOf(config), host{deskID: d})
				minute := func(calls int64, all ...*rig) {
					for _, r := range all {
						b := of("1")
						for range 50 {
							b.call("f", 0.01, "")
							b.call("g", 0.5, "")
						}
						counts(b, "f", 5000*calls)
						counts(b, "g", 100)
						r.send(b.Traces)
					}
					turn(t)
				}
				for range 12 {
					minute(1, r)
				}
				minute(20, r)                // belongs to another class from now on
				time.Sleep(20 * time.Second) // the state is written again
				synctest.Wait()
				last, err := os.ReadFile(config.State.File)
				require.NoError(t, err)
				next := *config
				next.State.File = filepath.Join(t.TempDir(), "sampler.state")
				require.NoError(t, os.WriteFile(next.State.File, last, 0o600))
				successor := startWith(t, &next, 1, strategyOf(&next), host{deskID: successors})
				for range 6 {
					minute(20, r, successor)
					was, _ := d.source.Rates(shop1)
					is, _ := successors.source.Rates(shop1)
					assert.Equal(t, was, is)
				}
			})
		})
	}
}

func FuzzDecodeState(f *testing.F) {
	f.Add([]byte(`{"strategy":"budget","learned":"eA==","groups":[{"service":"shop","methods":[{"name":"f","mode":"sample","rate":0.5}]}]}`))
	f.Add([]byte(`{"groups":[{"methods":[{"name":"(overflow)","apart":true,"class":"\u0000"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeState(data)
		if err != nil {
			return
		}
		config := adaptive()
		r := build(t, config, 1, &scripted{unknown: 0.5})
		l := r.processor.(*resends).loop
		l.adoptState(s)
		for m := range l.table.all() {
			require.True(t, m.decision.rate >= 0 && m.decision.rate <= 1)
			require.True(t, m.decision.rate > 0 || m.decision.mode == "off")
		}
		r.stop()
	})
}
