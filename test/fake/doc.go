// Package fake is BigQuery inside a test: the Storage Write API as a gRPC service, the REST interface of tables and
// jobs, and the part of Cloud Storage that uploads use. Tests can inject faults.
//
// Its invariant: it rejects the requests that the service's documentation says are rejected (offsets that exist or
// leave a gap, rows that do not fit the schema, requests above 10 MB, queries without a partition filter). So a writer
// that stores every row exactly once here does so for the same reason on BigQuery.
//
// It is for tests only. It runs no SQL: a test provides the function that answers queries.
package fake
