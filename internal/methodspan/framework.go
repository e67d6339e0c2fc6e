package methodspan

import (
	"slices"
	"strings"
)

// FrameworkScopes holds name prefixes of instrumentation scopes whose spans come from
// frameworks and drivers, not from a team's own code. If a span names no function, its scope
// is its class.
var FrameworkScopes = []string{
	"io.opentelemetry.",                            // Java, Android, PHP
	"opentelemetry.instrumentation.",               // Python
	"@opentelemetry/instrumentation-",              // JavaScript
	"go.opentelemetry.io/contrib/instrumentation/", // Go
	"OpenTelemetry::Instrumentation::",             // Ruby
	"OpenTelemetry.Instrumentation.",               // .NET
	"Microsoft.AspNetCore", "System.Net.Http",      // .NET without a library
}

// IsFramework reports whether class, or a method name that starts with it, belongs to a
// framework.
func IsFramework(class string) bool {
	return slices.ContainsFunc(FrameworkScopes, func(prefix string) bool { return strings.HasPrefix(class, prefix) })
}
