// Package bigquery stores rows in a table of BigQuery and asks questions there.
//
// Its invariant: what Write has acknowledged is in the table exactly once, and a
// row that is not has been counted by name. Every request goes to an offset of a
// stream that only this writer appends to, and which request goes to which offset
// is on disk before it is sent. So it can be sent again, and after a crash the
// service is asked how far it got.
//
// It speaks to the services' own interfaces: the Storage Write API over gRPC with
// rows encoded here, and REST. It does not queue, fold or retry for long; the
// exporter does.
package bigquery
