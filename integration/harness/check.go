package harness

import "context"

// Check is the part of `corehour check --format json` that tests read.
type Check struct {
	Balanced  bool             `json:"balanced"`
	Faults    []string         `json:"faults"`
	Processes []ProcessAccount `json:"processes"`
	Losses    struct {
		LostInTransit int64 `json:"lost_in_transit"`
		OverCounted   int64 `json:"over_counted"`
		DuplicateRows int64 `json:"duplicate_rows"`
		DeadProcess   []struct {
			Name     string `json:"service"`
			Instance string `json:"instance"`
		} `json:"dead_process"`
		Collector map[string]float64 `json:"collector"`
	} `json:"losses"`
	Output Output `json:"-"`
}

// ProcessAccount compares the emitted calls of one process with its stored calls.
type ProcessAccount struct {
	Instance       string             `json:"instance"`
	State          string             `json:"state"` // ended, running or dead
	HandedOutCalls int64              `json:"handed_out_calls"`
	CountedCalls   int64              `json:"counted_calls"`
	LostInTransit  int64              `json:"lost_in_transit"`
	NotJudgedCalls int64              `json:"not_judged_calls"`
	SDK            map[string]float64 `json:"sdk"`
}

// Check runs `corehour check`.
func (c Command) Check(ctx context.Context, args ...string) (Check, error) {
	var check Check
	var err error
	check.Output, err = c.json(ctx, &check, "check", args...)
	return check, err
}
