package evaluation

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/drift"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// alerts returns an alert for each drift confirmed by an evaluation of the last week.
func (h *serviceHistory) alerts(s *Service) ([]alert.Alert, error) {
	var out []alert.Alert
	var week *cost.Day
	for i := range s.Verdicts {
		l := &s.Verdicts[i]
		if l.State != Confirmed {
			continue
		}
		if h.metric == query.CPU && week == nil {
			var err error
			if week, err = h.cost(query.Window{From: h.day(h.Days - 7), To: h.day(h.Days)}); err != nil {
				return nil, err
			}
		}
		usd, basis := usdOfDrift(l, week)
		before, after := h.around(l.began)
		a := alert.Alert{
			Schema: alert.Schema, Kind: alert.Drift,
			ServiceNamespace: h.Namespace, Service: h.Name, Environment: h.Environment,
			Class: l.Class, Method: l.Method, Signature: l.Signature,
			BaseVersion: before.Version, BaseRevision: before.Revision, HeadVersion: after.Version, HeadRevision: after.Revision,
			Metric: string(h.metric), Basis: "standardised", Base: l.base, Head: l.head,
			ChangePercent: *l.ChangePercent, Interval: *l.Interval, Records: l.Records, USDPerDay: usd, USDPerDayBasis: basis,
			FirstSeen: l.began, Owner: l.Owner, Reason: l.sentence(h.metric) + versions(before, after), Links: []string{},
		}
		a.GenericPrice = usd != nil && week.Generic
		a.Severity = alert.SeverityOf(alert.Impact{USDPerDay: usd, Share: l.share})
		a.MarkAssumed(h.assumed)
		a.ID = alert.ID(&a)
		out = append(out, a)
	}
	return out, nil
}

// usdOfDrift returns the additional dollars per day of a method, including the calls it makes, since it changed. It
// uses the week before an evaluation and returns nil without a price.
func usdOfDrift(l *Verdict, week *cost.Day) (usd *float64, basis string) {
	after := 1 + *l.ChangePercent/100
	if l.WholeService {
		usd = week.OfShare(1 - 1/after)
	} else {
		usd = week.OfChange(l.Class, l.Method, true, 1, after)
	}
	if usd != nil {
		basis = week.Basis
	}
	return usd, basis
}

func (l *Verdict) sentence(metric query.Metric) string {
	what := "a rise of %s over 56 days"
	if l.Shape == drift.Jump {
		what = "a step of %s"
	}
	of := "time per call, adjusted for callers and weekdays"
	if l.WholeService {
		of = "time that all methods have in common"
	}
	common := ""
	switch {
	case l.CommonReason != "":
		common = "; the common part was not subtracted: " + l.CommonReason
	case l.CommonPartPercent != nil && math.Abs(*l.CommonPartPercent) >= 0.5:
		common = fmt.Sprintf("; measured %s, of which all methods have %s in common", output.Change(*l.MeasuredChangePercent), output.Change(*l.CommonPartPercent))
	}
	return fmt.Sprintf(what+" (95%% interval %s to %s) in the %s %s, since %s, p %.2g, confirmed by the evaluation of %s",
		output.Change(*l.ChangePercent), output.Change(l.Interval[0]), output.Change(l.Interval[1]), metric, of, *l.Since, *l.P, *l.ConfirmedOn) + common
}

// dated is the maximum error assumed for the date of a drift.
const dated = 3 * 24 * time.Hour

// around returns the newest deployments before and after a day, at a distance of dated. The version is empty where
// none is known.
func (h *serviceHistory) around(day time.Time) (before, after pairs.Deployment) {
	newest := func(at time.Time) (found pairs.Deployment) {
		for _, d := range h.deployments { // sorted by start
			if d.Since.Before(at) {
				found = d
			}
		}
		return found
	}
	return newest(day.Add(-dated)), newest(day.AddDate(0, 0, 1).Add(dated))
}

func versions(before, after pairs.Deployment) string {
	switch {
	case after.Version == "":
		return ""
	case before.Version == "":
		return fmt.Sprintf("; version %s is the first that is known around then", after.Version)
	case before.Version == after.Version:
		return fmt.Sprintf("; version %s ran before and after, so it is not the deployment", after.Version)
	}
	return fmt.Sprintf("; around then version %s came after %s", after.Version, before.Version)
}

// shareOf returns the part of the service's time, in the last week, that the method uses in addition
// since it changed.
func (h *serviceHistory) shareOf(name string, change float64) float64 {
	method, of, whole := int32(slices.Index(h.Methods, name)), 0.0, 0.0
	for i := range h.Rows {
		r := &h.Rows[i]
		if int(r.Day) < h.Days-7 {
			continue
		}
		if r.Method == method {
			of += r.Capped
		}
		if _, inside := h.methods[h.Callers[r.Caller]]; !inside {
			whole += r.Capped
		}
	}
	if method < 0 {
		of = whole
	}
	if !(whole > 0) {
		return 0
	}
	return of / whole * change / (1 + change)
}
