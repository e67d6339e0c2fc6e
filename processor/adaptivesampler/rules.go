package adaptivesampler

import (
	"strings"
	"sync"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
)

const (
	// maxCached bounds the methods whose decision is remembered; the decisions
	// of others are worked out for each span.
	maxCached = 1 << 16

	// maxCachedName keeps senders that are not behind method_spans, which bounds
	// names, from filling memory with long ones.
	maxCachedName = 2048
)

// decision is what is done with the measurements of a method.
type decision struct {
	rate      float64 // 0 = off
	threshold sampling.Threshold
	tvalue    string // the threshold as it stands in trace states
	tier      string
	reason    string
	label     int // of the tier, in metrics
}

func newDecision(rule *methodfile.Rule, defaultRate float64, label func(tier string) int) *decision {
	d := &decision{rate: rule.Rate, tier: rule.Tier, reason: rule.Reason, label: label(rule.Tier)}
	if rule.Mode == methodfile.ModeOff {
		d.rate = 0
		return d
	}
	if d.rate == 0 {
		d.rate = rule.Bound(defaultRate)
		if rule.Index < 0 {
			d.reason = "default_rate"
		}
	}
	d.threshold = methodspan.ThresholdOf(d.rate)
	d.tvalue = d.threshold.TValue()
	return d
}

func (d *decision) off() bool { return d.rate == 0 }

// rules are one state of the method file.
type rules struct {
	matcher   *methodfile.Matcher
	decisions map[*methodfile.Rule]*decision
	otherwise *decision // for methods that no entry matches

	mu     sync.RWMutex
	cached map[methodKey]*decision
}

// methodKey is a method as a span spells it: by a qualified name, or, with apart
// set, by class and method.
type methodKey struct {
	function, class, signature string
	apart                      bool
}

func (k methodKey) parse() methodspan.Function {
	f := methodspan.Function{Class: k.class, Method: k.function}
	if !k.apart {
		f = methodspan.ParseFunction(k.function)
	}
	if k.signature != "" {
		f.Signature = k.signature
	}
	return f
}

func (k methodKey) clone() methodKey {
	return methodKey{strings.Clone(k.function), strings.Clone(k.class), strings.Clone(k.signature), k.apart}
}

// compile prepares all decisions of a file.
func compile(file *methodfile.File, defaultRate float64, label func(tier string) int) *rules {
	r := &rules{
		matcher:   &file.Matcher,
		decisions: make(map[*methodfile.Rule]*decision, file.Len()),
		otherwise: newDecision(&file.Default, defaultRate, label),
		cached:    make(map[methodKey]*decision),
	}
	for rule := range file.All() {
		r.decisions[rule] = newDecision(rule, defaultRate, label)
	}
	return r
}

// withoutFile gives every method the default rate.
func withoutFile(defaultRate float64, label func(tier string) int) *rules {
	return compile(&methodfile.File{Default: methodfile.Rule{Index: -1, Max: 1}}, defaultRate, label)
}

func (r *rules) decide(key methodKey) *decision {
	if rule, ok := r.matcher.Lookup(key.parse()); ok {
		return r.decisions[rule]
	}
	return r.otherwise
}

// reading is the use of the rules by one batch. It holds the cache for reading
// from begin to end, which costs less than a lock for each span.
type reading struct {
	rules *rules
	found map[methodKey]*decision // not in the cache yet
	full  int64                   // spans that found the cache full
}

func (r *rules) begin() reading {
	r.mu.RLock()
	return reading{rules: r}
}

func (r *reading) lookup(key methodKey) *decision {
	if d, ok := r.rules.cached[key]; ok {
		return d
	}
	if d, ok := r.found[key]; ok {
		return d
	}
	d := r.rules.decide(key)
	if len(r.rules.cached)+len(r.found) >= maxCached || len(key.function)+len(key.class)+len(key.signature) > maxCachedName {
		r.full++
		return d
	}
	if r.found == nil {
		r.found = make(map[methodKey]*decision)
	}
	r.found[key] = d
	return d
}

// end gives up the cache and adds to it what was missing, in memory of its own:
// the names belong to the batch.
func (r *reading) end() {
	r.rules.mu.RUnlock()
	if len(r.found) == 0 {
		return
	}
	r.rules.mu.Lock()
	defer r.rules.mu.Unlock()
	for key, d := range r.found {
		if len(r.rules.cached) < maxCached {
			r.rules.cached[key.clone()] = d
		}
	}
}
