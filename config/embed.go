// Package config holds the configuration files that corehour ships, for programs
// and tests that want them without a copy of the repository.
//
// Its invariant: a test loads every file here through the program it is for, with only the variables set that
// the file requires.
//
// It does not read or check anything: the collector, the components and the SDK do.
package config

import _ "embed"

// Collector is the default: method spans in, Parquet files out. It needs nothing else.
//
//go:embed collector.yaml
var Collector string

// Tee is Collector with a copy of ordinary traces for another OTLP backend.
//
//go:embed tee.yaml
var Tee string

// Bucket is Collector with the warehouse in an object store.
//
//go:embed bucket.yaml
var Bucket string

// Gateway takes method spans from agents over TLS and owns the warehouse.
//
//go:embed gateway.yaml
var Gateway string

// Tokens is Gateway with tokens of clients instead of certificates.
//
//go:embed tokens.yaml
var Tokens string

// Agent forwards from a host to a Gateway.
//
//go:embed agent.yaml
var Agent string

// Methods is an example method file.
//
//go:embed methods.json
var Methods string

// MethodsSchema is the JSON schema of a method file.
//
//go:embed methods.schema.json
var MethodsSchema string

// Prices is an example price book.
//
//go:embed prices.yaml
var Prices string
