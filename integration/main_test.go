package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/corehour/corehour/integration/harness"
)

// programs are the paths of the programs that the tests start.
var programs struct {
	command, collector    string
	workload, shop        string
	scenarios, exectarget string
	gotel, telemetrygen   string
	node, nodeClient      string
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

// prepareClients builds all programs in parallel.
func prepareClients(dir string) error {
	build := func(module, pkg string, path *string) func() error {
		return func() (err error) {
			*path, err = harness.GoBuild(module, pkg, dir)
			return err
		}
	}
	jobs := []func() error{
		build(".", "./program/workload", &programs.workload),
		func() (err error) {
			programs.shop, err = harness.BuildShop(programs.command, dir)
			return err
		},
		build(".", "./program/scenarios", &programs.scenarios),
		build(".", "./program/exectarget", &programs.exectarget),
		build(".", "./clients/gotel", &programs.gotel),
		build("clients/telemetrygen", "github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen", &programs.telemetrygen),
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

func prepareNode() (err error) {
	dir, err := filepath.Abs(filepath.Join("clients", "node"))
	if err != nil {
		return err
	}
	programs.nodeClient = filepath.Join(dir, "client.js")
	programs.node, err = harness.InstallNode(dir)
	return err
}
