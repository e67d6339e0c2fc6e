package methodspan

import (
	"slices"
	"strings"
)

// FrameworkScopes are how the names of instrumentation scopes begin whose spans are of
// frameworks and drivers, and not of a team's own code. Such a scope is the class of a span
// that names no function.
var FrameworkScopes = []string{
	"io.opentelemetry.",                            // Java, Android, PHP
	"opentelemetry.instrumentation.",               // Python
	"@opentelemetry/instrumentation-",              // JavaScript
	"go.opentelemetry.io/contrib/instrumentation/", // Go
	"OpenTelemetry::Instrumentation::",             // Ruby
	"OpenTelemetry.Instrumentation.",               // .NET
	"Microsoft.AspNetCore", "System.Net.Http",      // .NET without a library
}

// IsFramework reports whether a class, or a name that begins with one, is of a framework.
func IsFramework(class string) bool {
	return slices.ContainsFunc(FrameworkScopes, func(prefix string) bool { return strings.HasPrefix(class, prefix) })
}
