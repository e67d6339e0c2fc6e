package pairs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// Comparison is the result for one service.
type Comparison struct {
	query.Service
	BaseVersion  string   `json:"base_version"`
	HeadVersion  string   `json:"head_version"`
	BaseRevision string   `json:"base_revision"`
	HeadRevision string   `json:"head_revision"`
	ChosenBy     BaseRule `json:"chosen_by"` // the rule that chose base and head
	// GenericPrice is true if processes of the head version are priced by a public list price.
	GenericPrice bool         `json:"generic_price"`
	BaseFrom     time.Time    `json:"base_from"`
	BaseTo       time.Time    `json:"base_to"`
	HeadFrom     time.Time    `json:"head_from"`
	HeadTo       time.Time    `json:"head_to"`
	Metric       query.Metric `json:"metric"`
	// Clusters names the clusters from which the intervals are computed.
	Clusters string `json:"clusters"`
	// WholeService is the verdict on all methods together; null if they were not judged.
	WholeService *evidence.Verdict `json:"whole_service"`
	Spreads      *Spreads          `json:"spreads"` // null with ThresholdRule
	// AssumedShare is the share of the head's measured calls with unknown sampling.
	AssumedShare float64            `json:"assumed_share,omitempty"`
	Warnings     []string           `json:"warnings"`
	Methods      []evidence.Verdict `json:"methods"`
	// Doubtful are the calls per call with enough evidence for an alert that are NotDistinguishable.
	Doubtful []evidence.Verdict `json:"doubtful_calls,omitempty"`
	Alerts   []alert.Alert      `json:"alerts"`

	warmUp evidence.WarmUp
}

// newComparison returns a Comparison with the fields that do not depend on the rule.
func newComparison(p Pair, metric query.Metric, clusters string) *Comparison {
	return &Comparison{
		Service: p.Service, BaseVersion: p.Base.Version, HeadVersion: p.Head.Version,
		BaseRevision: p.Base.Revision, HeadRevision: p.Head.Revision, ChosenBy: p.ChosenBy, GenericPrice: p.Head.ListPrice,
		BaseFrom: p.Base.First, BaseTo: p.Base.Last, HeadFrom: p.Head.First, HeadTo: p.Head.Last,
		Metric: metric, Clusters: clusters, AssumedShare: p.Head.assumedShare(), Warnings: []string{},
	}
}

// alertOf returns the alert of a verdict, without severity and dollars, for both rules.
func (c *Comparison) alertOf(v *evidence.Verdict) alert.Alert {
	a := alert.Alert{
		Schema: alert.Schema, Kind: string(v.Kind), ServiceNamespace: c.Namespace, Service: c.Name, Environment: c.Environment,
		Class: v.Class, Method: v.Method, Signature: v.Signature, Caller: v.Caller,
		BaseVersion: c.BaseVersion, HeadVersion: c.HeadVersion, BaseRevision: c.BaseRevision, HeadRevision: c.HeadRevision,
		Metric: v.Metric, Basis: string(v.Basis), Base: v.BaseNSPerCall, Head: v.HeadNSPerCall, ChangePercent: *v.ChangePercent, Interval: *v.Interval,
		EValue: v.EValue, Records: v.HeadRecords, FirstSeen: c.HeadFrom, Reason: v.Reason, Links: []string{},
	}
	a.ID = alert.ID(&a)
	return a
}

// markPrices marks alerts whose dollars come from a public list price.
func (c *Comparison) markPrices() {
	for i := range c.Alerts {
		c.Alerts[i].GenericPrice = c.GenericPrice && c.Alerts[i].USDPerDay != nil
	}
}

// markAssumed warns in the comparison and its alerts about calls with unknown sampling, whose number is a lower bound.
func (c *Comparison) markAssumed() {
	if c.AssumedShare == 0 {
		return
	}
	c.Warnings = append(c.Warnings, alert.AtLeast(c.AssumedShare))
	for i := range c.Alerts {
		c.Alerts[i].MarkAssumed(c.AssumedShare)
	}
}

// Row is a verdict on a method with the versions that were compared.
type Row struct {
	query.Service
	BaseVersion string `json:"base_version"`
	HeadVersion string `json:"head_version"`
	*evidence.Verdict
}

// Rows returns a row for each method.
func (c *Comparison) Rows() []Row {
	rows := make([]Row, len(c.Methods))
	for i := range c.Methods {
		rows[i] = Row{c.Service, c.BaseVersion, c.HeadVersion, &c.Methods[i]}
	}
	return rows
}

// Records returns the number of measured calls of both versions.
func (c *Comparison) Records() (n int64) {
	for i := range c.Methods {
		n += c.Methods[i].BaseRecords + c.Methods[i].HeadRecords + c.Methods[i].NotCompared
	}
	return n
}

// AlertsFirst orders comparisons with alerts before others, and each group by the number of measured calls.
func AlertsFirst(a, b *Comparison) int {
	return cmp.Or(cmp.Compare(min(1, len(b.Alerts)), min(1, len(a.Alerts))), cmp.Compare(b.Records(), a.Records()))
}

// Judged reports whether any method could be judged.
func (c *Comparison) Judged() bool {
	return slices.ContainsFunc(c.Methods, func(l evidence.Verdict) bool { return l.State.Judged() })
}

// Conclusive reports whether any method could be judged, and neither a method, the calls of one nor the whole service
// is Undecided or NotDistinguishable.
func (c *Comparison) Conclusive() bool {
	open := func(l evidence.Verdict) bool {
		return l.State == evidence.Undecided || l.State == evidence.NotDistinguishable
	}
	return c.Judged() && !slices.ContainsFunc(c.Methods, open) && len(c.Doubtful) == 0 && (c.WholeService == nil || !open(*c.WholeService))
}

// mostOpen is the maximum number of verdicts that Open describes.
const mostOpen = 5

// Open returns a line for each open verdict, with the data that would decide it: for mostOpen of them, or all for top 0.
func (c *Comparison) Open(top int) (lines []string) {
	all := slices.Concat(c.Doubtful, c.Methods)
	if c.WholeService != nil {
		all = append(all, *c.WholeService)
	}
	for i := range all {
		v := &all[i]
		why := "not enough data"
		switch v.State {
		case evidence.NotDistinguishable:
			why = v.Doubt
		case evidence.Undecided:
		default:
			continue
		}
		line := fmt.Sprintf("%s: %s: %s", c.Service, v.Name(), why)
		if v.Needed != nil {
			line += ": " + v.Needed.Text
		}
		lines = append(lines, line)
	}
	lines, more := output.First(lines, min(top, mostOpen))
	return append(lines, output.More(more, fmt.Sprintf("open verdicts of %s", c.Service))...)
}

// resetNewAndGone changes New and Gone to FewRecords if one version has no records at all, because it has only just
// begun or was not measured.
func resetNewAndGone(lines []evidence.Verdict) {
	var base, head int64
	for i := range lines {
		base, head = base+lines[i].BaseRecords, head+lines[i].HeadRecords
	}
	for i := range lines {
		if l := &lines[i]; l.State == evidence.Gone && head == 0 || l.State == evidence.New && base == 0 {
			l.State = evidence.FewRecords
			l.NotCompared += l.BaseRecords + l.HeadRecords
			l.BaseRecords, l.HeadRecords = 0, 0
			for j := range l.Trace.Predicates { // the only predicate is that on records
				l.Trace.Predicates[j].Found = "0 and 0"
			}
		}
	}
}
