// Package state stores, across evaluations and restarts, the open alerts, the sinks to which each was sent, and the
// accepted regressions.
//
//  1. Store.Read returns the State of a directory; Store.Update changes it under a lock.
//  2. State.Merge adds the alerts of an evaluation as OpenAlert and resolves those that a Resolver reports as resolved.
//  3. State.Pending returns the alerts to send to a sink, and State.MarkSent records them as sent.
//  4. State.Accept makes the level of an alert the new baseline, an Acceptance; State.Covers finds it for later alerts.
//
// Its invariant: the file holds the state before or after a change, never a partial one, and changes by two processes
// are serialised. Alerts that could not be sent stay in the file and are sent later: it is the queue of the sinks.
//
// It contains no secret: sinks are stored by name.
package state

import (
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// Version is the version of the file format. Files of another version are refused.
const Version = 1

// Limits of the state. Above them the oldest entries are dropped, and Dropped counts them.
const (
	MaxOpen     = 5_000
	MaxAccepted = 5_000
)

// forgetAfter is the time after which an open alert that no evaluation judged is resolved, and a resolved alert no
// longer waits for its sinks.
const forgetAfter = 30 * 24 * time.Hour

// State is the content of the file.
type State struct {
	Version  int          `json:"version"`
	Checksum string       `json:"checksum,omitempty"` // CRC-32C of the file with zeros for its digits; set only in the file
	Open     []OpenAlert  `json:"open"`
	Accepted []Acceptance `json:"accepted"`
	// Dropped counts the entries dropped because of the limits.
	Dropped int64 `json:"dropped"`
}

// OpenAlert is a raised alert; Resolved is set if it was resolved since.
type OpenAlert struct {
	Alert    alert.Alert `json:"alert"`
	Raised   time.Time   `json:"raised"`
	Seen     time.Time   `json:"seen"`
	Resolved bool        `json:"resolved"`
	Silenced bool        `json:"silenced"`
	// Sent is the last status sent to each sink.
	Sent map[string]alert.Status `json:"sent"`
	// Earlier are the severities at which it was sent before they rose.
	Earlier []alert.Severity `json:"earlier_severities,omitempty"`
}

// status returns the status that sinks should have.
func (o *OpenAlert) status() alert.Status {
	if o.Resolved {
		return alert.Resolved
	}
	return alert.Firing
}

// find returns the index of an alert in Open, -1 if there is none.
func (s *State) find(id string) int {
	for i := range s.Open {
		if s.Open[i].Alert.ID == id {
			return i
		}
	}
	return -1
}
