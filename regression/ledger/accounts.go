package ledger

import (
	"time"

	"github.com/corehour/corehour/regression/query"
)

// Accounts is the report of `corehour check`.
type Accounts struct {
	// Balanced is true if every call emitted by a process is in exactly one stored counts row. Dead processes do
	// not change it: calls that they had not emitted are in no account.
	Balanced bool `json:"balanced"`
	// CouldNotTell is set if there are rows of our SDK but no process has an account, or if no fault is known but
	// calls are missing that another warehouse can contain.
	CouldNotTell bool `json:"could_not_tell"`
	// RolledUpTo is the last date without accounts, because its rows were rolled up. AccountsFrom is the first
	// date after it. Both are empty if nothing was rolled up.
	RolledUpTo    string `json:"rolled_up_to,omitempty"`
	AccountsFrom  string `json:"accounts_from,omitempty"`
	SchemaVersion int    `json:"schema_version"`
	Generation    int64  `json:"generation"`
	Files         int    `json:"files"` // of the dates read; 0 in BigQuery
	Rows          int64  `json:"rows"`  // in these files
	// NewestRow is the end of the newest row, of any kind; null without rows.
	NewestRow *time.Time `json:"newest_row"`
	// FreshnessP99Seconds is the delay from the end of a row to the commit of its file, or the end of its load
	// job, for 99% of the rows; null if unknown. The note contains the source of the figure or the reason.
	FreshnessP99Seconds *float64 `json:"freshness_p99_seconds"`
	FreshnessNote       string   `json:"freshness_note,omitempty"`
	// Warehouses are the warehouses that were read together. The fields above cover all of them: the newest
	// generation, and the freshness of the slowest. Empty in BigQuery.
	Warehouses []Warehouse `json:"warehouses"`
	Services   []Service   `json:"services"`
	Processes  []Process   `json:"processes"`
	Losses     Losses      `json:"losses"`
	// Faults are the reasons why the accounts do not balance.
	Faults []string `json:"faults"`
	// Reconciled are the services whose estimated costs of methods exceeded the CPU time of their processes; null
	// where that is unknown, as in BigQuery.
	Reconciled []Reconciled `json:"reconciled"`

	own bool // whether there are rows of our SDK
}

// Reconciled is a service whose method costs were reduced to the CPU time of its processes.
type Reconciled struct {
	query.Service
	MeasuredCoreHours float64 `json:"measured_core_hours"` // self costs of all methods before the reduction
	ProcessCoreHours  float64 `json:"process_core_hours"`
}

// Warehouse is one of the warehouses that were read.
type Warehouse struct {
	Warehouse           string   `json:"warehouse"`
	Generation          int64    `json:"generation"`
	Files               int      `json:"files"`
	Rows                int64    `json:"rows"`
	FreshnessP99Seconds *float64 `json:"freshness_p99_seconds"`
	FreshnessNote       string   `json:"freshness_note,omitempty"`
}

// Service sums up the processes of a service.
type Service struct {
	query.Service
	Processes      int     `json:"processes"`
	DeadProcesses  int     `json:"dead_processes"`
	HandedOutCalls int64   `json:"handed_out_calls"`
	CountedCalls   int64   `json:"counted_calls"`
	LostInTransit  int64   `json:"lost_in_transit"`
	NotJudgedCalls int64   `json:"not_judged_calls"`
	Rows           int64   `json:"rows"`
	ForeignRows    int64   `json:"foreign_rows"`            // without accounts: not from our SDK
	ForeignCalls   float64 `json:"foreign_calls"`           // estimates
	AssumedCalls   float64 `json:"assumed_calls"`           // part of ForeignCalls from spans of unknown sampling
	MayBeMerged    bool    `json:"processes_may_be_merged"` // the sending process of some rows is unknown
	ImpossibleRows int64   `json:"impossible_rows"`         // with impossible numbers, which are read as missing, or in the future, which are not read
	// MeasuredAboveCounted are measurements beyond the calls that their processes counted.
	MeasuredAboveCounted float64 `json:"measured_above_counted"`
	UnpricedShare        float64 `json:"unpriced_rows_share"`
	ConflictingBatches   int64   `json:"conflicting_batches"` // batches whose number also arrived with other content
	VersionlessRows      int64   `json:"versionless_rows"`
	// NewestRow is the end of the service's newest row.
	NewestRow *time.Time `json:"newest_row"`
}

// ProcessState is the state of a process.
type ProcessState string

const (
	Ended   ProcessState = "ended"   // its last process row was final
	Running ProcessState = "running" // its last process row is recent
	Dead    ProcessState = "dead"    // neither: it died, the size of its loss is unknown
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
	// NotJudgedCalls are missing calls that can be in the warehouse of another collector. They are not part of
	// LostInTransit.
	NotJudgedCalls int64           `json:"not_judged_calls"`
	MissingBatches *MissingBatches `json:"missing_batches,omitempty"`
	// Partial is set if the process began before the first date that was read: its account starts at its first
	// process row there. It is also set if there is no process row, so that no call can be found missing.
	Partial bool `json:"partial"`
	// SDK holds the process's own counters as of its last process row.
	SDK map[string]float64 `json:"sdk"`
}

// Losses are all known losses, by name.
type Losses struct {
	LostInTransit  int64 `json:"lost_in_transit"`  // calls
	NotJudgedCalls int64 `json:"not_judged_calls"` // missing, possibly in another warehouse
	// OverCounted are calls stored beyond what their process emitted.
	OverCounted   int64         `json:"over_counted"`
	DeadProcess   []DeadProcess `json:"dead_process"`
	DuplicateRows int64         `json:"duplicate_rows"`
	// DuplicateRowsOfOthers is the number of duplicate rows that another collector stored.
	DuplicateRowsOfOthers int64             `json:"duplicate_rows_of_other_collectors"`
	DuplicateItems        []query.Duplicate `json:"duplicate_items"` // the worst ones
	// SDK sums up the processes' own counters of measurements that were lost or aggregated on overflow, and of
	// calls of unknown outcome.
	SDK map[string]float64 `json:"sdk"`
	// Collector holds the collector's own counters of losses; null if the collector was not queried.
	Collector map[string]float64 `json:"collector"`
}

// DeadProcess is a process that ended without a final process row.
type DeadProcess struct {
	query.Service
	Version  string    `json:"version"`
	Instance string    `json:"instance"`
	LastSeen time.Time `json:"last_seen"`
	// CallsLost is always null: it is at most the calls of one counts interval, but the number was lost with the
	// process.
	CallsLost *int64 `json:"calls_lost"`
	// KnowsOthers is set if the process can send to several collectors, and can still be running with another one.
	KnowsOthers bool `json:"knows_other_collectors,omitempty"`
}
