// Package state remembers, between evaluations and over restarts, which alerts are open,
// where each was sent, and which slowdowns were accepted.
//
// Its invariant: the file is either the one before or the one after a change, never
// half of one, and two processes that change it do so one after the other. What
// could not be sent stays in it and is sent later: it is the queue of the sinks.
//
// It holds no secret: sinks are known by name.
package state

import (
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// Version is the version of the file format. Files of another version are refused.
const Version = 1

// Bounds of what is remembered. Beyond them the oldest go, and Dropped counts them.
const (
	MaxOpen     = 5_000
	MaxAccepted = 5_000
)

// forgetAfter is how long an alert that nobody looked at stays open, and a resolved
// one waits for its sinks.
const forgetAfter = 30 * 24 * time.Hour

// State is what is remembered.
type State struct {
	Version  int        `json:"version"`
	Checksum string     `json:"checksum,omitempty"` // CRC-32C of the file, with zeros for its digits; only there
	Open     []Open     `json:"open"`
	Accepted []Accepted `json:"accepted"`
	// Dropped counts alerts forgotten for want of room.
	Dropped int64 `json:"dropped"`
}

// Open is an alert that was raised and, if Resolved, went away since.
type Open struct {
	Alert    alert.Alert `json:"alert"`
	Raised   time.Time   `json:"raised"`
	Seen     time.Time   `json:"seen"`
	Resolved bool        `json:"resolved"`
	Silenced bool        `json:"silenced"`
	// Sent is what each sink was notified last.
	Sent map[string]alert.Status `json:"sent"`
}

// status is what sinks should know.
func (o *Open) status() alert.Status {
	if o.Resolved {
		return alert.Resolved
	}
	return alert.Firing
}

// find is the place of an alert among the open ones, -1 = none.
func (s *State) find(id string) int {
	for i := range s.Open {
		if s.Open[i].Alert.ID == id {
			return i
		}
	}
	return -1
}
