//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/corehour/corehour/integration/harness"
	"github.com/corehour/corehour/test/figures"
)

// result is the outcome of one run.
type result struct {
	Server    string  `json:"server"`
	Module    string  `json:"module"`
	Processes int     `json:"processes"`
	Change    int     `json:"change_percent"`
	Minutes   int     `json:"minutes"`
	Dir       string  `json:"dir"`
	Planted   line    `json:"planted"`
	FoundAt   int     `json:"found_at_minute"` // 0: not found
	WrongSign []int   `json:"wrong_sign_at_minutes,omitempty"`
	Others    []other `json:"others_raised"`

	Records       int64   `json:"records"`
	RecordsPerSec float64 `json:"records_per_second"`
	PlantedShare  float64 `json:"planted_share_of_records"`
	ActiveMethods int     `json:"active_methods"`
	// Unchanged counts the methods without additional work that have an interval at the end, Covered those whose
	// interval holds 0.
	Unchanged      int       `json:"unchanged_methods_with_an_interval"`
	Covered        int       `json:"unchanged_methods_whose_interval_holds_0"`
	CPU            []float64 `json:"cores_per_process"`
	Rounds         []int64   `json:"rounds"`
	Failed         []int64   `json:"failed_rounds"`
	Late           []int64   `json:"late_rounds"`
	LastErrors     []string  `json:"last_errors,omitempty"`
	ProfileSamples [2]int    `json:"profile_samples"`
	Warnings       []string  `json:"warnings,omitempty"`
	Methods        []line    `json:"methods"` // by CPU time in the profile of base
}

// line is one method: its truth from the profiles, its records and its last verdict.
type line struct {
	Name string `json:"name"`
	// Share is the share of the CPU time of the base processes that the profile has in this method.
	Share         float64 `json:"share_percent"`
	Calls         float64 `json:"calls_of_base"`
	NSPerCall     float64 `json:"ns_per_call_of_base"`
	Truth         float64 `json:"profile_change_percent"`
	TruthSE       float64 `json:"profile_change_se"`
	StoredRecords int64   `json:"stored_records"`
	*harness.Verdict
}

// other is an alert on a method without additional work.
type other struct {
	Kind       string `json:"kind"`
	Caller     string `json:"caller,omitempty"`
	FirstAt    int    `json:"first_at_minute"`
	Raised     int    `json:"minutes_raised"`
	AtFirst    line   `json:"at_first"`
	TruthKnown bool   `json:"profile_has_it"`
}

