package cost

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// tenant is a process on a host: its resource attributes and its usage within one hour.
type tenant struct {
	namespace, service, instance string
	cloud, host, id              string
	cores, limit, own            float64 // cores of the host, CPU limit of the container, GOMAXPROCS
	cpu                          time.Duration
	every                        time.Duration // length of its rows, by default a minute
	from, to                     int           // minutes of the day; each costs 10 cents per core hour
}

// street returns a warehouse with one row per minute of each process.
func street(t *testing.T, tenants []tenant) string {
	t.Helper()
	day := fixture.Start.Truncate(24 * time.Hour)
	var commits [][]methodspan.Item
	for _, x := range tenants {
		p := fixture.NewProcess("1", x.instance, day)
		p.Price = 0.1
		r := p.Resource
		r.ServiceNamespace, r.Service, r.CloudProvider, r.Host, r.HostID = x.namespace, x.service, x.cloud, x.host, x.id
		if x.to == 0 {
			x.to = 60
		}
		for m := x.from; m < x.to; m++ {
			at := day.Add(time.Duration(m) * time.Minute)
			p.Counts("a.B", at, time.Minute, 3)
			row := p.Beat(at, cmp.Or(x.every, time.Minute), x.cpu/60, m == x.to-1)
			row.Process.Cores, row.Process.HostCores, row.Process.CPULimit = x.own, x.cores, x.limit
		}
		commits = append(commits, []methodspan.Item{p.Item()})
	}
	return fixture.Write(t, commits...)
}

// onDate computes the costs of the date of street, of one service or of all.
func onDate(t *testing.T, root, service string) *Table {
	t.Helper()
	return computeWith(t, root, Options{Window: date, Filter: query.Filter{Service: service}, Wall: true})
}

// paidBy returns the paid core hours by namespace/service.
func paidBy(t *testing.T, r *Table) map[string]float64 {
	t.Helper()
	paid := map[string]float64{}
	for i := range r.Services {
		s := &r.Services[i]
		name := s.Namespace + "/" + s.Name
		if s.PaidCoreHours == nil || s.PaidUSD == nil {
			t.Fatalf("%s pays %v core hours, %v dollars", name, s.PaidCoreHours, s.PaidUSD)
		}
		if math.Abs(*s.PaidUSD-0.1**s.PaidCoreHours) > 1e-9 || math.Abs(*s.IdleCoreHours-(*s.PaidCoreHours-*s.ProcessCoreHours)) > 1e-9 || *s.IdleCoreHours < -1e-9 {
			t.Errorf("%s: %+v", name, s)
		}
		paid[name] = *s.PaidCoreHours
	}
	return paid
}

