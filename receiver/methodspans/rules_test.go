package methodspans

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/corehour/corehour/internal/methodspan"
)

// An excluding rule overrides the others; if all exclude, methods that match none are accepted.
func TestRules_Exclude(t *testing.T) {
	exclude := func(match string) ForeignRule { return ForeignRule{Match: match, Exclude: true} }
	for _, c := range []struct {
		rules []ForeignRule
		name  string
		want  bool
	}{
		{[]ForeignRule{exclude("a.*")}, "a.B.c", false},
		{[]ForeignRule{exclude("a.*")}, "b.B.c", true},
		{[]ForeignRule{exclude("a.*"), {Match: "*"}}, "a.B.c", false},
		{[]ForeignRule{{Match: "*"}, exclude("a.*")}, "a.B.c", false},
		{[]ForeignRule{{Match: "b.*"}, exclude("a.*")}, "c.B.c", false},
		{[]ForeignRule{{Match: "b.*"}, exclude("a.*")}, "b.B.c", true},
		{[]ForeignRule{{Service: "other", Match: "*"}, exclude("a.*")}, "b.B.c", true},
		{[]ForeignRule{{Service: "other", Match: "a.*", Exclude: true}}, "b.B.c", false}, // no rule is of this service
	} {
		assert.Equal(t, c.want, newRules(c.rules).forService("shop", nil).accepts(c.name), "%v: %s", c.rules, c.name)
	}
}

// Scopes of instrumentation libraries are frameworks. Scopes of teams are not, nor is a function
// named by a span of a library.
func TestRules_Frameworks(t *testing.T) {
	for scope, framework := range map[string]bool{
		"io.opentelemetry.spring-webflux-5.3":                                         true, // Java
		"io.opentelemetry.jdbc":                                                       true,
		"io.opentelemetry.contrib.php.laravel":                                        true, // PHP
		"opentelemetry.instrumentation.flask":                                         true, // Python
		"@opentelemetry/instrumentation-http":                                         true, // JavaScript
		"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp":               true, // Go
		"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc": true,
		"OpenTelemetry::Instrumentation::Rack":                                        true, // Ruby
		"OpenTelemetry.Instrumentation.AspNetCore":                                    true, // .NET
		"Microsoft.AspNetCore":                                                        true,
		"billing/orders":                                                              false,
		"":                                                                            false,
		"com.shop.Cart":                                                               false,
		"opentelemetry":                                                               false,
	} {
		for _, function := range []string{"", "com.shop.Cart.total"} {
			r := start(t, testConfig(func(c *Config) {
				c.Foreign, c.ForeignRules = ForeignRules, []ForeignRule{{Match: frameworks, Exclude: true}}
			}), nil)
			td := sentBy(t, map[string]any{"service.name": "web"})
			ss := td.ResourceSpans().At(0).ScopeSpans().At(0)
			ss.Scope().SetName(scope)
			if function != "" {
				ss.Spans().At(0).Attributes().PutStr(methodspan.AttrFunction, function)
			}
			_, err := r.client.Export(context.Background(), ptraceotlp.NewExportRequestFromTraces(td))
			require.NoError(t, err)
			got := r.sink.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0)
			_, isMethod := got.Spans().At(0).Attributes().Get(methodspan.AttrKind)
			assert.Equal(t, !framework || function != "", isMethod, "%q with function %q", scope, function)
			if isMethod && function == "" {
				id, ok := identityOf(got.Spans().At(0), got.Scope().Name())
				assert.True(t, ok)
				assert.Equal(t, methodspan.Identity{Class: scope, Method: "GET /"}, id)
			}
		}
	}
}
