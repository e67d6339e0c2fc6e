// Package telemetrygen pins the version of OpenTelemetry's load generator. Its dependencies
// would decide versions for the tests, so it has a module of its own.
package telemetrygen
