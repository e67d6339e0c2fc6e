// Package alert defines alerts, their severity, and the grouping of alerts into messages.
//
// Its invariant: an alert that is found again keeps its id, and a message that is sent again keeps its id, so
// receivers can drop duplicates.
//
// It raises and delivers nothing: packages pairs, drift and cost raise alerts, the packages below this one deliver
// them.
package alert
