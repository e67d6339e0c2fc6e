package ledger

import (
	"time"

	"github.com/corehour/corehour/regression/query"
)

// Accounts is what `corehour check` prints.
type Accounts struct {
	// Balanced: every call emitted by a process is in exactly one stored
	// counts row. Dead processes do not unbalance it: what they did not hand
	// out is in no account.
	Balanced bool `json:"balanced"`
	// CouldNotTell: there are rows of ours, and no process has an account; or nothing is
	// known to be wrong, and calls are missing that another warehouse may hold.
	CouldNotTell bool `json:"could_not_tell"`
	// RolledUpTo is the last date that keeps no account, because its rows were added
	// up; AccountsFrom the first one after it. Empty where none was rolled up.
	RolledUpTo    string `json:"rolled_up_to,omitempty"`
	AccountsFrom  string `json:"accounts_from,omitempty"`
	SchemaVersion int    `json:"schema_version"`
	Generation    int64  `json:"generation"`
	Files         int    `json:"files"` // of the dates looked at; 0 in BigQuery
	Rows          int64  `json:"rows"`  // in them
	// NewestRow is the end of the newest row, of any kind; null without rows.
	NewestRow *time.Time `json:"newest_row"`
	// FreshnessP99Seconds is the time from the end of a row to the commit of
	// its file, or the end of its load job, that 99% stay below; null where none
	// tells. The note says what it was found from, or why not.
	FreshnessP99Seconds *float64 `json:"freshness_p99_seconds"`
	FreshnessNote       string   `json:"freshness_note,omitempty"`
	// Warehouses are those that were read together; what stands above is of all of them:
	// the newest generation, and the freshness of the slowest. Empty in BigQuery.
	Warehouses []Warehouse `json:"warehouses"`
	Services   []Service   `json:"services"`
	Processes  []Process   `json:"processes"`
	Losses     Losses      `json:"losses"`
	// Faults say in words why it does not balance.
	Faults []string `json:"faults"`
	// Reconciled are the services whose methods were estimated to cost more than the CPU
	// time of their processes; null where that is not known, as in BigQuery.
	Reconciled []Reconciled `json:"reconciled"`

	own bool // whether there are rows of ours
}

// Reconciled is a service whose costs of methods were reconciled with its CPU time.
type Reconciled struct {
	query.Service
	MeasuredCoreHours float64 `json:"measured_core_hours"` // self costs of all methods, before
	ProcessCoreHours  float64 `json:"process_core_hours"`
}

// Warehouse is one of those that were read.
type Warehouse struct {
	Warehouse           string   `json:"warehouse"`
	Generation          int64    `json:"generation"`
	Files               int      `json:"files"`
	Rows                int64    `json:"rows"`
	FreshnessP99Seconds *float64 `json:"freshness_p99_seconds"`
	FreshnessNote       string   `json:"freshness_note,omitempty"`
}

// Service adds up the processes of a service.
type Service struct {
	query.Service
	Processes      int     `json:"processes"`
	DeadProcesses  int     `json:"dead_processes"`
	HandedOutCalls int64   `json:"handed_out_calls"`
	CountedCalls   int64   `json:"counted_calls"`
	LostInTransit  int64   `json:"lost_in_transit"`
	NotJudgedCalls int64   `json:"not_judged_calls"`
	Rows           int64   `json:"rows"`
	ForeignRows    int64   `json:"foreign_rows"`            // outside of the ledger
	ForeignCalls   float64 `json:"foreign_calls"`           // estimates
	AssumedCalls   float64 `json:"assumed_calls"`           // of these: nothing says how their spans were sampled
	MayBeMerged    bool    `json:"processes_may_be_merged"` // it is not known which process sent some of them
	ImpossibleRows int64   `json:"impossible_rows"`         // with numbers that are read as not given, or in the future and not read
	// MeasuredAboveCounted are measurements beyond the calls that their processes counted.
	MeasuredAboveCounted float64 `json:"measured_above_counted"`
	UnpricedShare        float64 `json:"unpriced_rows_share"`
	ConflictingBatches   int64   `json:"conflicting_batches"` // of a number that other content came with
	VersionlessRows      int64   `json:"versionless_rows"`
	// NewestRow is the end of its newest row.
	NewestRow *time.Time `json:"newest_row"`
}

// ProcessState of a process.
type ProcessState string

const (
	Ended   ProcessState = "ended"   // its last process row was final
	Running ProcessState = "running" // its last process row is recent
	Dead    ProcessState = "dead"    // neither: it died, size of the loss unknown
)

// Process is the account of one process.
type Process struct {
	query.Service
	Version        string       `json:"version"`
	Instance       string       `json:"instance"`
	ProcessStart   *time.Time   `json:"process_start"`
	State          ProcessState `json:"state"`
	LastSeen       time.Time    `json:"last_seen"`
	HandedOutCalls int64        `json:"handed_out_calls"`
	CountedCalls   int64        `json:"counted_calls"`
	LostInTransit  int64        `json:"lost_in_transit"`
	// NotJudgedCalls are missing, and may be in the warehouse of another collector. They are
	// not in LostInTransit.
	NotJudgedCalls int64           `json:"not_judged_calls"`
	MissingBatches *MissingBatches `json:"missing_batches,omitempty"`
	// Partial: the process began before the first date that was looked at, and
	// its account starts at its first process row there; or there is none, and
	// nothing can be missed.
	Partial bool `json:"partial"`
	// SDK holds the process's own counters as of its last process row.
	SDK map[string]float64 `json:"sdk"`
}

// Losses are all that is known to be missing, by name.
type Losses struct {
	LostInTransit  int64 `json:"lost_in_transit"`  // calls
	NotJudgedCalls int64 `json:"not_judged_calls"` // missing, and maybe in another warehouse
	// OverCounted are calls stored beyond what their process emitted.
	OverCounted   int64         `json:"over_counted"`
	DeadProcess   []DeadProcess `json:"dead_process"`
	DuplicateRows int64         `json:"duplicate_rows"`
	// DuplicateRowsOfOthers are those of them that another collector stored.
	DuplicateRowsOfOthers int64             `json:"duplicate_rows_of_other_collectors"`
	DuplicateItems        []query.Duplicate `json:"duplicate_items"` // the worst of them
	// SDK adds up the processes' own counters of measurements lost or added up
	// instead of kept one by one, and of calls of unknown fate.
	SDK map[string]float64 `json:"sdk"`
	// Collector holds the collector's own counters of losses; null unless it was
	// asked.
	Collector map[string]float64 `json:"collector"`
}

// DeadProcess is a process that ended without a word.
type DeadProcess struct {
	query.Service
	Version  string    `json:"version"`
	Instance string    `json:"instance"`
	LastSeen time.Time `json:"last_seen"`
	// CallsLost is always null: at most the calls of one counts interval, and
	// nobody is left who knows them.
	CallsLost *int64 `json:"calls_lost"`
	// KnowsOthers: it may send to several collectors, and may live on with another one.
	KnowsOthers bool `json:"knows_other_collectors,omitempty"`
}
