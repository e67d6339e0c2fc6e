package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/findings"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// Account is all that the warehouse knows about one method of a service in one environment.
type Account struct {
	query.MethodName
	// Versions are ordered by the time of their first row.
	Versions []query.Sampling `json:"versions"`
	// Cost covers all versions; null without a measurement.
	Cost *cost.Line `json:"cost"`
	// Verdict is about the newest version; null if there is no verdict.
	Verdict *Verdict `json:"verdict"`
	// NoVerdict is the reason for a null Verdict.
	NoVerdict string `json:"no_verdict,omitempty"`
	// Drift is the result of the daily evaluations; null if nothing was measured.
	Drift   *evaluation.Verdict `json:"drift"`
	NoDrift string              `json:"no_drift,omitempty"`
	// The accepted changes, the muted alerts and the alerts that were sent.
	Accepted []state.Acceptance       `json:"accepted"`
	Silenced []delivery.SilencedAlert `json:"silenced"`
	Open     []state.OpenAlert        `json:"open"`
}

// Verdict is the line of a method in a comparison, with the trace of the decision.
type Verdict struct {
	evidence.Verdict
	BaseVersion string         `json:"base_version"`
	HeadVersion string         `json:"head_version"`
	ChosenBy    pairs.BaseRule `json:"chosen_by"`
	Metric      query.Metric   `json:"metric"`
	Compared    string         `json:"compared"`
	AlertIDs    []string       `json:"alert_ids"`
	Alerts      []named        `json:"alerts"`
	evidence.Trace
	Warnings []string `json:"comparison_warnings"`
}

// named is an alert of a method, with the details that its id does not show.
type named struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Caller string `json:"caller,omitempty"`
	// USDPerDay is the field of the same name of the alert.
	USDPerDay      *float64 `json:"usd_per_day"`
	USDPerDayBasis string   `json:"usd_per_day_basis,omitempty"`
	GenericPrice   bool     `json:"generic_price,omitempty"`

	headline string
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

// Options choose the method, the window and the sources to read.
type Options struct {
	Method  string // as the user typed it
	Version string // empty = all
	Window  query.Window
	Filter  query.Filter
	Zone    *time.Location // time zone of printed times
	Now     time.Time
	Verdict pairs.Options
	// Alerts gives access to the state of alerts and to what is muted. Nothing is sent.
	Alerts *delivery.Dispatcher
	// Open opens the warehouse for a window.
	Open func(context.Context, query.Window) (*query.Warehouse, error)
}

// Accounts returns the accounts of the method that o.Method names, one for each environment. It fails with
// query.ErrNoData if there is no such method, and with the candidates if the name is ambiguous.
func Accounts(ctx context.Context, o Options) ([]Account, error) {
	w, err := o.Open(ctx, o.Window)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	all, err := w.Sampling(ctx, o.Window, o.Filter)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, w.NoRowsError(ctx, o.Filter, o.Window, o.Zone)
	}
	accounts, err := o.choose(all)
	if err != nil {
		return nil, err
	}
	for i := range accounts {
		a := &accounts[i]
		o.Filter = query.Filter{Namespace: a.Namespace, Service: a.Name, Environment: a.Environment}
		costs, err := cost.Compute(ctx, w, cost.Options{Filter: o.Filter})
		if err != nil {
			return nil, err
		}
		if j := slices.IndexFunc(costs.Methods, func(l cost.Line) bool { return a.isMethod(l.Service, l.Class, l.Method) }); j >= 0 {
			a.Cost = &costs.Methods[j]
		}
		if err := a.judge(ctx, o); err != nil {
			return nil, err
		}
	}
	return accounts, nil
}

func (a *Account) isMethod(s query.Service, class, method string) bool {
	return a.Service == s && a.Class == class && a.Method == method
}

// judge adds the results of regress and drift, and the accepted, muted and sent alerts.
func (a *Account) judge(ctx context.Context, o Options) error {
	found, err := o.compare(ctx)
	if err != nil {
		return err
	}
	known, err := o.Alerts.Store.Read()
	if err != nil {
		return err
	}
	sorted, err := o.Alerts.Sort(found.Alerts, found.Threshold)
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
	return a.drifted(ctx, o)
}

// compare compares the versions of the service.
func (o *Options) compare(ctx context.Context) (*findings.Findings, error) {
	w, err := o.Open(ctx, o.Window)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	o.Verdict.AsOf = o.Now
	found, err := findings.Evaluate(ctx, w, o.Filter, pairs.EvidenceRule{}, o.Verdict)
	if err == nil && found == nil {
		err = w.NoRowsError(ctx, o.Filter, o.Window, o.Zone)
	}
	return found, err
}

// compared sets Verdict, or NoVerdict, from the comparison of the method's service.
func (a *Account) compared(found *findings.Findings) {
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
			v := &Verdict{
				Verdict: *l, BaseVersion: c.BaseVersion, HeadVersion: c.HeadVersion, ChosenBy: c.ChosenBy, Metric: c.Metric, Compared: c.Clusters, Trace: l.Trace,
				AlertIDs: []string{}, Alerts: []named{}, Warnings: slices.Concat(l.Warnings, c.Warnings),
			}
			for _, alert := range c.Alerts {
				if alert.Class == l.Class && alert.Method == l.Method {
					v.AlertIDs = append(v.AlertIDs, alert.ID)
					v.Alerts = append(v.Alerts, named{alert.ID, alert.Kind, alert.Caller, alert.USDPerDay, alert.USDPerDayBasis, alert.GenericPrice, alert.Headline(nil)})
				}
			}
			a.Verdict, a.NoVerdict = v, ""
		}
	}
}

// drifted sets Drift, or NoDrift, by replaying the daily evaluations of the service.
func (a *Account) drifted(ctx context.Context, o Options) error {
	end := o.Window.To
	if end.IsZero() || end.After(o.Now) {
		end = o.Now
	}
	found, err := evaluation.Evaluate(ctx, evaluation.Options{
		Window: query.Window{From: end.AddDate(0, 0, -driftDays), To: o.Window.To}, Filter: o.Filter, Now: o.Now, Zone: o.Zone, Open: o.Open,
	})
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
		for i := range s.Verdicts {
			if l := &s.Verdicts[i]; l.Class == a.Class && l.Method == a.Method && !l.WholeService {
				a.Drift = l
				return nil
			}
		}
	}
	return nil
}

// driftDays is the length of the history to read: enough for nine evaluations and the findings of earlier ones.
const driftDays = 126
