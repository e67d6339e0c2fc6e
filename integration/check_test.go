package integration

import (
	"context"
	"testing"

	"github.com/corehour/corehour/integration/groundtruth"
	"github.com/corehour/corehour/integration/harness"
)

func check(t *testing.T, p *pipeline) harness.Check {
	t.Helper()
	c, err := p.command.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := map[bool]int{true: harness.ExitNothing, false: harness.ExitFound}[c.Balanced]; c.Output.Code != want {
		t.Errorf("balanced is %v, the exit code should be %d: %s", c.Balanced, want, c.Output)
	}
	return c
}

// requireBalanced asserts that `corehour check` lists all processes, that they ended in order, and
// that none of their calls is missing.
func requireBalanced(t *testing.T, p *pipeline, reports ...groundtruth.ProcessRecord) {
	t.Helper()
	c := check(t, p)
	if !c.Balanced || len(c.Processes) != len(reports) || len(c.Losses.DeadProcess) != 0 {
		t.Errorf("the ledger should balance for %d processes: %s", len(reports), c.Output)
	}
	for _, r := range reports {
		account := requireAccount(t, c, r.Instance)
		if total := sum(countedCalls(r)); account.HandedOutCalls != total || account.CountedCalls != total || account.LostInTransit != 0 || account.State != "ended" {
			t.Errorf("%s made %d calls and ended well; its account: %+v", r.Instance, total, account)
		}
	}
}

func requireAccount(t *testing.T, c harness.Check, instance string) harness.ProcessAccount {
	t.Helper()
	for _, account := range c.Processes {
		if account.Instance == instance {
			return account
		}
	}
	t.Fatalf("no account of %s: %s", instance, c.Output)
	return harness.ProcessAccount{}
}

// requireNamedLosses asserts that every call that a workload made is either
// stored or in lost_in_transit, and returns how many were lost.
func requireNamedLosses(t *testing.T, p *pipeline, r groundtruth.ProcessRecord) int64 {
	t.Helper()
	c := check(t, p)
	account := requireAccount(t, c, r.Instance)
	total, stored := sum(countedCalls(r)), sum(storedCalls(t, p)[r.Instance])
	if account.HandedOutCalls != total || account.CountedCalls != stored || account.State != "ended" {
		t.Errorf("%s made %d calls and ended well, %d are stored; its account: %+v", r.Instance, total, stored, account)
	}
	if account.LostInTransit != total-stored || account.LostInTransit < 0 || c.Losses.LostInTransit != account.LostInTransit {
		t.Errorf("%s made %d calls, %d are stored; lost_in_transit should be the difference: %s", r.Instance, total, stored, c.Output)
	}
	if c.Balanced != (account.LostInTransit == 0) {
		t.Errorf("balanced is %v with %d calls lost", c.Balanced, account.LostInTransit)
	}
	if c.Losses.DuplicateRows != 0 || c.Losses.OverCounted != 0 {
		t.Errorf("rows are stored twice, or calls nobody made: %s", c.Output)
	}
	return account.LostInTransit
}

// requireDead asserts that a process is listed as dead. That takes two of its intervals without a
// report.
func requireDead(t *testing.T, p *pipeline, instance string) {
	t.Helper()
	await(t, "the process to be listed as dead", func(ctx context.Context) (bool, error) {
		c, err := p.command.Check(ctx)
		return err == nil && len(c.Losses.DeadProcess) == 1 && c.Losses.DeadProcess[0].Instance == instance, err
	})
	c := check(t, p)
	if account := requireAccount(t, c, instance); account.State != "dead" || account.LostInTransit != 0 || !c.Balanced {
		t.Errorf("what a dead process emitted has arrived, what it did not emit is in no account: %s", c.Output)
	}
}