// A service pays the same in raw rows and in rollups, and with a filter as without. Short runs read raw rows only.
func TestCost_BillOfHost(t *testing.T) {
	hour := time.Hour
	for _, c := range []struct {
		name    string
		tenants []tenant
		want    map[string]float64 // paid core hours of the hour
		note    string
	}{
		{"several processes of a service share a host", []tenant{
			{service: "shop", instance: "a", id: "h", cores: 2, own: 2, cpu: hour / 4},
			{service: "shop", instance: "b", id: "h", cores: 2, own: 2, cpu: hour / 4},
			{service: "shop", instance: "c", id: "h", cores: 2, own: 2, cpu: hour / 2},
		}, map[string]float64{"/shop": 2}, "idle cores of a host are shared"},
		{"several services share its idle cores by CPU used", []tenant{
			{service: "shop", instance: "a", id: "h", cores: 2, own: 2, cpu: hour / 2},
			{service: "tax", instance: "b", id: "h", cores: 2, own: 2, cpu: hour / 4},
			{service: "log", instance: "c", id: "h", cores: 2, own: 2, cpu: hour / 4},
		}, map[string]float64{"/shop": 1, "/tax": 0.5, "/log": 0.5}, "idle cores of a host are shared"},
		{"and by time where none used any", []tenant{
			{service: "shop", instance: "a", id: "h", cores: 2, own: 2},
			{service: "tax", instance: "b", id: "h", cores: 2, own: 2, from: 30},
		}, map[string]float64{"/shop": 4.0 / 3, "/tax": 2.0 / 3}, ""},
		{"a host is paid while one of its processes runs", []tenant{
			{service: "shop", instance: "a", id: "h", cores: 2, own: 2, cpu: hour / 4, to: 20},
			{service: "tax", instance: "b", id: "h", cores: 2, own: 2, cpu: hour / 4, from: 10, to: 30},
		}, map[string]float64{"/shop": 0.5, "/tax": 0.5}, ""},
		{"a container pays its limit", []tenant{
			{service: "shop", instance: "a", id: "h", cores: 8, limit: 0.5, own: 1, cpu: hour / 4},
			{service: "tax", instance: "b", id: "h", cores: 8, limit: 1.5, own: 2, cpu: hour},
		}, map[string]float64{"/shop": 0.5, "/tax": 1.5}, "the only one of its container"},
		{"the rest of a host is paid by those without a limit", []tenant{
			{service: "shop", instance: "a", id: "h", cores: 8, limit: 2, own: 2, cpu: hour},
			{service: "tax", instance: "b", id: "h", cores: 8, own: 8, cpu: hour},
		}, map[string]float64{"/shop": 2, "/tax": 6}, ""},
		{"limits above the host are cut to it, not below the CPU used", []tenant{
			{service: "shop", instance: "a", id: "h", cores: 2, limit: 2, own: 2, cpu: hour / 2},
			{service: "tax", instance: "b", id: "h", cores: 2, limit: 2, own: 2, cpu: hour / 2},
			{service: "log", instance: "c", id: "h", cores: 2, own: 2, cpu: hour / 4},
		}, map[string]float64{"/shop": 0.875, "/tax": 0.875, "/log": 0.25}, ""},
		{"a host known by name", []tenant{
			{service: "shop", instance: "a", host: "web-1", cores: 2, own: 2, cpu: hour / 4},
			{service: "tax", instance: "b", host: "web-1", cores: 2, own: 2, cpu: hour / 4},
		}, map[string]float64{"/shop": 1, "/tax": 1}, "assumed for 120 of 120 intervals of processes: hosts of one name"},
		{"a host that two clouds name alike", []tenant{
			{service: "shop", instance: "a", cloud: "aws", host: "web-1", cores: 2, own: 2, cpu: hour / 4},
			{service: "tax", instance: "b", cloud: "gcp", host: "web-1", cores: 4, own: 4, cpu: hour / 4},
		}, map[string]float64{"/shop": 2, "/tax": 4}, ""},
		{"an unknown host", []tenant{
			{service: "shop", instance: "a", cores: 2, own: 2, cpu: hour / 4},
			{service: "tax", instance: "b", cores: 2, own: 2, cpu: hour / 4},
		}, map[string]float64{"/shop": 2, "/tax": 2}, "assumed for 120 of 120 intervals of processes: no host is known"},
		{"rows that do not say the cores of their host", []tenant{
			{service: "shop", instance: "a", host: "web-1", own: 2, cpu: hour / 4},
			{service: "tax", instance: "b", host: "web-1", own: 2, cpu: hour / 4},
		}, map[string]float64{"/shop": 2, "/tax": 2}, "each process pays its own cores x time"},
		{"two tenants name the same host", []tenant{
			{namespace: "store", service: "shop", instance: "a", id: "h", cores: 2, own: 2, cpu: hour / 4},
			{namespace: "bank", service: "tax", instance: "b", id: "h", cores: 2, own: 2, cpu: hour / 2},
			{namespace: "bank", service: "log", instance: "c", id: "h", cores: 2, own: 2, cpu: hour / 2},
		}, map[string]float64{"store/shop": 2, "bank/tax": 1, "bank/log": 1}, ""},
		{"a neighbour that states other cores is on another host", []tenant{
			{service: "shop", instance: "a", id: "h", cores: 2, own: 2, cpu: hour / 4},
			{service: "tax", instance: "b", id: "h", cores: 1000, own: 1000, cpu: hour / 4},
		}, map[string]float64{"/shop": 2, "/tax": 1000}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := street(t, c.tenants)
			check := func(what string, paid map[string]float64) {
				t.Helper()
				for service, want := range c.want {
					if math.Abs(paid[service]-want) > 1e-9*want {
						t.Errorf("%s: %s pays %v core hours, want %v", what, service, paid[service], want)
					}
				}
			}
			r := onDate(t, root, "")
			if notes := strings.Join(r.hostNotes(), "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("%q is missing: %s", c.note, notes)
			}
			if check("raw", paidBy(t, r)); len(r.Services) != len(c.want) {
				t.Errorf("%+v", r.Services)
			}
			if testing.Short() {
				return
			}
			rollUp(t, root, levels[2].policy)
			paid := paidBy(t, onDate(t, root, ""))
			check("hour", paid)
			for service := range c.want {
				_, name, _ := strings.Cut(service, "/")
				for of, hours := range paidBy(t, onDate(t, root, name)) {
					if of != service || math.Abs(hours/paid[service]-1) > 1e-9 {
						t.Errorf("only %s: %s pays %v core hours, want %v", service, of, hours, paid[service])
					}
				}
			}
		})
	}
}

