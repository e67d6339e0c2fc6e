package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/corehour/corehour/integration/harness"
)

// programs are the paths of what the tests start.
var programs struct {
	command, collector  string
	workload, shop      string
	scenarios           string
	gotel, telemetrygen string
	node, nodeClient    string
}

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	bin, err := harness.Binaries(harness.CommandBinary, harness.CollectorBinary)
	if err != nil {
		fmt.Fprintf(os.Stderr, "integration: these tests run the real binaries:\n%v\n", err)
		return 1
	}
	programs.command = filepath.Join(bin, harness.CommandBinary)
	programs.collector = filepath.Join(bin, harness.CollectorBinary)

	dir, err := os.MkdirTemp("", "corehour-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := prepareClients(dir); err != nil {
		fmt.Fprintln(os.Stderr, "integration: preparing the clients:", err)
		return 1
	}
	return m.Run()
}

// prepareClients builds what is sent by, all at once, and once.
func prepareClients(dir string) error {
	jobs := []func() error{
		func() error { return goBuild(".", "./workload", dir, &programs.workload) },
		func() error { return goBuild("shop", "shop", dir, &programs.shop) },
		func() error { return goBuild(".", "./scenarios", dir, &programs.scenarios) },
		func() error { return goBuild(".", "./clients/gotel", dir, &programs.gotel) },
		func() error {
			return goBuild("clients/telemetrygen",
				"github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen", dir, &programs.telemetrygen)
		},
		prepareNode,
	}
	faults := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, job := range jobs {
		wg.Go(func() { faults[i] = job() })
	}
	wg.Wait()
	return errors.Join(faults...)
}

func goBuild(module, pkg, dir string, path *string) error {
	*path = filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", *path, pkg)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// prepareNode installs what package-lock.json pins, unless that was done.
func prepareNode() error {
	node, err := exec.LookPath("node")
	if err != nil {
		return fmt.Errorf("node is missing: Node.js 20 or newer is one of the foreign clients: %w", err)
	}
	dir, err := filepath.Abs(filepath.Join("clients", "node"))
	if err != nil {
		return err
	}
	programs.node, programs.nodeClient = node, filepath.Join(dir, "client.js")

	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(lock)
	want := hex.EncodeToString(sum[:])
	stamp := filepath.Join(dir, "node_modules", ".installed")
	if have, err := os.ReadFile(stamp); err == nil && strings.TrimSpace(string(have)) == want {
		return nil
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in %s: %w\n%s", dir, err, out)
	}
	return os.WriteFile(stamp, []byte(want+"\n"), 0o644)
}
