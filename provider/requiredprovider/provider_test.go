package requiredprovider

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
)

// TestProvider_Resolve resolves references as the Collector does.
func TestProvider_Resolve(t *testing.T) {
	t.Setenv("SET", "/etc/tls/ca.pem")
	t.Setenv("NUMBER", "8888")
	t.Setenv("EMPTY", "")
	t.Setenv("BLANK", " \n")
	for reference, want := range map[string]any{
		"${required:SET}":          "/etc/tls/ca.pem",
		"${required:NUMBER}":       8888,
		"host:${required:NUMBER}":  "host:8888",
		"${required:EMPTY}":        nil,
		"${required:BLANK}":        nil,
		"${required:NEVER_SET}":    nil,
		"a ${required:NEVER_SET}":  nil,
		"${required:SET:-default}": nil, // there are no defaults: no variable has this name
	} {
		resolver, err := confmap.NewResolver(confmap.ResolverSettings{
			URIs:              []string{`yaml:key: "` + reference + `"`},
			ProviderFactories: []confmap.ProviderFactory{NewFactory(), yamlprovider.NewFactory()},
		})
		if err != nil {
			t.Fatal(err)
		}
		conf, err := resolver.Resolve(t.Context())
		switch {
		case want == nil:
			name := strings.TrimSuffix(reference[strings.Index(reference, "required:")+len("required:"):], "}")
			if err == nil || !strings.Contains(err.Error(), "the environment variable "+name+" must be set") {
				t.Errorf("%s: %v", reference, err)
			}
		case err != nil:
			t.Errorf("%s: %v", reference, err)
		case conf.Get("key") != want:
			t.Errorf("%s is %#v, want %#v", reference, conf.Get("key"), want)
		}
	}
}