// A neighbour on the same host and in the same namespace can change only the idle cores of a service, whatever it
// reports. They stay between none and all of the host's.
func TestCost_NeighbourChangesIdleCoresOnly(t *testing.T) {
	victims := []tenant{
		{service: "shop", instance: "a", id: "h", cores: 4, own: 4, cpu: time.Hour},
		{service: "shop", instance: "b", id: "h", cores: 4, own: 4, limit: 1, cpu: time.Hour / 4},
	}
	figures := func(neighbours ...tenant) (rest string, idle, paid float64) {
		t.Helper()
		r := onDate(t, street(t, append(neighbours, victims...)), "shop")
		s := &r.Services[0]
		idle, paid = *s.IdleCoreHours, *s.PaidCoreHours
		s.IdleCoreHours, s.PaidCoreHours, s.IdleUSD, s.PaidUSD = nil, nil, nil, nil
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), idle, paid
	}
	alone, _, whole := figures()
	if math.Abs(whole-4) > 1e-9 {
		t.Errorf("alone it pays %v core hours, want 4", whole)
	}
	neighbours := []tenant{
		{cores: 4, own: 4, every: 48 * time.Hour, cpu: time.Hour},
		{cores: 65536, own: 65536, cpu: time.Hour},
		{cores: 4, own: 4, cpu: 4 * time.Hour},
		{cores: 4, own: 4},
		{cores: 4, own: 4, limit: 4, cpu: time.Hour},
		{cores: 4, own: 4, limit: 65536},
		{cores: 1, own: 1, cpu: time.Hour},
		{cores: 4, own: 4, every: 48 * time.Hour},
	}
	if testing.Short() {
		neighbours = neighbours[:2]
	}
	for _, x := range neighbours {
		x.service, x.instance, x.id = "neighbour", "n", "h"
		rest, idle, paid := figures(x)
		if rest != alone {
			t.Errorf("%+v: the other figures are\n%s\nwant\n%s", x, rest, alone)
		}
		if idle < -1e-9 || paid > 4*(1+1.0/60)+1e-9 {
			t.Errorf("%+v: it pays %v core hours, %v of them idle", x, paid, idle)
		}
	}
}

// Hours in which no process ran on a host are not paid for, in raw rows and in rollups. The rows of another service do
// not interrupt the interval of a service.
func TestCost_HoursWithoutProcesses(t *testing.T) {
	root := street(t, []tenant{
		{service: "shop", instance: "a", id: "h", cores: 4, own: 4, cpu: time.Hour, from: 0, to: 5},
		{service: "shop", instance: "b", id: "h", cores: 4, own: 4, cpu: time.Hour, from: 50, to: 55},
		{service: "tax", instance: "c", id: "h", cores: 4, own: 4, cpu: time.Hour, from: 53, to: 65},
	})
	for _, level := range levels {
		if level.name != "raw" {
			rollUp(t, root, level.policy)
		}
		r := onDate(t, root, "")
		if paid := paidBy(t, r); math.Abs(paid["/shop"]+paid["/tax"]-4*20.0/60) > 1e-9 {
			t.Errorf("%s: %v, want 20 minutes of 4 cores", level.name, paid)
		}
		if h := r.Services[0].Hosts; h.ByProcess+h.ByName+h.Limited != 0 || h.Intervals == 0 {
			t.Errorf("%s: %+v", level.name, h)
		}
	}
}
