package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
)

// conclude reads the command's findings and compares them with the truth.
func (r *run) conclude(ctx context.Context) error {
	warehouse := []string{"--warehouse", r.path("warehouse")}
	command := func(args ...string) ([]byte, error) {
		return r.output(ctx, r.binary("corehour"), append(args[:1:1], append(warehouse, args[1:]...)...)...)
	}

	table, err := command("cost", "--since", "1h")
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "\n%s\n", table)
	costs, err := command("cost", "--since", "1h", "--format", "json")
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path("cost.json"), costs, 0o644); err != nil {
		return err
	}

	if _, err := command("report", "--output", r.path("report.html")); err != nil {
		return err
	}
	ledger, err := r.ledger(command)
	if err != nil {
		return err
	}
	var faults []error
	if ledger.Balanced {
		r.say("the accounts balance: %d calls made, counted and stored, none lost", ledger.made())
	} else {
		faults = append(faults, fmt.Errorf("the accounts do not balance: see %s", r.path("ledger.json")))
	}
	faults = append(faults, r.judge())
	if err := errors.Join(faults...); err != nil {
		return err
	}
	r.say("no healthy method raised an alert")
	fmt.Fprintf(r.Out, `
Where to look next:
  %[1]s regress --warehouse %[2]s
  %[1]s explain --warehouse %[2]s cart.Cart.Total
  %[1]s cost --warehouse %[2]s
  %[1]s sql --warehouse %[2]s "SELECT version, method, SUM(w * cpu_ns) / 1e9 AS cpu_seconds FROM method_cost GROUP BY ALL ORDER BY 3 DESC"
  %[1]s check --warehouse %[2]s
`, fromHere(r.binary("corehour")), r.path("warehouse"))
	fmt.Fprintf(r.Out, "The demo's files are in %s: open report.html in a browser; its own measure of the change is in truth.json.\n", r.Dir)
	return nil
}

// fromHere returns the shortest path of a file, absolute or relative to the working directory.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(here, path)
	if err != nil || len(relative) >= len(path) {
		return path
	}
	return relative
}

// planted is the change as the shop measured it.
type planted struct {
	ChangePercent float64 `json:"change_percent"`
}

// judge compares the alerts with the planted change.
func (r *run) judge() error {
	alerts, err := readAlerts(r.path("alerts.jsonl"))
	if err != nil {
		return err
	}
	data, err := os.ReadFile(r.path("truth.json"))
	if err != nil {
		return err
	}
	var truth planted
	if err := json.Unmarshal(data, &truth); err != nil {
		return fmt.Errorf("truth.json: %w", err)
	}
	var faults []error
	right := false
	for _, a := range alerts {
		if a.name() != shopMethod || a.BaseVersion != baseVersion || a.HeadVersion != headVersion {
			faults = append(faults, fmt.Errorf("a false alert: %s", a))
			continue
		}
		right = true
		said, err := a.against(truth)
		if err != nil {
			faults = append(faults, err)
		} else {
			r.say("%s", said)
		}
	}
	if !right {
		faults = append(faults, fmt.Errorf("no alert names %s from %s to %s", shopMethod, baseVersion, headVersion))
	}
	return errors.Join(faults...)
}

// against compares the size of the change with the truth.
func (a alert) against(truth planted) (string, error) {
	low, high, err := a.interval99()
	if err != nil {
		return "", err
	}
	said := fmt.Sprintf("the alert says %+.1f%% (99%% interval %+.1f%% to %+.1f%%), the shop's own measure is %+.1f%%", a.ChangePercent, low, high, truth.ChangePercent)
	if a.Basis == "typical" { // of calls with their callees, which did not change: smaller than the own change
		said += " without callees"
		high = math.Inf(1)
	}
	if !(low <= truth.ChangePercent && truth.ChangePercent <= high) {
		return "", fmt.Errorf("the size is wrong: %s", said)
	}
	return said, nil
}

// widen is the ratio of a 99% interval's width to a 95% interval's, of a normal
// distribution.
const widen = 2.5758 / 1.9600

