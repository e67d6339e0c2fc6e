package pairs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// Pair is two deployments of a service to compare.
type Pair struct {
	query.Service
	Base, Head Deployment
	ChosenBy   BaseRule
	// Earlier are pairs of deployments before base: what hosts differ by is learned from
	// them where there are few processes.
	Earlier []Pair
}

// BaseRule says why one version is the base and the other the head.
type BaseRule string

const (
	AskedFor       BaseRule = "asked for"
	ByProcessStart BaseRule = "process start"
	ByFirstRow     BaseRule = "first row"
	ByVersionOrder BaseRule = "version order" // nothing says which began first
)

// String says it in words.
func (r BaseRule) String() string {
	switch r {
	case AskedFor:
		return string(r)
	case ByVersionOrder:
		return "chosen by version order, because nothing says which began first"
	}
	return "chosen by " + string(r)
}

// ruleOf is the rule by which one deployment comes before the other.
func ruleOf(base, head *Deployment) BaseRule {
	switch {
	case base.order.Equal(head.order):
		return ByVersionOrder
	case base.byProcess && head.byProcess:
		return ByProcessStart
	}
	return ByFirstRow
}

// Skip says why a service was not compared.
type Skip struct {
	query.Service
	Reason string `json:"reason"`
	// Records are the calls that were measured of it.
	Records int64 `json:"-"`
}

// ErrUnknownVersion means that a version asked for was never seen.
var ErrUnknownVersion = errors.New("version not seen")

// Choose chooses what to compare for every service of the runs. Empty base and
// head mean the newest deployment and the one before it.
func Choose(runs []query.Run, base, head string) ([]Pair, []Skip, error) {
	byService := ByService(runs)
	order := slices.SortedFunc(maps.Keys(byService), func(a, b query.Service) int { return strings.Compare(a.String(), b.String()) })
	var pairs []Pair
	var skips []Skip
	for _, service := range order {
		deployments := Deployments(byService[service])
		pair, reason := choosePair(deployments, base, head)
		if reason == "" {
			reason = apart(&pair.Base, &pair.Head)
		}
		if reason != "" {
			skips = append(skips, Skip{service, reason, measuredIn(byService[service])})
			continue
		}
		pair.Service = service
		pair.Earlier = earlierOf(service, deployments, pair)
		pairs = append(pairs, pair)
	}
	return pairs, skips, checkVersions(runs, base, head)
}

// fewLookedAt is how many pairs with too few measured calls are compared all the same, to say what
// their methods lack. Each takes queries of its own, and anybody may invent services.
const fewLookedAt = 10

// leaveOutFew leaves out pairs of which no method can have as many measured calls of both versions,
// but for those with most.
func leaveOutFew(pairs []Pair, records int64) (out []Pair, skips []Skip) {
	least := func(p Pair) int64 { return min(p.Base.Measured, p.Head.Measured) }
	var few []Pair
	for _, p := range pairs {
		if least(p) < records {
			few = append(few, p)
		}
	}
	_, left := output.Most(few, fewLookedAt, func(a, b Pair) int { return cmp.Compare(least(b), least(a)) })
	leave := make(map[query.Service]bool, len(left))
	for _, p := range left {
		leave[p.Service] = true
		skips = append(skips, Skip{p.Service, fmt.Sprintf("%d calls of version %q and %d of version %q were measured, and a method takes %d of both",
			p.Base.Measured, p.Base.Version, p.Head.Measured, p.Head.Version, records), p.Base.Measured + p.Head.Measured})
	}
	return slices.DeleteFunc(pairs, func(p Pair) bool { return leave[p.Service] }), skips
}

// ByService are the runs of each service.
func ByService(runs []query.Run) map[query.Service][]query.Run {
	out := map[query.Service][]query.Run{}
	for _, r := range runs {
		out[r.Service] = append(out[r.Service], r)
	}
	return out
}

func measuredIn(runs []query.Run) (n int64) {
	for i := range runs {
		n += runs[i].Measured
	}
	return n
}

