module github.com/corehour/corehour/sdk/otelbridge

go 1.25.0

require (
	github.com/corehour/corehour/sdk v0.1.0
	go.opentelemetry.io/otel/trace v1.46.0
	go.opentelemetry.io/proto/otlp v1.11.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.opentelemetry.io/otel v1.46.0 // indirect
)

replace github.com/corehour/corehour/sdk => ../