// interval99 is the 99% interval in percent. Intervals are made on the logarithm of the
// ratio.
func (a alert) interval99() (low, high float64, err error) {
	if !(a.Interval[0] > -100 && a.Interval[0] <= a.ChangePercent && a.ChangePercent <= a.Interval[1]) {
		return 0, 0, fmt.Errorf("the alert's interval %+.1f%% to %+.1f%% is none of a change of %+.1f%%", a.Interval[0], a.Interval[1], a.ChangePercent)
	}
	change := math.Log1p(a.ChangePercent / 100)
	end := func(percent float64) float64 {
		return 100 * math.Expm1(change+widen*(math.Log1p(percent/100)-change))
	}
	return end(a.Interval[0]), end(a.Interval[1]), nil
}

// ledger compares the shop's own counts with the stored ones.
type ledger struct {
	Balanced bool            `json:"balanced"`
	Services []serviceCalls  `json:"services"`
	Check    json.RawMessage `json:"check"` // output of corehour check, with losses by name
}

type serviceCalls struct {
	Service  string           `json:"service"`
	Version  string           `json:"version"`
	Instance string           `json:"instance"`
	Made     int64            `json:"calls_made"`
	Stored   int64            `json:"calls_stored"`
	Differs  map[string]int64 `json:"differs,omitempty"` // by method: made - stored
}

func (l ledger) made() int64 {
	total := int64(0)
	for _, s := range l.Services {
		total += s.Made
	}
	return total
}

// shopTruth is the report a shop writes when it ends. Its file has the name of the instance.
type shopTruth struct {
	Version string           `json:"version"`
	Calls   map[string]int64 `json:"calls"`
}

func (r *run) ledger(command func(...string) ([]byte, error)) (ledger, error) {
	check, err := command("check", "--format", "json", "--since", "1h")
	if err != nil {
		return ledger{}, fmt.Errorf("%w\n%s", err, check)
	}
	var verdict struct {
		Balanced bool `json:"balanced"`
	}
	if err := json.Unmarshal(check, &verdict); err != nil {
		return ledger{}, fmt.Errorf("the output of check: %w", err)
	}
	rows, err := command("sql", "--format", "json", "--since", "1h",
		`SELECT instance, class || '.' || method AS name, CAST(SUM(calls) AS BIGINT) AS calls FROM method_calls WHERE kind = 'counts' GROUP BY ALL`)
	if err != nil {
		return ledger{}, err
	}
	var stored []struct {
		Instance string `json:"instance"`
		Name     string `json:"name"`
		Calls    int64  `json:"calls"`
	}
	if err := json.Unmarshal(rows, &stored); err != nil {
		return ledger{}, fmt.Errorf("the output of sql: %w", err)
	}
	byInstance := map[string]map[string]int64{}
	for _, row := range stored {
		if byInstance[row.Instance] == nil {
			byInstance[row.Instance] = map[string]int64{}
		}
		byInstance[row.Instance][row.Name] += row.Calls
	}

	l := ledger{Balanced: verdict.Balanced, Check: check}
	reports, err := filepath.Glob(r.path("truth", "*.json"))
	if err != nil || len(reports) == 0 {
		return ledger{}, errors.Join(err, errors.New("no shop left a report of its own"))
	}
	sort.Strings(reports)
	for _, path := range reports {
		data, err := os.ReadFile(path)
		if err != nil {
			return ledger{}, err
		}
		var truth shopTruth
		if err := json.Unmarshal(data, &truth); err != nil {
			return ledger{}, fmt.Errorf("%s: %w", path, err)
		}
		s := serviceCalls{Service: shopService, Version: truth.Version, Instance: strings.TrimSuffix(filepath.Base(path), ".json"), Differs: map[string]int64{}}
		for method, made := range truth.Calls {
			have := byInstance[s.Instance][methodspan.ParseFunction(method).Full()]
			s.Made, s.Stored = s.Made+made, s.Stored+have
			if made != have {
				s.Differs[method] = made - have
				l.Balanced = false
			}
		}
		l.Services = append(l.Services, s)
	}
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return ledger{}, err
	}
	return l, os.WriteFile(r.path("ledger.json"), append(data, '\n'), 0o644)
}
