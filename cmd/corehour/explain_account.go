package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/comparison"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/verdict"
)

// account is what the warehouse knows of one method of a service in one environment.
type account struct {
	query.MethodName
	// Versions by the first row of each.
	Versions []query.Sampling `json:"versions"`
	// Cost is of all versions; null without a measurement.
	Cost *cost.Line `json:"cost"`
	// Verdict is of the newest version; null where there is none to compare with.
	Verdict *methodVerdict `json:"verdict"`
	// NoVerdict says why there is none.
	NoVerdict string `json:"no_verdict,omitempty"`
	// Drift is the result of the daily evaluations; null where nothing was measured.
	Drift   *evaluation.Line `json:"drift"`
	NoDrift string           `json:"no_drift,omitempty"`
	// What was accepted and muted, and the alerts that were sent.
	Accepted []state.Accepted    `json:"accepted"`
	Silenced []delivery.Silenced `json:"silenced"`
	Open     []state.Open        `json:"open"`
}

// methodVerdict is the line of a method in a comparison, and how it was decided.
type methodVerdict struct {
	verdict.Line
	BaseVersion string           `json:"base_version"`
	HeadVersion string           `json:"head_version"`
	ChosenBy    verdict.BaseRule `json:"chosen_by"`
	Metric      query.Metric     `json:"metric"`
	Compared    string           `json:"compared"`
	AlertIDs    []string         `json:"alert_ids"`
	Alerts      []named          `json:"alerts"`
	judge.Trace
	Warnings []string `json:"comparison_warnings"`
}

// named is an alert of a method, with what its id does not show.
type named struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Caller string `json:"caller,omitempty"`
	// Dollars are those of the alert.
	USDPerDay      *float64 `json:"usd_per_day"`
	USDPerDayBasis string   `json:"usd_per_day_basis,omitempty"`
	GenericPrice   bool     `json:"generic_price,omitempty"`
}

func (n named) String() string {
	text := n.ID + ", " + n.Kind
	if n.Caller != "" {
		text += " by " + n.Caller
	}
	if n.USDPerDay != nil {
		text += fmt.Sprintf(", $%s a day more; %s", output.Priced(n.USDPerDay, n.GenericPrice), n.USDPerDayBasis)
	}
	return text
}

// readAccounts reads the accounts of the method that was asked for, one for each
// environment.
func (e *explainFlags) readAccounts(ctx context.Context) ([]account, error) {
	w, err := e.open(ctx, e.window)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	all, err := w.Sampling(ctx, e.window, e.filter)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, e.nothing(ctx, w)
	}
	accounts, err := e.choose(all)
	if err != nil {
		return nil, err
	}
	for i := range accounts {
		a := &accounts[i]
		costs, err := cost.Compute(ctx, w, cost.Options{Filter: query.Filter{Namespace: a.Namespace, Service: a.Name, Environment: a.Environment}, Now: now()})
		if err != nil {
			return nil, err
		}
		if j := slices.IndexFunc(costs.Methods, func(l cost.Line) bool { return a.isMethod(l.Service, l.Class, l.Method) }); j >= 0 {
			a.Cost = &costs.Methods[j]
		}
		if err := e.judge(ctx, a); err != nil {
			return nil, err
		}
	}
	return accounts, nil
}

func (a *account) isMethod(s query.Service, class, method string) bool {
	return a.Service == s && a.Class == class && a.Method == method
}

// choose finds the one method that is meant: by its whole name, else by its end.
func (e *explainFlags) choose(all []query.Sampling) ([]account, error) {
	name := methodspan.ParseFunction(e.method).Full()
	matching := func(match func(full, name string) bool) (found []query.Sampling) {
		for _, s := range all {
			if (match(s.Full, name) || match(s.Full, e.method)) && (e.version == "" || e.version == s.Version) {
				found = append(found, s)
			}
		}
		return found
	}
	found := matching(func(full, name string) bool { return full == name })
	if len(found) == 0 {
		found = matching(func(full, name string) bool {
			return strings.HasSuffix(full, "."+name) || strings.HasSuffix(full, "/"+name)
		})
	}
	if len(found) == 0 {
		found = matching(strings.EqualFold)
	}
	var names, candidates []string
	var accounts []account
	for _, s := range found {
		candidate := fmt.Sprintf("%s of %s", s.Full, query.Service{Namespace: s.Namespace, Name: s.Name})
		if !slices.Contains(candidates, candidate) {
			candidates = append(candidates, candidate)
		}
		i := slices.IndexFunc(accounts, func(a account) bool { return a.MethodName == s.MethodName })
		if i < 0 {
			i = len(accounts)
			accounts = append(accounts, account{MethodName: s.MethodName, Accepted: []state.Accepted{}, Silenced: []delivery.Silenced{}, Open: []state.Open{}})
		}
		accounts[i].Versions = append(accounts[i].Versions, s)
	}
	switch {
	case len(candidates) > 1:
		const most = 16
		more := ""
		if len(candidates) > most {
			more, candidates = fmt.Sprintf("\nand %d more", len(candidates)-most), candidates[:most]
		}
		return nil, fmt.Errorf("%q may be any of these: give more of the name, or --service:\n%s%s", e.method, strings.Join(candidates, "\n"), more)
	case len(candidates) == 0:
		for _, s := range all {
			names = append(names, s.Full)
		}
		slices.Sort(names)
		hint := configfile.DidYouMean(name, slices.Compact(names))
		if hint != "" {
			hint = ": " + hint
		}
		return nil, fmt.Errorf("%w: no method %q %s%s", query.ErrNoData, e.method, e.window.Span(e.zone), hint)
	}
	for i := range accounts {
		slices.SortFunc(accounts[i].Versions, func(a, b query.Sampling) int { return a.First.Compare(b.First) })
	}
	return accounts, nil
}

