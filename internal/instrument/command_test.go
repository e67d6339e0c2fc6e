package instrument

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseCommand(t *testing.T) {
	for _, c := range []struct {
		args, patterns, list, built string
	}{
		{"build", ".", "", "build -overlay=O"},
		{"build -o shop ./cmd/shop", "./cmd/shop", "", "build -overlay=O -o shop ./cmd/shop"},
		{"build -C sub -tags=a,b -race ./...", "./...", "-tags=a,b -race", "build -C sub -overlay=O -tags=a,b -race ./..."},
		{"build -C=sub --tags a -ldflags -s .", ".", "-tags=a", "build -C=sub -overlay=O --tags a -ldflags -s ."},
		{"install -mod=vendor ./a ./b", "./a ./b", "-mod=vendor", "install -overlay=O -mod=vendor ./a ./b"},
		{"run . -overlay=x y", ".", "", "run -overlay=O . -overlay=x y"},
		{"run -exec echo a.go b.go c", "a.go b.go", "", "run -overlay=O -exec echo a.go b.go c"},
		{"test ./... -run Build -v", "./...", "", "test -overlay=O -vet=off ./... -run Build -v"},
		{"test -vet=all -test.run X . -args -cover z", ".", "", "test -overlay=O -vet=all -test.run X . -args -cover z"},
	} {
		got, err := ParseCommand(strings.Fields(c.args), "")
		require.NoError(t, err, c.args)
		assert.Equal(t, c.patterns, strings.Join(got.patterns, " "), c.args)
		assert.Equal(t, c.list, strings.Join(got.list, " "), c.args)
		assert.Equal(t, c.built, strings.Join(got.buildArgs("O"), " "), c.args)
	}
}

func TestParseCommand_Rejected(t *testing.T) {
	for _, c := range []struct{ args, goflags, fault string }{
		{"", "", "want a verb of the go command after the flags: build, run, test, install"},
		{"biuld .", "", `"biuld" builds nothing: did you mean "build"?`},
		{"vet ./...", "", `"vet" builds nothing: known are "build", "install", "run", "test"`},
		{"build -overlay=x .", "", "-overlay cannot be combined with `corehour go`, which builds by an overlay of its own: leave it out"},
		{"build .", "-mod=mod -toolexec=x", "GOFLAGS: -toolexec cannot be combined"},
		{"test -coverprofile c.out ./...", "", "-coverprofile cannot be combined with `corehour go`, as the go command does not count coverage of overlaid files"},
		{"install example.com/tool@latest", "", "go install example.com/tool@latest: a package of another module has no source tree here"},
		{"build -o", "", "go build -o: want a value after it"},
	} {
		_, err := ParseCommand(strings.Fields(c.args), c.goflags)
		assert.ErrorContains(t, err, c.fault, c.args)
	}
}