func (r *rollout) judge(ctx context.Context, all []*process, minutes []harness.Findings) (*result, error) {
	probed, err := probes(ctx, filepath.Join(r.bin, harness.CommandBinary), r.base)
	if err != nil {
		return nil, err
	}
	var truth [2]samples
	for i, version := range []string{base, head} {
		if truth[i], err = profiled(all, version, probed); err != nil {
			return nil, err
		}
	}
	out := &result{Server: r.name, Module: r.server.module, Processes: r.processes, Change: r.change, Minutes: len(minutes), Dir: r.dir,
		ProfileSamples: [2]int{int(truth[0].total), int(truth[1].total)}}
	for _, p := range all {
		out.CPU = append(out.CPU, p.cpu.Seconds()/p.profiled.Seconds())
		out.Rounds, out.Failed, out.Late = append(out.Rounds, p.rounds.Load()), append(out.Failed, p.failed.Load()), append(out.Late, p.late.Load())
		if text, failed := p.lastError.Load().(string); failed {
			out.LastErrors = append(out.LastErrors, text)
		}
	}
	var stored []struct {
		Name    string  `json:"name"`
		Calls   float64 `json:"calls"`
		Records int64   `json:"records"`
	}
	if err := r.command().SQL(ctx, &stored, fmt.Sprintf(`SELECT class || '.' || method AS name,
		sum(CASE WHEN version = '%s' THEN calls ELSE 0 END) AS calls, CAST(sum(measured) AS BIGINT) AS records
		FROM method_calls WHERE kind IN ('call', 'counts', 'aggregate') AND method IS NOT NULL GROUP BY 1`, base)); err != nil {
		return nil, err
	}
	lines := map[string]*line{}
	for _, s := range stored {
		l := &line{Name: s.Name, Calls: s.Calls, StoredRecords: s.Records}
		lines[s.Name] = l
		l.Share = 100 * truth[0].methods[s.Name] / truth[0].total
		if truth[0].methods[s.Name] > 0 && truth[1].methods[s.Name] > 0 {
			l.Truth, l.TruthSE = change(truth[0], truth[1], s.Name)
		}
		if s.Calls > 0 {
			out.ActiveMethods++
			l.NSPerCall = truth[0].methods[s.Name] * truth[0].period / s.Calls
		}
		out.Records += s.Records
	}
	planted := r.server.plant.class + "." + r.server.plant.method
	out.follow(minutes, planted, r.change, lines)
	if l := lines[planted]; l != nil {
		out.Planted = *l
		out.PlantedShare = float64(l.StoredRecords) / float64(max(1, out.Records))
	}
	out.RecordsPerSec = float64(out.Records) / (time.Duration(len(minutes)) * time.Minute).Seconds()
	for _, l := range lines {
		out.Methods = append(out.Methods, *l)
		if l.Verdict != nil && l.Interval != nil && (l.Name != planted || r.change == 0) {
			out.Unchanged++
			if l.Interval[0] <= 0 && l.Interval[1] >= 0 {
				out.Covered++
			}
		}
	}
	slices.SortFunc(out.Methods, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.StoredRecords, a.StoredRecords), cmp.Compare(a.Name, b.Name))
	})
	return out, r.save(out)
}

// follow reads the reports of all minutes.
func (o *result) follow(minutes []harness.Findings, planted string, change int, lines map[string]*line) {
	others := map[[3]string]*other{}
	for i, findings := range minutes {
		verdicts := map[string]*harness.Verdict{}
		for _, c := range findings.Comparisons {
			if i == len(minutes)-1 {
				o.Warnings = append(o.Warnings, c.Warnings...)
			}
			for _, v := range c.Methods {
				name := v.Class + "." + v.Method
				verdicts[name] = &v
				if i == len(minutes)-1 && lines[name] != nil {
					lines[name].Verdict = &v
				}
				if change > 0 && name == planted && v.Interval != nil && v.Interval[1] < 0 {
					o.WrongSign = append(o.WrongSign, i+1)
				}
			}
		}
		for _, a := range findings.Alerts {
			name := a.Class + "." + a.Method
			if change > 0 && name == planted && a.Kind == "regression" {
				o.FoundAt = cmp.Or(o.FoundAt, i+1)
				continue
			}
			key := [3]string{a.Kind, name, a.Caller}
			if others[key] == nil {
				others[key] = &other{Kind: a.Kind, Caller: a.Caller, FirstAt: i + 1, AtFirst: line{Name: name, Verdict: verdicts[name]}}
				if l := lines[name]; l != nil {
					at := *l
					at.Verdict = verdicts[name]
					others[key].AtFirst, others[key].TruthKnown = at, l.TruthSE > 0
				}
			}
			others[key].Raised++
		}
	}
	for _, other := range others {
		o.Others = append(o.Others, *other)
	}
	slices.SortFunc(o.Others, func(a, b other) int {
		return cmp.Or(cmp.Compare(a.FirstAt, b.FirstAt), cmp.Compare(a.AtFirst.Name, b.AtFirst.Name))
	})
}

func (o *result) title() string {
	return fmt.Sprintf("%s %d+%d %+d%%", o.Server, o.Processes, o.Processes, o.Change)
}

