// Package figures prints the results of a benchmark or simulation in one format: a table for people and
// build/bench/<name>.json for machines.
//
// A figure is a value with an optional goal and an optional peer, measured in the same run. A missed goal is
// printed as short. The package measures nothing itself.
package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Better is the direction in which a value improves.
type Better string

const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Result is one figure. Goal is compared with Ratio if there is a peer, otherwise with Value. A nil Goal means
// that the figure is reported without a check.
type Result struct {
	Name      string   `json:"name"`
	Value     float64  `json:"value"`
	Unit      string   `json:"unit"`
	Peer      string   `json:"peer,omitempty"`
	PeerValue *float64 `json:"peer_value,omitempty"`
	Ratio     *float64 `json:"ratio,omitempty"`
	Goal      *float64 `json:"goal,omitempty"`
	Better    Better   `json:"better"`
	OK        bool     `json:"ok"`
}

// Run is the report of one run.
type Run struct {
	Name    string   `json:"name"`
	Machine string   `json:"machine"`
	Commit  string   `json:"commit"`
	Results []Result `json:"results"`
}

// New starts a report. It records the machine and the commit.
func New(name string) *Run {
	return &Run{Name: name, Machine: machine(), Commit: commit()}
}

// Add adds a figure without a peer.
func (r *Run) Add(name string, value float64, unit string, better Better, goal *float64) {
	r.addResult(Result{Name: name, Value: value, Unit: unit, Better: better, Goal: goal}, value)
}

// Compare adds a figure with a peer of the same run. The goal is for the ratio of the two.
func (r *Run) Compare(name string, value float64, unit, peer string, peerValue float64, better Better, goal *float64) {
	r.CompareRounds(name, value, unit, peer, peerValue, value/peerValue, better, goal)
}

// CompareRounds is like Compare but takes the ratio as a parameter, for example the median of the ratios of
// several rounds.
func (r *Run) CompareRounds(name string, value float64, unit, peer string, peerValue, ratio float64, better Better, goal *float64) {
	r.addResult(Result{Name: name, Value: value, Unit: unit, Better: better, Goal: goal,
		Peer: peer, PeerValue: &peerValue, Ratio: &ratio}, ratio)
}

func (r *Run) addResult(result Result, judged float64) {
	result.OK = result.Goal == nil ||
		result.Better == Lower && judged <= *result.Goal ||
		result.Better == Higher && judged >= *result.Goal
	r.Results = append(r.Results, result)
}

// Goal returns a goal for Add and Compare.
func Goal(x float64) *float64 { return &x }

// Print writes the table.
func (r *Run) Print(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s (%s, commit %s)\n", r.Name, r.Machine, r.Commit); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "figure\tvalue\tunit\tpeer\tpeer value\tratio\tgoal\t")
	for _, f := range r.Results {
		verdict := ""
		goal := "-"
		if f.Goal != nil {
			goal, verdict = "<= "+number(*f.Goal), "ok"
			if f.Better == Higher {
				goal = ">= " + number(*f.Goal)
			}
			if !f.OK {
				verdict = "short"
			}
		}
		peer := f.Peer
		if peer == "" {
			peer = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, number(f.Value), f.Unit, peer, optional(f.PeerValue), optional(f.Ratio), goal, verdict)
	}
	return table.Flush()
}

// Missed returns an error with the name and goal of each figure that misses its goal.
func (r *Run) Missed() error {
	var missed []string
	for _, f := range r.Results {
		if !f.OK {
			missed = append(missed, f.judgement())
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d figures miss their goals:\n  %s", len(missed), len(r.Results), strings.Join(missed, "\n  "))
}

// judgement returns the line that compares a figure with its goal.
func (f *Result) judgement() string {
	compared, value, unit := "<=", f.Value, " "+f.Unit
	if f.Better == Higher {
		compared = ">="
	}
	if f.Ratio != nil {
		value, unit = *f.Ratio, " of "+f.Peer
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s, not %s %s%s", f.Name, number(value), compared, number(*f.Goal), unit))
}

// Write writes the report as <dir>/<name>.json.
func (r *Run) Write(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, r.Name+".json"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	encoder := json.NewEncoder(f)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

func optional(x *float64) string {
	if x == nil {
		return "-"
	}
	return number(*x)
}

func machine() string {
	model := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d CPUs, %s, %s", model, runtime.NumCPU(), runtime.GOOS, runtime.Version())
}

func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
