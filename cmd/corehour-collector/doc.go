// Corehour-collector is the distribution of the OpenTelemetry Collector that
// receives method spans, samples, prices and stores them. All but this file is
// generated from builder-config.yaml at the root of the repository; `make
// generate` does it.
package main
