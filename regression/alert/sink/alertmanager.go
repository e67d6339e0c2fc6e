package sink

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
)

// AlertmanagerPath is the path to which alerts are posted (API v2).
const AlertmanagerPath = "/api/v2/alerts"

// Alertmanager posts alerts to the Alertmanager. The Alertmanager identifies an alert by its labels, so labels contain
// only fields that are the same in each evaluation. It drops an alert that is not sent again before its end.
type Alertmanager struct {
	name string
	to   *Endpoint
	hold time.Duration
	now  func() time.Time
}

// NewAlertmanager returns a sink for the Alertmanager. A firing alert ends after hold unless it is sent again.
func NewAlertmanager(name string, to *Endpoint, hold time.Duration, now func() time.Time) *Alertmanager {
	return &Alertmanager{name, to, hold, now}
}

// Name implements Sink.
func (a *Alertmanager) Name() string { return a.name }

// Refreshes implements Sink.
func (a *Alertmanager) Refreshes() bool { return true }

// postable is postableAlert of the Alertmanager's OpenAPI document.
type postable struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// Send implements Sink. Severity is a label, so an alert that got worse is a new alert to the Alertmanager. Send therefore
// ends the alerts with the severities that were sent before.
func (a *Alertmanager) Send(ctx context.Context, m alert.Message) error {
	now := a.now().UTC()
	ends := now
	if m.Status == alert.Firing {
		ends = now.Add(a.hold)
	}
	var alerts []postable
	post := func(of *alert.Alert, until time.Time) {
		p := postableOf(of)
		if p.StartsAt.After(now) { // a clock that runs ahead
			p.StartsAt = now
		}
		p.EndsAt = until
		alerts = append(alerts, p)
	}
	for _, told := range m.Alerts {
		post(&told, ends)
		for _, milder := range told.Earlier {
			told.Severity = milder
			post(&told, now)
		}
	}
	body, err := output.Line(alerts)
	if err != nil {
		return permanent("the alerts can't be written: %v", err)
	}
	return a.to.post(ctx, m.ID, body)
}

// alertNames are the values of the alertname label by kind. Routes of the Alertmanager match them.
var alertNames = map[string]string{
	alert.Regression: "CorehourRegression", alert.MoreCalls: "CorehourRegression", alert.WholeService: "CorehourRegression",
	alert.Budget: "CorehourBudget", alert.Drift: "CorehourDrift",
}

// unmentioned replaces marks that would notify a whole channel or open a link if a template of the Alertmanager
// puts a label into a message for Slack. Names such as <init> stay as they are.
var unmentioned = strings.NewReplacer("<!", "‹!", "<@", "‹@", "<#", "‹#", "<http", "‹http", "<mailto", "‹mailto",
	"@here", "＠here", "@channel", "＠channel", "@everyone", "＠everyone")

func postableOf(a *alert.Alert) postable {
	name := alertNames[a.Kind]
	if name == "" {
		name = "Corehour"
	}
	p := postable{Labels: map[string]string{"alertname": name}, Annotations: map[string]string{}, StartsAt: a.FirstSeen.UTC()}
	set := func(into map[string]string, key, value string) {
		if value != "" { // an empty label is no label
			into[key] = cut(unmentioned.Replace(output.Printable(value)))
		}
	}
	for key, value := range map[string]string{
		"corehour_id": a.ID, "kind": a.Kind, "severity": string(a.Severity), "owner": a.Owner, "budget": a.Budget,
		"service_namespace": a.ServiceNamespace, "service": a.Service, "environment": a.Environment,
		"class": a.Class, "method": a.Method, "caller": a.Caller, "base_version": a.BaseVersion, "head_version": a.HeadVersion, "metric": a.Metric,
	} {
		set(p.Labels, key, value)
	}
	for key, value := range map[string]string{
		"summary": a.Headline(nil), "description": a.Reason, "resolution": a.Resolution,
		"base_revision": a.BaseRevision, "head_revision": a.HeadRevision,
		"change_percent": strconv.FormatFloat(a.ChangePercent, 'f', 1, 64),
	} {
		set(p.Annotations, key, value)
	}
	if a.USDPerDay != nil {
		p.Annotations["usd_per_day"] = output.Amount(*a.USDPerDay)
		if a.GenericPrice {
			p.Annotations["generic_price"] = "true"
		}
	}
	if a.AssumedShare > 0 { // the description names the remedy
		p.Annotations["assumed_share"] = strconv.FormatFloat(a.AssumedShare, 'g', 3, 64)
	}
	if len(a.Links) > 0 {
		set(p.Annotations, "link", a.Links[0])
	}
	return p
}

// maxText is the maximum length of a label or an annotation, in bytes.
const maxText = 2048

func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > 0 && s[end]&0xc0 == 0x80 { // inside a UTF-8 character
		end--
	}
	return s[:end] + "..."
}