// apart says why two deployments do not compare: how the spans of one were sampled is known, and
// of the other, for the most part, it is not. So may be what it is that was measured.
func apart(base, head *Deployment) string {
	assumed := func(d *Deployment) bool { return 2*d.Assumed > d.Measured }
	if assumed(base) == assumed(head) {
		return ""
	}
	known, not := base, head
	if assumed(base) {
		known, not = head, base
	}
	return fmt.Sprintf("how spans were sampled is known of version %q and not of %q, so they do not compare: %s", known.Version, not.Version, methodspan.AssumedRemedy)
}

func checkVersions(runs []query.Run, base, head string) error {
	versions := map[string]bool{}
	for i := range runs {
		if v := runs[i].Version; v != "" {
			versions[v] = true
		}
	}
	seen := slices.Sorted(maps.Keys(versions))
	var errs []error
	for _, v := range []struct{ flag, version string }{{"--base", base}, {"--head", head}} {
		if v.version != "" && !versions[v.version] && len(seen) > 0 {
			errs = append(errs, fmt.Errorf("%s: %w in the time looked at: %q (%s)", v.flag, ErrUnknownVersion, v.version, configfile.DidYouMean(v.version, seen)))
		}
	}
	if base != "" && base == head {
		errs = append(errs, fmt.Errorf("--base and --head: want two versions, found %q twice", base))
	}
	return errors.Join(errs...)
}

// choosePair picks the pair among the deployments of one service, sorted by when they
// began, or says why there is none.
func choosePair(deployments []Deployment, base, head string) (Pair, string) {
	if len(deployments) == 0 {
		return Pair{}, "its version is unknown: set service.version"
	}
	i := newest(deployments, func(d Deployment) bool { return head == "" || d.Version == head })
	if i < 0 {
		return Pair{}, fmt.Sprintf("version %q was not seen", head)
	}
	h, before := &deployments[i], deployments[:i]
	if base != "" {
		// Of several deployments the last that began before head's, or any.
		ofBase := func(d Deployment) bool { return d.Version == base }
		j := newest(before, ofBase)
		if j < 0 {
			j = newest(deployments, ofBase)
		}
		if j < 0 {
			return Pair{}, fmt.Sprintf("version %q was not seen", base)
		}
		b := &deployments[j]
		if b.Version == h.Version {
			return Pair{}, fmt.Sprintf("version %q is the newest: name another --head", base)
		}
		if head != "" {
			return Pair{Base: *b, Head: *h, ChosenBy: AskedFor}, ""
		}
		return Pair{Base: *b, Head: *h, ChosenBy: ruleOf(b, h)}, ""
	}
	var b *Deployment
	var seen time.Time
	for i := range before {
		d := &before[i]
		if d.Version == h.Version {
			continue
		}
		last := sooner(h.First, d.Last)
		if b == nil || !last.Before(seen) { // of equal ones the one that began last
			b, seen = d, last
		}
	}
	switch {
	case b != nil:
		return Pair{Base: *b, Head: *h, ChosenBy: ruleOf(b, h)}, ""
	case slices.ContainsFunc(deployments, func(d Deployment) bool { return d.Version != h.Version }):
		return Pair{}, fmt.Sprintf("no version was seen before %q: name --base", h.Version)
	}
	return Pair{}, fmt.Sprintf("only version %q was seen: there is none before it to compare with", h.Version)
}

// newest is the index of the last deployment that matches, or -1.
func newest(deployments []Deployment, match func(Deployment) bool) int {
	for i := len(deployments) - 1; i >= 0; i-- {
		if match(deployments[i]) {
			return i
		}
	}
	return -1
}

// earlierOf pairs the deployments up to the base, each with the one before it.
func earlierOf(service query.Service, deployments []Deployment, p Pair) (out []Pair) {
	for i := len(deployments) - 1; i > 0 && len(out) < earlierPairs; i-- {
		before, d := deployments[i-1], deployments[i]
		if !p.Head.Since.Before(d.Since) && d != p.Head && before.Version != d.Version {
			out = append(out, Pair{Service: service, Base: before, Head: d})
		}
	}
	return out
}