// faults returns what --strict does not accept.
func (o *result) faults() (all []string) {
	for _, other := range o.Others {
		all = append(all, fmt.Sprintf("%s: %s %s was raised at minute %d", o.title(), other.Kind, other.AtFirst.Name, other.FirstAt))
	}
	if len(o.WrongSign) > 0 {
		all = append(all, fmt.Sprintf("%s: %s was reported cheaper at minutes %v", o.title(), o.Planted.Name, o.WrongSign))
	}
	return all
}

func (o *result) addFigures(to *figures.Run) {
	if o.Change > 0 {
		found := float64(o.FoundAt)
		if o.FoundAt == 0 {
			found = math.Inf(1)
		}
		if math.IsInf(found, 1) {
			found = float64(10 * o.Minutes) // JSON has no infinity
		}
		to.Add(o.title()+": minutes until it is found", found, "min", figures.Lower, o.goal())
	}
	to.Add(o.title()+": others raised, or the wrong sign", float64(len(o.Others)+len(o.WrongSign)), "", figures.Lower, figures.Goal(0))
	to.Add(o.title()+": records of the planted function", 100*o.PlantedShare, "% of all", figures.Higher, nil)
}

// goal is the number of minutes in which a change must be found.
func (o *result) goal() *float64 {
	switch {
	case o.Change >= 50 && o.Processes >= 3:
		return figures.Goal(10)
	case o.Change >= 50, o.Change >= 25 && o.Processes >= 3:
		return figures.Goal(15)
	}
	return nil
}

// print writes a table for people.
func (o *result) print(to io.Writer) {
	fmt.Fprintf(to, "\n%s, %d minutes: %s\n", o.title(), o.Minutes, o.Dir)
	fmt.Fprintf(to, "cores per process %.2f; rounds %d, failed %d, late %d; %d active methods; %d of %d unchanged ones hold 0\n", o.CPU, o.Rounds, o.Failed, o.Late, o.ActiveMethods, o.Covered, o.Unchanged)
	fmt.Fprintf(to, "%d records, %.0f a second, of the planted function %d (%.2f%%)\n", o.Records, o.RecordsPerSec, o.Planted.StoredRecords, 100*o.PlantedShare)
	if o.Change > 0 {
		found := "not found"
		if o.FoundAt > 0 {
			found = fmt.Sprintf("found at minute %d", o.FoundAt)
		}
		fmt.Fprintf(to, "planted: %s, wrong sign at %v\n", found, o.WrongSign)
	}
	for _, text := range o.LastErrors {
		fmt.Fprintf(to, "a round failed: %s\n", text)
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tmethod\tshare\tns a call\tprofile\tregress\te-value\trecords\tstate\t")
	printLine(table, "planted", o.Planted)
	for _, other := range o.Others {
		printLine(table, fmt.Sprintf("%s, minute %d, %d times", other.Kind, other.FirstAt, other.Raised), other.AtFirst)
	}
	_ = table.Flush()
}

func printLine(to io.Writer, what string, l line) {
	fmt.Fprintf(to, "%s\t%s\t%.2f%%\t%.0f\t%+.1f%% ± %.1f\t", what, l.Name, l.Share, l.NSPerCall, l.Truth, l.TruthSE)
	v := l.Verdict
	if v == nil {
		fmt.Fprintln(to, "-\t-\t-\tno verdict\t")
		return
	}
	if v.ChangePercent != nil && v.Interval != nil {
		fmt.Fprintf(to, "%+.1f%% (%+.1f to %+.1f)\t", *v.ChangePercent, v.Interval[0], v.Interval[1])
	} else {
		fmt.Fprint(to, "-\t")
	}
	if v.EValue != nil {
		fmt.Fprintf(to, "%.3g\t", *v.EValue)
	} else {
		fmt.Fprint(to, "-\t")
	}
	fmt.Fprintf(to, "%d, %d\t%s %s\t\n", v.BaseRecords, v.HeadRecords, v.State, v.Reason)
}
