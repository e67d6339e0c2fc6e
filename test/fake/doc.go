// Package fake is BigQuery inside a test: the Storage Write API as a gRPC
// service, the REST interface of tables and jobs, and the part of Cloud Storage
// that uploads go to, with faults put in where a test wants them.
//
// Its invariant: it refuses what the service's documentation says it refuses
// (offsets that are taken or leave a gap, rows that don't fit the schema, requests
// above 10 MB, queries without a filter on the partition). So a writer that
// stores every row once here does so for the reason it would there.
//
// It is for tests only. It runs no SQL by itself: a test gives it a function for
// queries.
package fake
