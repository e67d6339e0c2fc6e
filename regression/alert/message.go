package alert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Status is the status of a message: firing or resolved.
type Status string

const (
	Firing   Status = "firing"
	Resolved Status = "resolved"
)

// MaxInMessage is the maximum number of alerts in one message; the rest go into further messages.
const MaxInMessage = 100

// Message is the unit that sinks send: the alerts of one deployment or the drifts of one service, most expensive
// first. A message of drifts names no versions.
type Message struct {
	Schema           int    `json:"schema"`
	ID               string `json:"id"`
	Status           Status `json:"status"`
	Kind             string `json:"kind"`
	ServiceNamespace string `json:"service_namespace"`
	Service          string `json:"service"`
	Environment      string `json:"environment"`
	BaseVersion      string `json:"base_version"`
	HeadVersion      string `json:"head_version"`
	BaseRevision     string `json:"base_revision"`
	HeadRevision     string `json:"head_revision"`
	// USDPerDay is the sum over the alerts; null if no alert has dollars.
	USDPerDay *float64 `json:"usd_per_day"`
	// GenericPrice is set if part of the sum uses a public list price.
	GenericPrice bool    `json:"generic_price,omitempty"`
	Alerts       []Alert `json:"alerts"`
}

// deployment is the key by which alerts are grouped into messages.
type deployment struct {
	kind, namespace, service, environment, base, head string
}

func deploymentOf(a *Alert) deployment {
	kind := a.Kind
	switch kind {
	case Drift:
		return deployment{kind: kind, namespace: a.ServiceNamespace, service: a.Service, environment: a.Environment}
	case MoreCalls, WholeService:
		kind = Regression // found by the same comparison
	}
	return deployment{kind, a.ServiceNamespace, a.Service, a.Environment, a.BaseVersion, a.HeadVersion}
}

// Messages makes one message for each deployment, the most expensive first.
func Messages(status Status, alerts []Alert) []Message {
	alerts = slices.Clone(alerts)
	slices.SortStableFunc(alerts, MoreExpensive)
	at := map[deployment]int{} // index of the last message of each deployment
	var out []Message
	for i := range alerts {
		a := &alerts[i]
		j, ok := at[deploymentOf(a)]
		if !ok || len(out[j].Alerts) == MaxInMessage {
			j = len(out)
			at[deploymentOf(a)] = j
			out = append(out, Message{
				Schema: Schema, Status: status, Kind: deploymentOf(a).kind,
				ServiceNamespace: a.ServiceNamespace, Service: a.Service, Environment: a.Environment,
			})
			if m := &out[j]; a.Kind != Drift {
				m.BaseVersion, m.HeadVersion, m.BaseRevision, m.HeadRevision = a.BaseVersion, a.HeadVersion, a.BaseRevision, a.HeadRevision
			}
		}
		m := &out[j]
		m.Alerts = append(m.Alerts, *a)
		if a.USDPerDay != nil {
			sum := *a.USDPerDay
			if m.USDPerDay != nil {
				sum += *m.USDPerDay
			}
			m.USDPerDay = &sum
			m.GenericPrice = m.GenericPrice || a.GenericPrice
		}
	}
	for i := range out {
		out[i].ID = out[i].id()
	}
	slices.SortStableFunc(out, func(a, b Message) int { return descending(a.USDPerDay, b.USDPerDay) })
	return out
}

// id returns an id that depends on the alerts and not on their order. An alert that got worse, or that returned after
// its end, changes the id, so that receivers that drop duplicates do not drop it.
func (m *Message) id() string {
	ids := make([]string, len(m.Alerts))
	for i, a := range m.Alerts {
		ids[i] = fmt.Sprintf("%s %s %d", a.ID, a.Severity, a.RaisedAt.UnixNano())
	}
	slices.Sort(ids)
	sum := sha256.New()
	for _, part := range append([]string{string(m.Status)}, ids...) {
		sum.Write([]byte(part + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// MoreExpensive orders alerts by dollars per day, then by change. Alerts without a price come last.
func MoreExpensive(a, b Alert) int {
	return cmp.Or(descending(a.USDPerDay, b.USDPerDay), cmp.Compare(b.ChangePercent, a.ChangePercent), cmp.Compare(a.ID, b.ID))
}

func descending(a, b *float64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*b, *a)
}
