// Package bigquery stores rows in a table of BigQuery and runs queries on it.
//
// Its invariant: every row that Write has acknowledged is in the table exactly once, and every
// other row is counted by its reason. Each request is sent to an offset of a stream that only this
// writer appends to. The request's stream and offset are on disk before it is sent, so the request
// can be sent again. After a crash the service reports how many rows the stream holds.
//
// The package uses the services' own interfaces: the Storage Write API over gRPC, with rows encoded
// here, and REST. It does not queue or aggregate rows, and it retries only for a short time; the
// exporter does the rest.
package bigquery
