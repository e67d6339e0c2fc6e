package corehour

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The compiler compiles generic code in each package that reaches its types. A package with probes reaches
// Method; from there it must not reach the rest of the SDK.
func TestProbedPackage_CompilesNoSDKCode(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "probed.a")
	if text, err := exec.Command("go", "build", "-o", archive, "./testdata/probed").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	text, err := exec.Command("go", "tool", "nm", archive).Output()
	if err != nil {
		t.Fatal(err)
	}
	work := false
	for line := range strings.Lines(string(text)) {
		_, symbol, compiled := strings.Cut(strings.TrimSpace(line), " T ")
		work = work || compiled && strings.HasSuffix(symbol, "/probed.Work")
		if compiled && strings.Contains(symbol, "corehour/sdk/internal/") {
			t.Errorf("%s is compiled with the package", symbol)
		}
	}
	if !work {
		t.Errorf("the package's own function is not in its archive: %s", text)
	}
}
