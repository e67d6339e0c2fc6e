package measuredrun

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Environment returns the environment of the program: env, plus the variables that point SDKs at the private
// collector. They are the whole contract between `corehour exec` and an SDK, whether the program starts it or
// instrumentation at build time does:
//
//	COREHOUR_ENDPOINTS                  the collector; in our SDK it wins over OTEL_EXPORTER_OTLP_*
//	COREHOUR_SAMPLE                     share of calls timed; CPU is timed with it, see COREHOUR_CPU
//	OTEL_EXPORTER_OTLP_TRACES_ENDPOINT  the collector, for SDKs of OpenTelemetry
//	OTEL_EXPORTER_OTLP_TRACES_PROTOCOL  http/protobuf
//	OTEL_SERVICE_NAME                   base name of the program, unless env names the service
//
// It removes the user's settings that switch SDKs off, send spans elsewhere, or poll another collector for
// rates. All others stay: attributes, the method file, and destinations of metrics and logs.
func Environment(env []string, program, endpoint string, rate float64) []string {
	named := false
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "OTEL_SERVICE_NAME":
			named = named || value != ""
			return value == ""
		case "OTEL_RESOURCE_ATTRIBUTES":
			named = named || strings.HasPrefix(value, "service.name=") || strings.Contains(value, ",service.name=")
		case "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "COREHOUR_EXPORT", "COREHOUR_RATES_ENDPOINT",
			"COREHOUR_ENDPOINT", "COREHOUR_ENDPOINTS", "COREHOUR_SAMPLE", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL":
			return true
		}
		return false
	})
	env = append(env,
		"COREHOUR_ENDPOINTS="+endpoint,
		"COREHOUR_SAMPLE="+strconv.FormatFloat(rate, 'g', -1, 64),
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+endpoint+"/v1/traces",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf")
	if !named {
		env = append(env, "OTEL_SERVICE_NAME="+filepath.Base(program))
	}
	return env
}