// judge adds the verdicts of regress and drift, and what was accepted, muted and sent.
func (e *explainFlags) judge(ctx context.Context, a *account) error {
	of := *e.common
	of.filter = query.Filter{Namespace: a.Namespace, Service: a.Name, Environment: a.Environment}
	r := &regressFlags{evaluationFlags: evaluationFlags{common: &of, delivery: e.delivery}, options: e.options, rule: verdict.EvidenceRule{}}
	found, err := r.evaluate(ctx)
	if err != nil {
		return err
	}
	known, err := e.delivery.router.Store.Read()
	if err != nil {
		return err
	}
	sorted, err := e.delivery.router.Sort(delivery.Findings{Alerts: found.Alerts, ThresholdPercent: found.Threshold})
	if err != nil {
		return err
	}
	for _, s := range sorted.Silenced {
		if s.Class == a.Class && s.Method == a.Method {
			a.Silenced = append(a.Silenced, s)
		}
	}
	for _, x := range known.Accepted {
		if a.isMethod(query.Service{Namespace: x.ServiceNamespace, Name: x.Service, Environment: x.Environment}, x.Class, x.Method) {
			a.Accepted = append(a.Accepted, x)
		}
	}
	for _, o := range known.Open {
		x := &o.Alert
		if a.isMethod(query.Service{Namespace: x.ServiceNamespace, Name: x.Service, Environment: x.Environment}, x.Class, x.Method) {
			a.Open = append(a.Open, o)
		}
	}
	a.compared(found)
	return a.drifted(ctx, of)
}

// compared finds the method in the newest comparison.
func (a *account) compared(found *comparison.Findings) {
	for _, s := range found.NotCompared {
		if s.Service == a.Service {
			a.NoVerdict = s.Reason
		}
	}
	for _, c := range found.Comparisons {
		if c.Service != a.Service {
			continue
		}
		a.NoVerdict = fmt.Sprintf("neither version %s nor version %s called it", c.BaseVersion, c.HeadVersion)
		for i := range c.Methods {
			l := &c.Methods[i]
			if l.Class != a.Class || l.Method != a.Method {
				continue
			}
			v := &methodVerdict{
				Line: *l, BaseVersion: c.BaseVersion, HeadVersion: c.HeadVersion, ChosenBy: c.ChosenBy, Metric: c.Metric, Compared: c.Clusters, Trace: l.Trace,
				AlertIDs: []string{}, Alerts: []named{}, Warnings: slices.Concat(l.Warnings, c.Warnings),
			}
			for _, alert := range c.Alerts {
				if alert.Class == l.Class && alert.Method == l.Method {
					v.AlertIDs = append(v.AlertIDs, alert.ID)
					v.Alerts = append(v.Alerts, named{alert.ID, alert.Kind, alert.Caller, alert.USDPerDay, alert.USDPerDayBasis, alert.GenericPrice})
				}
			}
			a.Verdict, a.NoVerdict = v, ""
		}
	}
}

// drifted replays the daily evaluations of the service.
func (a *account) drifted(ctx context.Context, of common) error {
	end := of.window.To
	if end.IsZero() || end.After(now()) {
		end = now()
	}
	of.window.From = end.AddDate(0, 0, -driftDays)
	d := &driftFlags{evaluationFlags: evaluationFlags{common: &of}}
	found, err := d.evaluateWarehouse(ctx)
	if errors.Is(err, query.ErrNoData) {
		a.NoDrift = "too little history: no closed day with measured calls"
		return nil
	}
	if err != nil {
		return err
	}
	for _, s := range found.Services {
		if s.Service != a.Service {
			continue
		}
		a.NoDrift = s.Missing
		for i := range s.Lines {
			if l := &s.Lines[i]; l.Class == a.Class && l.Method == a.Method && !l.WholeService {
				a.Drift = l
				return nil
			}
		}
	}
	return nil
}

// driftDays are enough for nine evaluations and for what earlier ones found.
const driftDays = 126
