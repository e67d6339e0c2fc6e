package adaptivesampler

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
)

// A process that comes from another collector keeps the rates which that one served,
// until the first decision here. What never had rates starts cold.
func TestRatesOfTheCollectorBefore(t *testing.T) {
	for name, c := range map[string]struct {
		served bool
		file   string
		first  float64
		reason string
	}{
		"served":                {true, `{"version": 1}`, 0.5, reasonTakenOver},
		"never served":          {false, `{"version": 1}`, 0.1, "cold start"},
		"below the file's most": {true, `{"version": 1, "methods": [{"match": "f*", "max": 0.5}]}`, 0.5, reasonTakenOver},
		"above the file's most": {true, `{"version": 1, "methods": [{"match": "f*", "max": 0.2}]}`, 0.1, "cold start"},
		"what the file pins":    {true, `{"version": 1, "methods": [{"match": "f*", "rate": 0.3}]}`, 0.3, "methods[0] f*"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := adaptive()
				config.MethodsFile = methodsFile(t, c.file)
				s := &scripted{unknown: 0.1}
				r := startWith(t, config, 1, s, host{deskID: &desk{}})
				sent := func(method string) (p float64, reason string) {
					b := of("1")
					if c.served {
						b.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutBool(methodspan.AttrRatesServed, true)
					}
					b.call(method, 0.5, "ot=th:8;rv:ffffffffffffff")
					out := spansOf(r.send(b.Traces))
					require.Len(t, out, 1)
					assert.Equal(t, number(t, out[0], methodspan.AttrP), number(t, out[0], methodspan.AttrConfiguredRate))
					return number(t, out[0], methodspan.AttrP), text(out[0], methodspan.AttrReason)
				}
				for range 2 { // in the batch that it is met in, and after
					p, reason := sent("f")
					assert.Equal(t, c.first, p)
					assert.Equal(t, c.reason, reason)
				}
				turn(t)
				p, _ := sent("f") // the strategy did not speak of it: the rate of methods unknown
				assert.Less(t, p, 0.5, "the first decision ends it")
				p, reason := sent("new") // in a version that is known by now
				assert.Equal(t, 0.1, p)
				assert.Equal(t, "cold start", reason)
			})
		})
	}
}
