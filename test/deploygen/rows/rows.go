// Package rows writes drawn deployments into warehouses for the real command to read.
//
// Its invariant: the rows are those that processes with our SDK send, without losses: counts of all calls,
// measured calls with their sampling probability, and the CPU time of the process, each minute. It draws
// nothing itself.
package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/deploygen"
)

// usdPerCoreHour is the price of all processes.
const usdPerCoreHour = 0.05

// commitRows is the number of rows after which the writer commits.
const commitRows = 100_000

// Write adds a deployment to the warehouse in dir, under the service name service.
func Write(ctx context.Context, dir, service string, d *deploygen.Deployment) (err error) {
	end := d.Begin.Add(d.Duration + time.Minute)
	w, err := table.NewWriter(dir, table.Options{Now: func() time.Time { return end }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var pending []methodspan.Item
	rows := 0
	commit := func() error {
		if len(pending) == 0 {
			return nil
		}
		_, err := w.Write(ctx, pending)
		pending, rows = nil, 0
		return err
	}
	for i := range d.Processes {
		for _, item := range Items(service, d, i) {
			pending = append(pending, item)
			rows += len(item.Rows)
			if rows >= commitRows {
				if err := commit(); err != nil {
					return err
				}
			}
		}
	}
	return commit()
}

// Items returns the items that one process of a deployment sends, one per minute.
func Items(service string, d *deploygen.Deployment, process int) []methodspan.Item {
	functions := make([]methodspan.Function, len(d.Methods))
	for m := range d.Methods {
		functions[m] = methodspan.ParseFunction(d.Methods[m].Name)
	}
	measured := make([][]deploygen.Call, d.Minutes())
	d.EachOf(process, func(c deploygen.Call) {
		minute := int(c.At / time.Minute)
		measured[minute] = append(measured[minute], c)
	})
	p := d.Processes[process]
	price := usdPerCoreHour
	resource := &methodspan.Resource{
		ServiceNamespace: "scenes", Service: service, Version: p.Version, Environment: "production",
		Instance: p.ID, Host: d.Hosts[p.Host].Name, ProcessStartNS: p.Start.UnixNano(),
	}
	calls, total := make([]int64, len(d.Methods)), int64(0)
	items := make([]methodspan.Item, d.Minutes())
	for t, cpu := range d.CPU(process) {
		id := fmt.Sprintf("%s-%d", resource.Key().Hash(), t+1)
		start := d.Begin.Add(time.Duration(t) * time.Minute)
		rows := make([]methodspan.Row, 0, len(d.Methods)+len(measured[t])+1)
		add := func(kind string, start time.Time, wall time.Duration) *methodspan.Row {
			rows = append(rows, methodspan.Row{
				Resource: resource, Kind: kind, Level: methodspan.LevelRaw, USDPerCoreHour: &price,
				StartNS: start.UnixNano(), EndNS: start.Add(wall).UnixNano(),
				WeightBasis: methodspan.BasisExact, BatchID: id, RowSeq: int32(len(rows)),
			})
			return &rows[len(rows)-1]
		}
		name := func(r *methodspan.Row, method int) {
			f := functions[method]
			r.Class, r.Method, r.Signature = f.Class, f.Method, f.Signature
		}
		d.Calls(process, t, calls)
		for m, n := range calls {
			r := add(methodspan.KindCounts, start, time.Minute)
			name(r, m)
			r.Calls = float64(n)
			total += n
		}
		for _, c := range measured[t] {
			r := add(methodspan.KindCall, d.Begin.Add(c.At), time.Duration(c.Wall))
			name(r, c.Method)
			r.Caller = methodspan.CallerEntry
			if c.Caller != deploygen.Entry {
				r.Caller = functions[c.Caller].Full()
			}
			r.Measured, r.WallNS, r.P = 1, c.Wall, d.Methods[c.Method].P
			r.CPUMeasured, r.CPUNS, r.CPUP, r.CPUState = 1, c.CPU, 1, methodspan.CPUExact
		}
		r := add(methodspan.KindProcess, start, time.Minute)
		r.CPUMeasured, r.CPUNS, r.CPUState = 1, int64(cpu), methodspan.CPUExact
		r.Process = &methodspan.ProcessStats{Cores: 2, RSSBytes: 1 << 26, CallsTotal: total, Final: t == d.Minutes()-1}
		items[t] = methodspan.Item{ID: id, Rows: rows}
	}
	return items
}
